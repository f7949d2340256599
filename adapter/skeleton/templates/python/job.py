"""An adapter: an instance of a scheduler in Python that lockchaos can test.

lockchaos starts this program once for every instance, and speaks JSON lines with it: a request on standard input, its
reply on standard output. The instance decides by itself when it executes the job, and prints events that tell of it.
lockchaos does the job's work. See docs/protocol.md#instances-of-a-scheduler.

As it stands this is a complete scheduler on one Redis server, without any library: SET NX PX, with a key for each tick.
Put your own scheduler in its place in the class Instance, and say in `declare` what it promises.

    lockchaos adapter test "python3 job.py" --kind job --service redis     what is missing or wrong, with the exchange that shows it
    lockchaos exam --job-cmd "python3 job.py" --service redis
"""

import json
import os
import socket
import sys
import threading
import time

# The clock that all processes of the machine share. Take stamps from this one only.
now_ns = time.monotonic_ns

MEMORY_MS = 300_000  # for how long a tick is remembered: far longer than clocks differ


class Instance:
    """Your scheduler. One value is one instance."""

    def __init__(self, hello):
        # The job is due whenever the wall clock shows a whole multiple of this, in ms since 1970.
        self.every = hello["every_ms"]
        # hello["ttl_ms"] is how long an execution is to be an instance's own, for a scheduler with leases.
        self.client = hello["client"]  # "c3": for values that a human can read in the service
        self.redis = Redis(hello["nodes"][0])  # the service's addresses, "10.88.0.2:6379"

    def declare(self):
        """What may be concluded from the events. A claim that you do not make is not held against the scheduler."""
        return {
            "name": "my-scheduler 0.1",  # with its version: it stands in the report
            # at-most-once: no tick is executed twice. at-least-once: one is executed again only when its first
            # instance has lost it.
            "job": "at-most-once",
            # Two executions may run at a time. Leave it out for no.
            "overlap": True,
            # What becomes of a tick that no instance could execute in time: skip, once or all. Leave it out for no claim.
            "misfire": "skip",
            # How long after the death of an instance a tick may find no other one.
            "handover_ms": 1500,
        }

    def run(self):
        """Executes the job again and again, on a thread of its own. Begin with the first tick after the hello."""
        last = self.due()
        while True:
            tick = self.due()
            if tick <= last:
                time.sleep(0.005)
                continue
            last, began = tick, now_ns()
            try:
                claimed = self.redis.eval(CLAIM, [f"cron:{tick}"], [self.client, MEMORY_MS], time.monotonic() + 1)
            except (OSError, RuntimeError) as e:
                # No answer: the tick may be claimed. Nobody will know, so it is lost.
                print(f"claim tick {tick}: {e!r}", file=sys.stderr)
                continue
            if claimed:
                self.execute(tick, began)

    def due(self):
        """The latest tick that was due, in ms since 1970."""
        return int(time.time() * 1000) // self.every * self.every

    def execute(self, tick, began):
        # began: just before the request was sent that claimed the tick. Leave out what you do not know.
        work = Work(tick=tick, attempt_ns=began)
        work.wait()  # lockchaos works now
        try:
            self.redis.eval(MARK, [f"cron:{tick}"], [f"done by {self.client}"], time.monotonic() + 1)
        except (OSError, RuntimeError) as e:
            print(f"mark tick {tick}: {e!r}", file=sys.stderr)
            return  # nobody knows whether it is marked as done, so say nothing
        work.done()
        # A scheduler that finds that it has lost the execution says: work.lost("the lease was over")


CLAIM = """if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0"""
MARK = """if redis.call('SET', KEYS[1], ARGV[1], 'XX', 'KEEPTTL') then return 1 end return 0"""


INCLUDE redis.py


INCLUDE events.py


if __name__ == "__main__":
    main(Instance)
