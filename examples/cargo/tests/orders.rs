//! The lock of this program, examined. To see it fall, let unlock delete the key without a look at its value, which frees
//! the key of whoever has it.

use lockchaos::{Client, Error, Grant, Lock, Wanted};
use orders::OrderLock;

struct Orders(OrderLock);

impl Lock for Orders {
    fn acquire(&mut self, wanted: &Wanted) -> Result<Grant, Error> {
        match self.0.try_lock(wanted.key(), wanted.timeout())? {
            true => Ok(Grant::default()),
            false => Err(Error::Busy), // what the server does not answer is another error
        }
    }

    fn release(&mut self, key: &str) -> Result<(), Error> {
        match self.0.unlock(key)? {
            true => Ok(()),
            false => Err(Error::NotHeld),
        }
    }
}

fn main() {
    let open = |client: &Client| {
        let owner = format!("{}-{}", std::process::id(), lockchaos::now());
        Ok(Orders(OrderLock::new(
            &client.nodes()[0],
            client.ttl(),
            &owner,
        )?))
    };
    lockchaos::run([lockchaos::exam("orders", "redis", open)
        .claim("validity", "from_invocation") // SET NX PX: the lease counts from the request
        .claim("confirms", ["release"]) // it compares the value that the key has
        .attacks(["nothing-work", "stop-work", "stop-release", "kill-work"])]); // leave it out for all
}
