//! A lock on Redis: SET NX PX, and a release that compares.

use std::collections::HashMap;
use std::time::{Duration, Instant};

const FREE: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/// The lock of one program on one server.
pub struct OrderLock {
    redis: redis::Client,
    connection: Option<redis::Connection>,
    ttl: Duration,
    owner: String,
    values: HashMap<String, String>,
    made: u64,
}

impl OrderLock {
    /// A lock on the server at host:port. The owner tells this program from all others.
    pub fn new(node: &str, ttl: Duration, owner: &str) -> redis::RedisResult<OrderLock> {
        let redis = redis::Client::open(format!("redis://{node}"))?;
        Ok(OrderLock {
            redis,
            connection: None,
            ttl,
            owner: owner.into(),
            values: HashMap::new(),
            made: 0,
        })
    }

    /// Asks the server, on a new connection if the last call failed: a late answer must not be taken for the next one.
    fn ask<T: redis::FromRedisValue>(&mut self, command: &redis::Cmd) -> redis::RedisResult<T> {
        let limit = Duration::from_secs(1);
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.redis.get_connection_with_timeout(limit)?,
        };
        connection.set_read_timeout(Some(limit))?;
        let answer = command.query(&mut connection)?;
        self.connection = Some(connection);
        Ok(answer)
    }

    /// Takes the key, and waits for it. False: the server has refused every try.
    pub fn try_lock(&mut self, key: &str, timeout: Duration) -> redis::RedisResult<bool> {
        let end = Instant::now() + timeout;
        self.made += 1;
        let value = format!("{}-{}", self.owner, self.made);
        let mut set = redis::cmd("SET");
        set.arg(key)
            .arg(&value)
            .arg("NX")
            .arg("PX")
            .arg(self.ttl.as_millis() as u64);
        while self.ask::<Option<String>>(&set)?.is_none() {
            if Instant::now() > end {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.values.insert(key.into(), value);
        Ok(true)
    }

    /// Gives the key back. False: it was no longer this program's.
    pub fn unlock(&mut self, key: &str) -> redis::RedisResult<bool> {
        let value = self.values.get(key).cloned().unwrap_or_default();
        self.ask(redis::cmd("EVAL").arg(FREE).arg(1).arg(key).arg(value))
    }
}
