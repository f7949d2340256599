//! The locks of the conformance suite, in Rust: see ../../frontends_test.go for what each comes to. No library: a test of
//! the frontend tests nothing else.

use lockchaos::{exam, Client, Error, Exam, Grant, Lock, Wanted};
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

const FREE: &str =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/// One connection, which is made anew when a call failed: a late answer must not be taken for the next one.
struct Redis {
    node: String,
    stream: Option<BufReader<TcpStream>>,
}

impl Redis {
    fn ask(&mut self, words: &[&str]) -> io::Result<String> {
        let answer = self.tried(words);
        if answer.is_err() {
            self.stream = None;
        }
        answer
    }

    fn tried(&mut self, words: &[&str]) -> io::Result<String> {
        if self.stream.is_none() {
            let limit = Duration::from_secs(1);
            let address = self
                .node
                .to_socket_addrs()?
                .next()
                .ok_or(io::ErrorKind::NotFound)?;
            let stream = TcpStream::connect_timeout(&address, limit)?;
            stream.set_read_timeout(Some(limit))?;
            self.stream = Some(BufReader::new(stream));
        }
        let stream = self.stream.as_mut().expect("it is connected");
        let words: String = words
            .iter()
            .map(|w| format!("${}\r\n{w}\r\n", w.len()))
            .collect::<Vec<_>>()
            .concat();
        let request = format!("*{}\r\n{words}", words.matches('$').count());
        stream.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        stream.read_line(&mut line)?;
        if line.ends_with("\r\n") {
            Ok(line.trim().into())
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }
}

/// How a lock takes a key, and what is wrong with it.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// SET NX PX, and a release that compares.
    Correct,
    /// Frees the key, whoever has it.
    Careless,
    /// Has no expiry.
    Forever,
    /// Refuses nobody.
    Anyone,
}

struct Given {
    kind: Kind,
    redis: Redis,
    ttl: String,
    client: String,
    values: HashMap<String, String>,
    made: u64,
}

impl Given {
    fn take(&mut self, key: &str, value: &str) -> io::Result<bool> {
        let answer = match self.kind {
            Kind::Anyone => return Ok(true),
            Kind::Forever => self.redis.ask(&["SET", key, value, "NX"])?,
            _ => self
                .redis
                .ask(&["SET", key, value, "NX", "PX", &self.ttl])?,
        };
        Ok(answer == "+OK")
    }
}

impl Lock for Given {
    fn acquire(&mut self, wanted: &Wanted) -> Result<Grant, Error> {
        let end = Instant::now() + wanted.timeout();
        self.made += 1;
        let value = format!("{}-{}-{}", self.client, lockchaos::now(), self.made);
        while !self.take(wanted.key(), &value)? {
            if Instant::now() + Duration::from_millis(10) > end {
                return Err(Error::Busy); // each request was answered
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.values.insert(wanted.key().into(), value);
        Ok(Grant::default())
    }

    fn release(&mut self, key: &str) -> Result<(), Error> {
        if self.kind == Kind::Careless {
            self.redis.ask(&["DEL", key])?;
            return Ok(());
        }
        let value = self.values.remove(key).unwrap_or_default();
        if self.redis.ask(&["EVAL", FREE, "1", key, &value])? == ":1" {
            Ok(())
        } else {
            Err(Error::NotHeld)
        }
    }
}

fn lock(name: &str, kind: Kind) -> Exam {
    exam(name, "redis", move |client: &Client| {
        let redis = Redis {
            node: client.nodes()[0].clone(),
            stream: None,
        };
        let ttl = client.ttl().as_millis().to_string();
        Ok(Given {
            kind,
            redis,
            ttl,
            client: client.name().into(),
            values: HashMap::new(),
            made: 0,
        })
    })
    .claim("validity", "from_invocation")
    .claim("confirms", ["release"])
}

fn main() {
    println!("what a test program prints is no part of the protocol");
    lockchaos::run([
        lock("correct", Kind::Correct).attacks(["stop-release", "stop-work", "stop-long"]),
        lock("strict", Kind::Correct)
            .attacks(["stop-work"])
            .inherent(),
        lock("careless", Kind::Careless).attacks(["stop-release"]),
        lock("forever", Kind::Forever).attacks(["kill-work"]),
        lock("anyone", Kind::Anyone).attacks(["nothing-work"]),
    ]);
}
