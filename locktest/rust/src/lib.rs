//! Examine a distributed lock from `cargo test`.
//!
//! A file of `tests` with a `main` of its own examines locks. Each attack on a lock is a test.
//!
//! ```toml
//! [[test]]
//! name = "orders"
//! harness = false
//! ```
//!
//! ```no_run
//! use lockchaos::{Client, Error, Grant, Lock, Wanted};
//!
//! # struct OrderLock;
//! # impl OrderLock {
//! #     fn connect(_: &str, _: std::time::Duration) -> std::io::Result<OrderLock> { Ok(OrderLock) }
//! #     fn try_lock(&mut self, _: &str, _: std::time::Duration) -> std::io::Result<bool> { Ok(true) }
//! #     fn unlock(&mut self, _: &str) -> std::io::Result<bool> { Ok(true) }
//! # }
//! struct Orders(OrderLock);
//!
//! impl Lock for Orders {
//!     fn acquire(&mut self, wanted: &Wanted) -> Result<Grant, Error> {
//!         if self.0.try_lock(wanted.key(), wanted.timeout())? { Ok(Grant::default()) } else { Err(Error::Busy) }
//!     }
//!     fn release(&mut self, key: &str) -> Result<(), Error> {
//!         if self.0.unlock(key)? { Ok(()) } else { Err(Error::NotHeld) }
//!     }
//! }
//!
//! fn main() {
//!     lockchaos::run([lockchaos::exam("orders", "redis", |client: &Client| {
//!         Ok(Orders(OrderLock::connect(&client.nodes()[0], client.ttl())?))
//!     })
//!     .claim("validity", "from_invocation")
//!     .claim("confirms", ["release"])]);
//! }
//! ```
//!
//! lockchaos runs the same program as each of its clients. See docs/frameworks.md of lockchaos.

mod adapter;
mod command;
mod exam;
mod session;
mod tests;

use serde_json::{Map, Value};
use std::time::Duration;

pub use exam::{exam, Exam};
pub use tests::run;

/// A lock, as lockchaos uses it: one call at a time, on one thread.
pub trait Lock {
    /// Takes what is wanted, and waits for it for the timeout at most.
    fn acquire(&mut self, wanted: &Wanted) -> Result<Grant, Error>;

    /// Gives the key back.
    fn release(&mut self, key: &str) -> Result<(), Error>;

    /// Starts the lease anew. Claim it by `confirms` or `can`.
    fn renew(&mut self, _key: &str) -> Result<Grant, Error> {
        Err(Error::Unsupported)
    }

    /// Asks whether the key is still this client's. Claim it by `confirms` or `can`.
    fn held(&mut self, _key: &str) -> Result<(), Error> {
        Err(Error::Unsupported)
    }

    /// Ends sessions and connections.
    fn close(&mut self) {}
}

/// Why a call did not succeed.
#[derive(Debug)]
pub enum Error {
    /// Of acquire: another client holds the key, and nothing of this attempt is left at the service.
    Busy,
    /// Of the others: the service says that the key is no longer this client's.
    NotHeld,
    /// The lock has no such operation.
    Unsupported,
    /// It is open whether it happened, or may happen yet. `?` makes this of every other error.
    Unknown(String),
}

impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Error {
        Error::Unknown(error.to_string())
    }
}

/// What a client wants of an acquire (docs/protocol.md, Requests).
pub struct Wanted {
    request: Map<String, Value>,
    timeout: Duration,
}

impl Wanted {
    /// The key; of several the first.
    pub fn key(&self) -> &str {
        text(&self.request, "key")
    }

    /// How long to wait at most.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// "read" or "write" of a lock that claims `read_write`, else "".
    pub fn mode(&self) -> &str {
        text(&self.request, "mode")
    }

    /// How many permits: 1 of a lock that does not claim `permits_per_acquire`.
    pub fn permits(&self) -> u64 {
        self.request
            .get("permits")
            .and_then(Value::as_u64)
            .unwrap_or(1)
    }

    /// All keys, of which there are several only if the lock claims `multi_key`.
    pub fn keys(&self) -> Vec<&str> {
        match self.request.get("keys").and_then(Value::as_array) {
            Some(keys) => keys.iter().filter_map(Value::as_str).collect(),
            None => vec![self.key()],
        }
    }
}

/// What a lock says of a grant or of a renewal, besides that there is one (docs/protocol.md, Replies).
#[derive(Debug, Default)]
pub struct Grant(Map<String, Value>);

impl Grant {
    fn with(mut self, member: &str, value: impl Into<Value>) -> Grant {
        self.0.insert(member.into(), value.into());
        self
    }

    /// Its token, if the lock claims to have one.
    pub fn token(self, token: u64) -> Grant {
        self.with("token", token.to_string())
    }

    /// How long it is valid, counted from the attempt. For locks that claim the validity "library".
    pub fn valid_for(self, time: Duration) -> Grant {
        self.with("valid_for_ms", time.as_secs_f64() * 1000.0)
    }

    /// [`now`] just before the request that took the lock.
    pub fn attempt(self, stamp: u64) -> Grant {
        self.with("attempt_ns", stamp.to_string())
    }

    /// [`now`] before the first request that may have been this grant.
    pub fn first(self, stamp: u64) -> Grant {
        self.with("first_ns", stamp.to_string())
    }

    /// [`now`] after the service had put the waiter into its queue.
    pub fn enqueued(self, stamp: u64) -> Grant {
        self.with("enqueued_ns", stamp.to_string())
    }
}

/// A stamp of the machine's monotonic clock, in nanoseconds. (`Instant` does not show its own.)
pub fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: time is ours, and this clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// One client of an exam: what a lock is made of (docs/protocol.md, Requests).
pub struct Client {
    hello: Map<String, Value>,
    nodes: Vec<String>,
    losses: Losses,
}

impl Client {
    /// The service's addresses, as host:port.
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// The lease to ask for.
    pub fn ttl(&self) -> Duration {
        Duration::from_millis(self.hello["ttl_ms"].as_u64().unwrap_or_default())
    }

    /// The client's name.
    pub fn name(&self) -> &str {
        text(&self.hello, "client")
    }

    /// The service's name.
    pub fn service(&self) -> &str {
        text(&self.hello, "service")
    }

    /// A folder that all clients share, for locks on files.
    pub fn dir(&self) -> &std::path::Path {
        text(&self.hello, "dir").as_ref()
    }

    /// For what the lock draws at random, but not for the values that identify its grants.
    pub fn seed(&self) -> u64 {
        self.hello
            .get("seed")
            .and_then(Value::as_u64)
            .unwrap_or_default()
    }

    /// "user", "password" or "database" of the account, where the service has accounts.
    pub fn account(&self, member: &str) -> Option<&str> {
        self.hello.get("account")?.get(member)?.as_str()
    }

    /// Where the lock tells that it has noticed a loss, from any thread.
    pub fn losses(&self) -> Losses {
        self.losses.clone()
    }
}

/// Where a lock tells that it has noticed the loss of a key.
#[derive(Clone)]
pub struct Losses(adapter::Sender);

impl Losses {
    /// Tells that the key is no longer this client's, and why.
    pub fn tell(&self, key: &str, why: &str) {
        self.0
            .send(serde_json::json!({"event": "lost", "key": key, "why": why}));
    }
}

fn text<'a>(members: &'a Map<String, Value>, name: &str) -> &'a str {
    members
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
