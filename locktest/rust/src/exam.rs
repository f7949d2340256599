//! What is to be examined, and how.

use crate::command::{self, Event, Listing};
use crate::{adapter, text, Client, Error, Lock};
use serde_json::{Map, Value};
use std::time::Duration;
use std::{env, io};

pub(crate) type Open = Box<dyn FnOnce(&Client) -> Result<Box<dyn Lock>, Error> + Send>;

/// The claims of a hello (docs/protocol.md, Declaration).
const CLAIMS: [&str; 17] = [
    "name",
    "validity",
    "token",
    "confirms",
    "can",
    "lost_grace_ms",
    "notices",
    "tolerates",
    "abandons_ms",
    "lease_ms",
    "fair",
    "permits",
    "permits_per_acquire",
    "multi_key",
    "no_expiry",
    "reentrant",
    "read_write",
];

/// What is to be examined, and how.
pub struct Exam {
    pub(crate) name: String,
    service: String,
    pub(crate) claims: Map<String, Value>,
    pub(crate) open: Open,
    attacks: Vec<String>,
    pub(crate) inherent: bool,
    /// Words of `lockchaos exam`.
    ttl: Vec<String>,
    selection: Vec<String>,
}

/// An exam of the lock that the function makes for each client. The service is what the lock needs: "redis", "etcd", …
/// (`lockchaos list services`), or "none".
pub fn exam<L: Lock + 'static>(
    name: &str,
    service: &str,
    open: impl FnOnce(&Client) -> Result<L, Error> + Send + 'static,
) -> Exam {
    Exam {
        name: name.into(),
        service: service.into(),
        claims: Map::from_iter([("name".into(), name.into())]),
        open: Box::new(|client| Ok(Box::new(open(client)?))),
        attacks: Vec::new(),
        inherent: false,
        ttl: Vec::new(),
        selection: Vec::new(),
    }
}

impl Exam {
    /// A claim of the protocol, such as `("validity", "from_invocation")` or `("confirms", ["release"])`. A claim that is
    /// not made is not held against the lock.
    ///
    /// # Panics
    /// if there is no such claim
    pub fn claim(mut self, claim: &str, value: impl Into<Value>) -> Exam {
        assert!(
            CLAIMS.contains(&claim),
            "exam {:?}: there is no claim {claim:?} (there are {})",
            self.name,
            CLAIMS.join(", ")
        );
        self.claims.insert(claim.into(), value.into());
        self
    }

    /// The lease. lockchaos chooses one if it is left out.
    pub fn ttl(mut self, ttl: Duration) -> Exam {
        self.ttl = vec!["--ttl".into(), format!("{}ms", ttl.as_millis())];
        self
    }

    /// The attacks to make: all that make sense if it is left out.
    pub fn attacks<const N: usize>(mut self, names: [&str; N]) -> Exam {
        self.attacks = names.map(String::from).into();
        self
    }

    /// Makes the most telling third of the attacks.
    pub fn short(mut self) -> Exam {
        self.selection.push("--short".into());
        self
    }

    /// Makes what fits into this time, such as "10m".
    pub fn budget(mut self, time: &str) -> Exam {
        self.selection.extend(["--budget".into(), time.into()]);
        self
    }

    /// Fails also by what no lease prevents.
    pub fn inherent(mut self) -> Exam {
        self.inherent = true;
        self
    }

    /// The words of `lockchaos exam` that say which lock it is.
    pub(crate) fn words(&self) -> io::Result<Vec<String>> {
        Ok([
            vec![
                "--lock-cmd".into(),
                adapter::command(&self.name)?,
                "--service".into(),
                self.service.clone(),
            ],
            self.ttl.clone(),
        ]
        .concat())
    }

    /// The attacks that a test is to be made of.
    pub(crate) fn listed(&self) -> Result<Listing, String> {
        let mut words = [
            self.words().map_err(|e| e.to_string())?,
            self.selection.clone(),
        ]
        .concat();
        if asked("LOCKCHAOS_SHORT") && !words.iter().any(|w| w == "--short") {
            words.push("--short".into());
        }
        let all = match command::listed(&words)? {
            Listing::Attacks(all) => all,
            lacking => return Ok(lacking),
        };
        let named = env::var("LOCKCHAOS_ATTACKS")
            .map(|names| names.split(',').map(String::from).collect())
            .unwrap_or(self.attacks.clone());
        if let Some(unknown) = named
            .iter()
            .find(|n| !all.iter().any(|e| text(e, "attack") == **n))
        {
            return Err(format!("there is no attack {unknown:?} (lockchaos exam --dry-run lists them; docs/exam.md explains them)"));
        }
        let chosen = |e: &Event| match named.is_empty() {
            true => e.contains_key("scenario") || e.contains_key("fix"),
            false => named.iter().any(|n| n == text(e, "attack")),
        };
        Ok(Listing::Attacks(all.into_iter().filter(chosen).collect()))
    }
}

/// Reports whether the variable asks for something.
pub(crate) fn asked(variable: &str) -> bool {
    env::var(variable).is_ok_and(|v| v == "1")
}
