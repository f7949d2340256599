//! The lockchaos command: where it is, and an exam by it as a stream of events (docs/schema/progress.json).

use crate::text;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::{env, io, thread};

pub type Event = Map<String, Value>;

const BIN: &str = "LOCKCHAOS_BIN";

/// The path of the command: $LOCKCHAOS_BIN, else one of $PATH.
fn find() -> Result<PathBuf, String> {
    if let Some(named) = env::var_os(BIN).filter(|n| !n.is_empty()) {
        let named = PathBuf::from(named);
        return if runs(&named) {
            Ok(named)
        } else {
            Err(format!(
                "{BIN}={} is no program that can be run",
                named.display()
            ))
        };
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|folder| folder.join("lockchaos")).find(|file| runs(file)).ok_or_else(|| {
        format!("there is no lockchaos here: it is not on PATH. Set {BIN} to its path (it is built by `make build` in lockchaos's repository, and runs on Linux)")
    })
}

fn runs(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// A word as a POSIX shell reads it.
pub fn quoted(word: &str) -> String {
    if !word.is_empty()
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c))
    {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// What an exam would make.
pub enum Listing {
    /// This machine lacks a program or a right: which, and what to do.
    Lacking(String),
    /// The attacks that would be made, and those that would not.
    Attacks(Vec<Event>),
}

/// What an exam by these words would make.
pub fn listed(words: &[String]) -> Result<Listing, String> {
    let (mut child, errors) = begun(words, &["--dry-run", "--json"])?;
    let mut attacks = Vec::new();
    let mut lacking = None;
    let read = events(&mut child, |event| match text(&event, "event") {
        "lacking" => lacking = Some(text(&event, "text").to_owned()),
        "attack" => attacks.push(event),
        _ => {}
    });
    let status = child.wait().map_err(|e| e.to_string())?;
    match lacking {
        Some(lacking) => Ok(Listing::Lacking(lacking)),
        None if status.success() => read.map(|()| Listing::Attacks(attacks)),
        None => Err(format!(
            "lockchaos cannot examine the lock: {}",
            said(errors, status)
        )),
    }
}

/// Starts the command. What it says on its standard error goes into the file.
fn begun(words: &[String], more: &[&str]) -> Result<(Child, File), String> {
    let begin = || -> io::Result<(Child, File)> {
        let folder = crate::session::temporary()?;
        let errors = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(folder.join("errors"))?;
        std::fs::remove_dir_all(folder)?; // the file is open, which is all that is needed
        let command = find().map_err(io::Error::other)?;
        let child = Command::new(command)
            .arg("exam")
            .args(words)
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors.try_clone()?)
            .spawn()?;
        Ok((child, errors))
    };
    begin().map_err(|e| e.to_string())
}

/// Hands over the events of a command until it has no more.
fn events(child: &mut Child, mut each: impl FnMut(Event)) -> Result<(), String> {
    for line in BufReader::new(child.stdout.take().expect("it is piped")).lines() {
        let line = line.map_err(|e| e.to_string())?;
        each(
            serde_json::from_str(&line)
                .map_err(|e| format!("lockchaos printed no event: {e}: {line}"))?,
        );
    }
    Ok(())
}

/// What the command said on its standard error, else its exit status.
fn said(mut errors: File, status: std::process::ExitStatus) -> String {
    let mut text = Vec::new();
    let _ = errors.rewind().and_then(|()| errors.read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    if text.is_empty() {
        status.to_string()
    } else {
        text
    }
}

#[derive(Default)]
struct State {
    ended: HashMap<String, Event>,
    /// Why nothing more comes.
    over: Option<String>,
}

/// An exam that runs, and what its attacks have come to.
pub struct Run {
    state: Arc<(Mutex<State>, Condvar)>,
    pid: u32,
    reader: thread::JoinHandle<()>,
    attacks: usize,
}

impl Run {
    pub fn begin(words: &[String], attacks: usize) -> Result<Run, String> {
        let (mut child, errors) = begun(words, &["--json", "--no-mend"])?;
        let state = Arc::new((Mutex::new(State::default()), Condvar::new()));
        let (pid, told) = (child.id(), state.clone());
        let reader = thread::spawn(move || {
            let read = events(&mut child, |event| {
                if text(&event, "event") == "ended" {
                    told.0
                        .lock()
                        .unwrap()
                        .ended
                        .insert(text(&event, "attack").to_owned(), event);
                    told.1.notify_all();
                }
            });
            let over = match (read, child.wait()) {
                (Err(error), _) => error,
                (_, Ok(status)) => said(errors, status),
                (_, Err(error)) => error.to_string(),
            };
            told.0.lock().unwrap().over = Some(over);
            told.1.notify_all();
        });
        Ok(Run {
            state,
            pid,
            reader,
            attacks,
        })
    }

    /// What the attack has come to, once it has.
    pub fn result(&self, attack: &str) -> Result<Event, String> {
        let state = self.state.0.lock().unwrap();
        let state = self
            .state
            .1
            .wait_while(state, |s| s.over.is_none() && !s.ended.contains_key(attack))
            .unwrap();
        match (state.ended.get(attack), &state.over) {
            (Some(event), _) => Ok(event.clone()),
            (None, over) => Err(format!(
                "lockchaos failed, which says nothing of the lock: {}",
                over.as_deref().unwrap_or_default()
            )),
        }
    }

    /// Ends what is left of the exam, and waits until what it broke is healed and its report is written.
    pub fn finish(self) {
        let left = {
            let state = self.state.0.lock().unwrap();
            state.over.is_none() && state.ended.len() < self.attacks
        };
        if left {
            // SAFETY: the reader has not waited for this child yet, or it is over and the number is not used again so soon.
            unsafe { libc::kill(self.pid as libc::pid_t, libc::SIGINT) };
        }
        let _ = self.reader.join();
    }
}
