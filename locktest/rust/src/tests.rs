//! Makes tests of the attacks on locks.

use crate::command::{Event, Listing, Run};
use crate::exam::{asked, Exam};
use crate::session::Session;
use crate::{adapter, text};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::Value;
use std::sync::{Arc, Mutex, OnceLock};
use std::{env, io};

const INHERENT: &str = "fell: inherent";
/// What an attack may come to without failing its test.
const HARMLESS: [&str; 3] = ["stood", "fell: what it relies on broke", INHERENT];

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
    let examined = Arc::new(Examined {
        exam: Parts::of(exam),
        session: session.clone(),
        together: OnceLock::new(),
        run: Mutex::new(None),
    });
    let name = |attack: &str| format!("{}::{attack}", examined.exam.name);
    let trials: Vec<(bool, String, Trial)> = match listing {
        Err(error) => vec![(
            false,
            String::new(),
            Trial::test(name("attacks"), move || Err(error.into())),
        )],
        Ok(Listing::Lacking(lacking)) => {
            vec![(
                false,
                String::new(),
                Trial::ignorable_test(name("attacks"), move || {
                    Ok(Completion::ignored_with(lacking))
                }),
            )]
        }
        Ok(Listing::Attacks(events)) => events
            .into_iter()
            .map(|event| {
                let (examined, attack) = (examined.clone(), text(&event, "attack").to_owned());
                let made = !event.contains_key("why");
                (
                    made,
                    attack.clone(),
                    Trial::ignorable_test(name(&attack), move || examined.attack(&event)),
                )
            })
            .collect(),
    };
    // cargo test may want only some of them: these are made by one exam.
    let wanted = trials
        .iter()
        .filter(|(made, _, trial)| *made && !args.is_filtered_out(trial))
        .map(|(_, attack, _)| attack.clone());
    let _ = examined.together.set(wanted.collect());
    (
        examined,
        trials.into_iter().map(|(_, _, trial)| trial).collect(),
    )
}

/// What is kept of an exam besides the lock, which only an adapter makes.
struct Parts {
    name: String,
    words: io::Result<Vec<String>>,
    inherent: bool,
}

impl Parts {
    fn of(exam: Exam) -> Parts {
        Parts {
            words: exam.words(),
            name: exam.name,
            inherent: exam.inherent,
        }
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
            let mut words = self
                .exam
                .words
                .as_ref()
                .map_err(io::Error::to_string)?
                .clone();
            let out = self
                .session
                .folder()
                .map_err(|e| e.to_string())?
                .display()
                .to_string();
            words.extend([
                "--attack".into(),
                together.join(","),
                "--seed".into(),
                self.session.seed.clone(),
                "--out".into(),
                out,
            ]);
            *run = Some(Arc::new(Run::begin(&words, together.len())?));
        }
        Ok(run.clone().expect("it is begun"))
    }

    fn attack(&self, event: &Event) -> Result<Completion, Failed> {
        let (attack, why) = (text(event, "attack"), text(event, "why"));
        if event.contains_key("why") {
            let fix = event
                .get("fix")
                .and_then(Value::as_str)
                .map(|f| format!(": {f}"))
                .unwrap_or_default();
            return Ok(Completion::ignored_with(format!(
                "not applicable: {why}{fix}"
            )));
        }
        let ended = self.begun()?.result(attack)?;
        for text in ended
            .get("stand_ins")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            self.session.note(format!("STAND-IN: {text}"));
        }
        if ended.contains_key("skipped") {
            return Ok(Completion::ignored_with(text(&ended, "skipped")));
        }
        let fate = text(&ended, "fate");
        if !HARMLESS.contains(&fate)
            || ((self.exam.inherent || asked("LOCKCHAOS_INHERENT")) && fate == INHERENT)
        {
            self.session.keep();
            return Err(story(&self.exam.name, event, &ended).into());
        }
        if fate != "stood" {
            self.session.note(format!(
                "{}::{attack}: {}",
                self.exam.name,
                text(&ended, "told")
            ));
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
    let mut lines = vec![
        format!("{name}: {}", text(ended, "told")),
        format!("attack {attack}: {}", text(event, "text")),
    ];
    if let Some(shortest) = ended.get("shortest").and_then(Value::as_array) {
        lines.push(String::new());
        lines.extend(shortest.iter().filter_map(Value::as_str).map(String::from));
        lines.push(String::new());
    }
    if ended.contains_key("report") {
        lines.push(format!("report: {}", text(ended, "report")));
    }
    lines.push(format!(
        "again: LOCKCHAOS_SEED={} cargo test{} -- --exact {name}::{attack}",
        ended["seed"],
        target()
    ));
    lines.join("\n")
}

/// The words by which cargo finds this test program again: its name ends with a hash.
fn target() -> String {
    let package = env::var("CARGO_PKG_NAME")
        .map(|p| format!(" -p {p}"))
        .unwrap_or_default();
    let program = env::current_exe()
        .ok()
        .and_then(|p| p.file_stem().map(|s| s.to_string_lossy().into_owned()))
        .unwrap_or_default();
    let test = program
        .rsplit_once('-')
        .map(|(test, _)| format!(" --test {test}"))
        .unwrap_or_default();
    package + &test
}
