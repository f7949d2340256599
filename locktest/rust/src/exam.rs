//! Makes tests of the attacks on locks.

use crate::command::{self, Event, Listing, Run};
use crate::{adapter, text, Client, Error, Lock};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs, io, process};

pub(crate) type Open = Box<dyn FnOnce(&Client) -> Result<Box<dyn Lock>, Error> + Send>;

/// The claims of a hello (docs/protocol.md, Declaration).
const CLAIMS: [&str; 17] = [
    "name", "validity", "token", "confirms", "can", "lost_grace_ms", "notices", "tolerates", "abandons_ms", "lease_ms", "fair", "permits",
    "permits_per_acquire", "multi_key", "no_expiry", "reentrant", "read_write",
];

const INHERENT: &str = "fell: inherent";
/// What an attack may come to without failing its test.
const HARMLESS: [&str; 3] = ["stood", "fell: what it relies on broke", INHERENT];

/// What is to be examined, and how.
pub struct Exam {
    name: String,
    service: String,
    pub(crate) claims: Map<String, Value>,
    pub(crate) open: Open,
    attacks: Vec<String>,
    inherent: bool,
    /// Words of `lockchaos exam`.
    ttl: Vec<String>,
    selection: Vec<String>,
}

/// An exam of the lock that the function makes for each client. The service is what the lock needs: "redis", "etcd", …
/// (`lockchaos list services`), or "none".
pub fn exam<L: Lock + 'static>(name: &str, service: &str, open: impl FnOnce(&Client) -> Result<L, Error> + Send + 'static) -> Exam {
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
        assert!(CLAIMS.contains(&claim), "exam {:?}: there is no claim {claim:?} (there are {})", self.name, CLAIMS.join(", "));
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
    fn words(&self) -> io::Result<Vec<String>> {
        Ok([vec!["--lock-cmd".into(), adapter::command(&self.name)?, "--service".into(), self.service.clone()], self.ttl.clone()].concat())
    }

    /// The attacks that a test is to be made of.
    fn listed(&self) -> Result<Listing, String> {
        let mut words = [self.words().map_err(|e| e.to_string())?, self.selection.clone()].concat();
        if asked("LOCKCHAOS_SHORT") && !words.iter().any(|w| w == "--short") {
            words.push("--short".into());
        }
        let all = match command::listed(&words)? {
            Listing::Attacks(all) => all,
            lacking => return Ok(lacking),
        };
        let named = env::var("LOCKCHAOS_ATTACKS").map(|names| names.split(',').map(String::from).collect()).unwrap_or(self.attacks.clone());
        if let Some(unknown) = named.iter().find(|n| !all.iter().any(|e| text(e, "attack") == **n)) {
            return Err(format!("there is no attack {unknown:?} (lockchaos exam --dry-run lists them; docs/exam.md explains them)"));
        }
        let chosen = |e: &Event| match named.is_empty() {
            true => e.contains_key("scenario") || e.contains_key("fix"),
            false => named.iter().any(|n| n == text(e, "attack")),
        };
        Ok(Listing::Attacks(all.into_iter().filter(chosen).collect()))
    }
}

fn asked(variable: &str) -> bool {
    env::var(variable).is_ok_and(|v| v == "1")
}

/// Runs the tests of these exams as `cargo test` asks for them, and ends the program.
pub fn run<const N: usize>(exams: [Exam; N]) -> ! {
    let words: Vec<String> = env::args().collect();
    if words.get(1).is_some_and(|w| w == adapter::WORD) {
        let name = words.get(2).cloned().unwrap_or_default();
        match exams.into_iter().find(|e| e.name == name) {
            Some(exam) => adapter::main(exam),
            None => panic!("there is no exam {name:?}"),
        }
    }
    let args = Arguments::from_args();
    let session = Arc::new(Session::new());
    let (mut trials, mut running) = (Vec::new(), Vec::new());
    for exam in exams {
        let (examined, made) = tests(exam, &args, &session);
        running.push(examined);
        trials.extend(made);
    }
    let conclusion = libtest_mimic::run(&args, trials);
    running.iter().for_each(|r| r.finish());
    session.finish();
    conclusion.exit()
}

