"""A lock on Redis whose lease cannot be set: SET NX PX, asked for again after a pause.

    lock.py LEASE PAUSE [FLAW…]

Lease and pause are in seconds. A negative pause means that it answers "busy" at once. Flaws are "denies": a release says that the lock was not held,
and "overtakes": whoever has waited for a while takes the key, also another client's. It needs no library beside examples/python/protocol.py (PYTHONPATH).
"""

import os
import socket
import sys
import time

import protocol

GIVE_BACK = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class Lock(protocol.Lock):
    def __init__(self, hello):
        host, port = hello["nodes"][0].rsplit(":", 1)
        self.at, self.link = (host, int(port)), None
        self.lease, self.pause = float(sys.argv[1]), float(sys.argv[2])
        self.flaws = sys.argv[3:]
        self.me, self.grants, self.values = os.urandom(8).hex(), 0, {}

    def declare(self):
        return {"name": "fixed-lease", "validity": "from_invocation", "token": "none", "confirms": ["release"], "lease_ms": int(self.lease * 1000)}

    def ask(self, *words):
        """Sends one command on a connection that is made anew after an error, and returns the line of its reply."""
        try:
            if self.link is None:
                self.link = socket.create_connection(self.at, timeout=5)
                self.replies = self.link.makefile("rb")
            bulks = [b"$%d\r\n%s\r\n" % (len(w), w) for w in (word.encode() for word in words)]
            self.link.sendall(b"*%d\r\n" % len(words) + b"".join(bulks))
            line = self.replies.readline()
            if not line.endswith(b"\r\n"):
                raise ConnectionError("the connection ended before the reply")
            return line.strip()
        except OSError:
            self.close()
            raise

    def acquire(self, key, timeout):
        begin = time.monotonic()
        end = begin + timeout
        self.grants += 1
        value = f"{self.me}-{self.grants}"
        while True:
            began = protocol.now_ns()
            unless_taken = [] if "overtakes" in self.flaws and time.monotonic() > begin + 0.4 else ["NX"]
            if self.ask("SET", key, value, *unless_taken, "PX", str(int(self.lease * 1000))) == b"+OK":
                self.values[key] = value
                return {"attempt_ns": began, "first_ns": began}
            if self.pause < 0 or time.monotonic() + self.pause > end or self.given_up.wait(self.pause):
                raise protocol.Failure("busy")

    def release(self, key, timeout):
        if self.ask("EVAL", GIVE_BACK, "1", key, self.values.pop(key)) != b":1" or "denies" in self.flaws:
            raise protocol.Failure("not_held")
        return {}

    def close(self):
        if self.link is not None:
            self.link.close()
        self.link = None


protocol.main(Lock)
