//! The adapter, asked as lockchaos asks it.

use super::*;
use crate::exam;

/// A lock whose answers are given.
#[derive(Default)]
struct Given {
    acquire: Option<Error>,
    release: Option<Error>,
    grant: Option<Grant>,
    takes: Duration,
    log: Arc<Mutex<Vec<String>>>,
}

impl Lock for Given {
    fn acquire(&mut self, wanted: &Wanted) -> Result<Grant, Error> {
        thread::sleep(self.takes);
        self.log
            .lock()
            .unwrap()
            .push(format!("acquire {:?}", wanted.keys()));
        self.acquire
            .take()
            .map_or(Ok(self.grant.take().unwrap_or_default()), Err)
    }

    fn release(&mut self, key: &str) -> Result<(), Error> {
        self.log.lock().unwrap().push(format!("release {key}"));
        match self.release.take() {
            Some(Error::Unknown(text)) => panic!("{text}"),
            other => other.map_or(Ok(()), Err),
        }
    }
}

#[derive(Clone, Default)]
struct Out(Arc<Mutex<Vec<u8>>>);

impl Write for Out {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(data);
        Ok(data.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The replies to a hello and to these operations.
fn asked(given: Given, claims: &[(&str, &str)], ops: &[&str]) -> Vec<Value> {
    let mut lines = r#"{"id":1,"op":"hello","ttl_ms":500,"client":"c1","service":"none","nodes":["h:1"],"timeout_ms":1000}"#.to_owned();
    for (i, op) in ops.iter().enumerate() {
        lines += &format!(
            "\n{}",
            json!({"id": i + 2, "op": op, "key": "k0", "timeout_ms": 100})
        );
    }
    let exam = claims.iter().fold(
        exam("mine", "none", |client| {
            assert_eq!(
                (client.nodes(), client.ttl(), client.name()),
                (&["h:1".to_owned()][..], Duration::from_millis(500), "c1")
            );
            Ok(given)
        }),
        |exam, (claim, value)| exam.claim(claim, *value),
    );
    let out = Out::default();
    serve(
        exam,
        lines.as_bytes(),
        Sender(Arc::new(Mutex::new(out.clone()))),
    )
    .unwrap();
    let said = out.0.lock().unwrap().clone();
    String::from_utf8(said)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn success() {
    let said = asked(
        Given::default(),
        &[("validity", "session")],
        &["acquire", "release", "close"],
    );
    assert_eq!(
        said[0],
        json!({"id": 1, "ok": true, "name": "mine", "validity": "session"})
    );
    assert_eq!(
        said[1..],
        [
            json!({"id": 2, "ok": true}),
            json!({"id": 3, "ok": true}),
            json!({"id": 4, "ok": true})
        ]
    );
}

#[test]
fn only_what_is_definite_is_said_to_be() {
    let word = |given: Given, op| {
        asked(given, &[], &[op])[1]["error"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        word(
            Given {
                acquire: Some(Error::Busy),
                ..Given::default()
            },
            "acquire"
        ),
        "busy"
    );
    assert_eq!(
        word(
            Given {
                acquire: Some(Error::NotHeld),
                ..Given::default()
            },
            "acquire"
        ),
        "unknown"
    );
    assert_eq!(
        word(
            Given {
                acquire: Some(io::Error::other("cut").into()),
                ..Given::default()
            },
            "acquire"
        ),
        "unknown"
    );
    assert_eq!(
        word(
            Given {
                release: Some(Error::NotHeld),
                ..Given::default()
            },
            "release"
        ),
        "not_held"
    );
    assert_eq!(
        word(
            Given {
                release: Some(Error::Busy),
                ..Given::default()
            },
            "release"
        ),
        "unknown"
    );
    assert_eq!(
        word(
            Given {
                release: Some(Error::Unknown("panic".into())),
                ..Given::default()
            },
            "release"
        ),
        "unknown"
    );
    assert_eq!(word(Given::default(), "renew"), "unsupported");
}

#[test]
fn a_grant_says_what_is_claimed() {
    let grant = || {
        Some(
            Grant::default()
                .token(1 << 60)
                .valid_for(Duration::from_millis(400))
                .attempt(5),
        )
    };
    let given = || Given {
        grant: grant(),
        ..Given::default()
    };
    assert_eq!(
        asked(given(), &[], &["acquire"])[1],
        json!({"id": 2, "ok": true, "attempt_ns": "5"})
    );
    assert_eq!(
        asked(
            given(),
            &[("token", "fencing"), ("validity", "library")],
            &["acquire"]
        )[1],
        json!({"id": 2, "ok": true, "attempt_ns": "5", "token": "1152921504606846976", "valid_for_ms": 400.0})
    );
}

#[test]
fn the_time_limit_is_kept_and_a_late_grant_given_back() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let given = Given {
        takes: GRACE + Duration::from_millis(1000),
        log: log.clone(),
        ..Given::default()
    };
    assert_eq!(asked(given, &[], &["acquire"])[1]["error"], "unknown");
    let end = std::time::Instant::now() + Duration::from_secs(60);
    while log.lock().unwrap().len() < 2 && std::time::Instant::now() < end {
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(*log.lock().unwrap(), [r#"acquire ["k0"]"#, "release k0"]);
}

#[test]
#[should_panic(expected = "there is no claim \"validty\"")]
fn a_claim_that_there_is_not() {
    let _ = exam("mine", "none", |_| Ok(Given::default())).claim("validty", "session");
}
