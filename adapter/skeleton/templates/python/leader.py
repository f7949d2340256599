"""An adapter: a candidate for leadership in Python that lockchaos can test.

lockchaos starts this program once for every replica, and speaks JSON lines with it: a request on standard input, its
reply on standard output. The candidate stands for election by itself, and prints events that tell of its terms.
lockchaos does the leader's work. See docs/protocol.md#candidates-for-leadership.

As it stands this is a complete election on one Redis server, without any library: a key with an expiry, which the
leader renews. Put your own in its place in the class Candidate, and say in `declare` what it promises.

    lockchaos adapter test "python3 leader.py" --kind leader --service redis     what is missing or wrong, with the exchange that shows it
    lockchaos exam --leader-cmd "python3 leader.py" --service redis
"""

import json
import os
import socket
import sys
import threading
import time

# The clock that all processes of the machine share. Take stamps from this one only.
now_ns = time.monotonic_ns


class Candidate:
    """Your election. One value is one replica."""

    def __init__(self, hello):
        self.ttl_ms = hello["ttl_ms"]  # how long a lease or session is to last
        self.client = hello["client"]  # "c3": for values that a human can read in the service
        self.redis = Redis(hello["nodes"][0])  # the service's addresses, "10.88.0.2:6379"

    def declare(self):
        """What may be concluded from the events. A claim that you do not make is not held against the election."""
        return {
            "name": "my-election 0.1",  # with its version: it stands in the report
            "leader": True,
            # A term lasts until its loss is told. Leave it out for no claim.
            "validity": "session",
            # Within which time a loss is told: the pause between two renewals, and the time that it takes to be heard.
            "lost_grace_ms": self.ttl_ms // 3 + 500,
        }

    def run(self):
        """Stands for election again and again, on a thread of its own."""
        while True:
            value, began = f"{self.client}-{os.urandom(8).hex()}", now_ns()  # a value for each term
            until = began + self.ttl_ms * 1_000_000
            if self.ask(TAKE, value, until) == 1 and now_ns() < until:
                self.lead(value, began)
            time.sleep(self.ttl_ms / 20_000)  # after a term, too: others are to have a chance

    def lead(self, value, began):
        term = Work(attempt_ns=began)  # began: just before the request was sent that won the election
        until = began + self.ttl_ms * 1_000_000  # by this machine's clock
        while (left := until - now_ns()) > 0:
            if term.wait(min(left / 1e9, self.ttl_ms / 3000)):  # the work is over: an orderly stop
                self.ask(FREE, value, until)
                return term.done()
            asked = now_ns()
            kept = self.ask(EXTEND, value, until)
            if kept == 0:
                break
            if kept == 1 and now_ns() < until:
                until = asked + self.ttl_ms * 1_000_000
        term.lost("the lease is over")

    def ask(self, script, value, until):
        """1 or 0 as the service says, before that instant; None: it has not answered."""
        try:
            end = time.monotonic() + (until - now_ns()) / 1e9
            return self.redis.eval(script, ["leader"], [value, self.ttl_ms], end)
        except (OSError, RuntimeError) as e:
            print(f"{self.client}: {e!r}", file=sys.stderr)
            return None


TAKE = """if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0"""
EXTEND = """if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"""
FREE = """if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"""


INCLUDE redis.py


INCLUDE events.py


if __name__ == "__main__":
    main(Candidate)