/// The tests of one exam.
fn tests(exam: Exam, args: &Arguments, session: &Arc<Session>) -> (Arc<Examined>, Vec<Trial>) {
    let listing = exam.listed();
    let examined = Arc::new(Examined { exam: Parts::of(exam), session: session.clone(), together: OnceLock::new(), run: Mutex::new(None) });
    let name = |attack: &str| format!("{}::{attack}", examined.exam.name);
    let trials: Vec<(bool, String, Trial)> = match listing {
        Err(error) => vec![(false, String::new(), Trial::test(name("attacks"), move || Err(error.into())))],
        Ok(Listing::Lacking(lacking)) => {
            vec![(false, String::new(), Trial::ignorable_test(name("attacks"), move || Ok(Completion::ignored_with(lacking))))]
        }
        Ok(Listing::Attacks(events)) => events
            .into_iter()
            .map(|event| {
                let (examined, attack) = (examined.clone(), text(&event, "attack").to_owned());
                let made = !event.contains_key("why");
                (made, attack.clone(), Trial::ignorable_test(name(&attack), move || examined.attack(&event)))
            })
            .collect(),
    };
    // cargo test may want only some of them: these are made by one exam.
    let wanted = trials.iter().filter(|(made, _, trial)| *made && !args.is_filtered_out(trial)).map(|(_, attack, _)| attack.clone());
    let _ = examined.together.set(wanted.collect());
    (examined, trials.into_iter().map(|(_, _, trial)| trial).collect())
}

/// What is kept of an exam besides the lock, which only an adapter makes.
struct Parts {
    name: String,
    words: io::Result<Vec<String>>,
    inherent: bool,
}

impl Parts {
    fn of(exam: Exam) -> Parts {
        Parts { words: exam.words(), name: exam.name, inherent: exam.inherent }
    }
}

/// An exam whose attacks are tests.
struct Examined {
    exam: Parts,
    session: Arc<Session>,
    together: OnceLock<Vec<String>>,
    run: Mutex<Option<Arc<Run>>>,
}

impl Examined {
    /// The run of all attacks that are wanted, which the first test begins.
    fn begun(&self) -> Result<Arc<Run>, String> {
        let mut run = self.run.lock().unwrap();
        if run.is_none() {
            let together = self.together.get().map(Vec::as_slice).unwrap_or_default();
            let mut words = self.exam.words.as_ref().map_err(io::Error::to_string)?.clone();
            let out = self.session.folder().map_err(|e| e.to_string())?.display().to_string();
            words.extend(["--attack".into(), together.join(","), "--seed".into(), self.session.seed.clone(), "--out".into(), out]);
            *run = Some(Arc::new(Run::begin(&words, together.len())?));
        }
        Ok(run.clone().expect("it is begun"))
    }

    fn attack(&self, event: &Event) -> Result<Completion, Failed> {
        let (attack, why) = (text(event, "attack"), text(event, "why"));
        if event.contains_key("why") {
            let fix = event.get("fix").and_then(Value::as_str).map(|f| format!(": {f}")).unwrap_or_default();
            return Ok(Completion::ignored_with(format!("not applicable: {why}{fix}")));
        }
        let ended = self.begun()?.result(attack)?;
        for text in ended.get("stand_ins").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            self.session.note(format!("STAND-IN: {text}"));
        }
        if ended.contains_key("skipped") {
            return Ok(Completion::ignored_with(text(&ended, "skipped")));
        }
        let fate = text(&ended, "fate");
        if !HARMLESS.contains(&fate) || ((self.exam.inherent || asked("LOCKCHAOS_INHERENT")) && fate == INHERENT) {
            self.session.keep();
            return Err(story(&self.exam.name, event, &ended).into());
        }
        if fate != "stood" {
            self.session.note(format!("{}::{attack}: {}", self.exam.name, text(&ended, "told")));
        }
        Ok(Completion::Completed)
    }

    fn finish(&self) {
        if let Some(run) = self.run.lock().unwrap().take().and_then(Arc::into_inner) {
            run.finish();
        }
    }
}

