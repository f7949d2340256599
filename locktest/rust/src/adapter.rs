//! Runs a lock of a test file for lockchaos: the protocol of adapters (docs/protocol.md) on the standard streams.

use crate::{command::quoted, exam::Open, text, Client, Error, Exam, Grant, Lock, Losses, Wanted};
use serde_json::{json, Map, Value};
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::os::fd::FromRawFd;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{mpsc, Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The first word of a test program's command line that makes an adapter of it.
pub const WORD: &str = "--lockchaos-adapter";

/// How long a call may go on after its time, so that a lock that has waited for all of it can still say what came of it.
const GRACE: Duration = Duration::from_secs(1);

/// Where replies and events go.
#[derive(Clone)]
pub struct Sender(Arc<Mutex<dyn Write + Send>>);

impl Sender {
    pub fn send(&self, message: Value) {
        let mut out = self.0.lock().unwrap();
        // Without a reader there is nobody left to tell, and standard input ends, too.
        let _ = out
            .write_all(format!("{message}\n").as_bytes())
            .and_then(|()| out.flush());
    }
}

/// The command by which lockchaos runs this program as the adapter of an exam. The protocol gets file 3, for the program
/// may print on its standard output before it comes here.
pub fn command(exam: &str) -> io::Result<String> {
    let program = std::env::current_exe()?;
    let words = [
        "sh",
        "-c",
        r#"exec "$0" "$@" 3>&1 1>&2"#,
        program.to_string_lossy().as_ref(),
        WORD,
        exam,
    ]
    .map(quoted);
    Ok(words.join(" "))
}

/// Serves the exam's lock on the standard streams, and ends the program.
pub fn main(exam: Exam) -> ! {
    // SAFETY: command has opened it, and nothing else here knows of it.
    let out = unsafe { File::from_raw_fd(3) };
    let served = serve(exam, io::stdin().lock(), Sender(Arc::new(Mutex::new(out))));
    if let Err(error) = &served {
        eprintln!("the lock cannot be used: {error:?}");
    }
    std::process::exit(served.is_err().into()) // threads of the lock do not keep a client alive
}

/// Answers requests until there are no more.
fn serve(exam: Exam, requests: impl BufRead, out: Sender) -> Result<(), Error> {
    let (claims, open) = (exam.claims, exam.open);
    let mut open = Some(open);
    let mut thread = None;
    for line in requests.lines() {
        let request: Map<String, Value> = serde_json::from_str(&line?)?;
        let (op, id) = (text(&request, "op").to_owned(), request["id"].clone());
        let mut reply = match open.take() {
            Some(open) if op == "hello" => {
                thread = Some(Thread::open(open, request, out.clone())?); // what goes wrong here ends the adapter
                claims.clone()
            }
            _ => match thread.as_ref().map(|t| t.ask(request)) {
                Some(Ok(grant)) => said(&op, grant, &claims),
                Some(Err(error)) => failed(&op, error),
                None => return Err(Error::Unknown(format!("{op} came before hello"))),
            },
        };
        reply.insert("id".into(), id);
        reply.entry("ok").or_insert(json!(true));
        out.send(Value::Object(reply));
    }
    Ok(())
}

/// What a reply says of a grant: what the lock claims to know of it.
fn said(op: &str, grant: Grant, claims: &Map<String, Value>) -> Map<String, Value> {
    let mut members = grant.0;
    let tokens = !matches!(text(claims, "token"), "" | "none");
    members.retain(|member, _| match member.as_str() {
        "attempt_ns" => true,
        "valid_for_ms" => text(claims, "validity") == "library",
        "token" => op == "acquire" && tokens,
        _ => op == "acquire",
    });
    members
}

/// The members of a reply that tell a failure. What is not known to be definite is open.
fn failed(op: &str, error: Error) -> Map<String, Value> {
    let (word, text) = match (op, error) {
        ("acquire", Error::Busy) => ("busy", None),
        ("release" | "renew" | "held", Error::NotHeld) => ("not_held", None),
        (_, Error::Unsupported) => ("unsupported", None),
        (_, Error::Unknown(text)) => ("unknown", Some(text)),
        (_, other) => ("unknown", Some(format!("{op} returned {other:?}"))),
    };
    let mut reply = Map::from_iter([("ok".into(), json!(false)), ("error".into(), json!(word))]);
    if let Some(text) = text {
        eprintln!("{op}: {text}");
        reply.insert("text".into(), json!(text));
    }
    reply
}

/// A call, and whether somebody has taken its result, or has given up on it.
struct Call {
    request: Map<String, Value>,
    timeout: Duration,
    settled: Arc<AtomicBool>,
    answer: mpsc::Sender<Result<Grant, Error>>,
}

fn settle(settled: &AtomicBool) -> bool {
    settled
        .compare_exchange(false, true, SeqCst, SeqCst)
        .is_ok()
}

/// The lock on a thread of its own: a call may take longer than it is told to.
struct Thread(mpsc::Sender<Call>);

impl Thread {
    fn open(open: Open, hello: Map<String, Value>, out: Sender) -> Result<Thread, Error> {
        let (calls, to_do) = mpsc::channel::<Call>();
        let (opened, ready) = mpsc::channel();
        thread::spawn(move || {
            let nodes = hello
                .get("nodes")
                .and_then(Value::as_array)
                .map(Vec::as_slice)
                .unwrap_or_default();
            let nodes = nodes
                .iter()
                .filter_map(Value::as_str)
                .map(String::from)
                .collect();
            let client = Client {
                hello,
                nodes,
                losses: Losses(out),
            };
            let lock = open(&client);
            let _ = opened.send(lock.as_ref().err().map(|e| format!("{e:?}")));
            if let Ok(mut lock) = lock {
                to_do
                    .into_iter()
                    .for_each(|call| carry_out(lock.as_mut(), call));
            }
        });
        match ready.recv() {
            Ok(None) => Ok(Thread(calls)),
            Ok(Some(error)) => Err(Error::Unknown(error)),
            Err(_) => Err(Error::Unknown("it panicked while it was made".into())),
        }
    }

    /// Waits for a call that keeps to its time. One that has not begun by then never does.
    fn ask(&self, request: Map<String, Value>) -> Result<Grant, Error> {
        let timeout = Duration::from_millis(request["timeout_ms"].as_u64().unwrap_or_default());
        let (answer, answered) = mpsc::channel();
        let settled = Arc::new(AtomicBool::new(false));
        self.0.send(Call {
            request,
            timeout,
            settled: settled.clone(),
            answer,
        })?;
        match answered.recv_timeout(timeout + GRACE) {
            Err(mpsc::RecvTimeoutError::Timeout) if settle(&settled) => {
                Err(Error::Unknown("no answer within the time limit".into()))
            }
            Err(mpsc::RecvTimeoutError::Timeout) => answered.recv()?, // it ended just now
            result => result?,
        }
    }
}

/// Makes a call, and gives back what was granted when nobody waited for it any more.
fn carry_out(lock: &mut dyn Lock, call: Call) {
    if call.settled.load(SeqCst) {
        return;
    }
    let (op, key) = (
        text(&call.request, "op").to_owned(),
        text(&call.request, "key").to_owned(),
    );
    let wanted = Wanted {
        request: call.request,
        timeout: call.timeout,
    };
    let result = guarded(|| match op.as_str() {
        "acquire" => lock.acquire(&wanted),
        "renew" => lock.renew(&key),
        "release" => lock.release(&key).map(|()| Grant::default()),
        "held" => lock.held(&key).map(|()| Grant::default()),
        "close" => {
            lock.close();
            Ok(Grant::default())
        }
        _ => Err(Error::Unsupported),
    });
    if settle(&call.settled) {
        let _ = call.answer.send(result);
    } else if op == "acquire" && result.is_ok() {
        let _ = guarded(|| lock.release(&key).map(|()| Grant::default()));
    }
}

/// A panic leaves open what happened, like every error that is not known.
fn guarded(call: impl FnOnce() -> Result<Grant, Error>) -> Result<Grant, Error> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|_| Err(Error::Unknown("the lock panicked".into())))
}

#[cfg(test)]
mod tests;