/// What is printed of an attack that failed its test.
fn story(name: &str, event: &Event, ended: &Event) -> String {
    let attack = text(event, "attack");
    let mut lines = vec![format!("{name}: {}", text(ended, "told")), format!("attack {attack}: {}", text(event, "text"))];
    if let Some(shortest) = ended.get("shortest").and_then(Value::as_array) {
        lines.push(String::new());
        lines.extend(shortest.iter().filter_map(Value::as_str).map(String::from));
        lines.push(String::new());
    }
    if ended.contains_key("report") {
        lines.push(format!("report: {}", text(ended, "report")));
    }
    lines.push(format!("again: LOCKCHAOS_SEED={} cargo test{} -- --exact {name}::{attack}", ended["seed"], target()));
    lines.join("\n")
}

/// The words by which cargo finds this test program again: its name ends with a hash.
fn target() -> String {
    let package = env::var("CARGO_PKG_NAME").map(|p| format!(" -p {p}")).unwrap_or_default();
    let program = env::current_exe().ok().and_then(|p| p.file_stem().map(|s| s.to_string_lossy().into_owned())).unwrap_or_default();
    let test = program.rsplit_once('-').map(|(test, _)| format!(" --test {test}")).unwrap_or_default();
    package + &test
}

/// What the exams of a test run share: seed, reports, and what is to be said at its end.
struct Session {
    seed: String,
    named: Option<PathBuf>,
    folder: Mutex<Option<PathBuf>>,
    kept: Mutex<bool>,
    notes: Mutex<Vec<String>>,
}

impl Session {
    fn new() -> Session {
        let drawn = || (1 + SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() % 999_999).to_string();
        Session {
            seed: env::var("LOCKCHAOS_SEED").unwrap_or_else(|_| drawn()),
            named: env::var_os("LOCKCHAOS_RUNS").map(PathBuf::from),
            folder: Mutex::default(),
            kept: Mutex::default(),
            notes: Mutex::default(),
        }
    }

    /// The folder of reports: the one that is named, or a temporary one that is kept if a test failed.
    fn folder(&self) -> io::Result<PathBuf> {
        let mut folder = self.folder.lock().unwrap();
        if folder.is_none() {
            *folder = Some(match &self.named {
                Some(named) => env::current_dir()?.join(named),
                None => temporary()?,
            });
        }
        Ok(folder.clone().expect("it is set"))
    }

    fn keep(&self) {
        *self.kept.lock().unwrap() = true;
    }

    fn note(&self, text: String) {
        let mut notes = self.notes.lock().unwrap();
        if !notes.contains(&text) {
            notes.push(text);
        }
    }

    fn finish(&self) {
        self.notes.lock().unwrap().iter().for_each(|note| println!("lockchaos: {note}"));
        let kept = self.named.is_some() || *self.kept.lock().unwrap();
        if let Some(folder) = self.folder.lock().unwrap().as_ref().filter(|_| !kept) {
            if let Err(error) = fs::remove_dir_all(folder) {
                eprintln!("lockchaos: reports that are not needed are left in {}: {error}", folder.display());
            }
        }
    }
}

/// A new folder for temporary files, in which nobody else can write.
pub(crate) fn temporary() -> io::Result<PathBuf> {
    use std::os::unix::fs::DirBuilderExt;
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    let folder = env::temp_dir().join(format!("lockchaos-{}-{nanos}-{count}", process::id()));
    fs::DirBuilder::new().mode(0o700).create(&folder)?; // which fails if somebody has made it before
    Ok(folder)
}
