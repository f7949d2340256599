"""An adapter: a lock in Python that lockchaos can test.

lockchaos starts this program once for every client, and speaks JSON lines with it: a request on standard input, its
reply on standard output. It is one client, asked one thing at a time. See docs/protocol.md.

As it stands this is a complete lock on one Redis server, without any library: SET NX PX, with a fencing token from a
counter. Put your own lock in its place in the class Lock, and say in `declare` what it promises.

    lockchaos adapter test "python3 lock.py" --service redis     what is missing or wrong, with the exchange that shows it
    lockchaos run quick --lock-cmd "python3 lock.py" --service redis
"""

import json
import os
import socket
import sys
import time

# The clock that all processes of the machine share. Take stamps from this one only.
now_ns = time.monotonic_ns


class Failure(Exception):
    """A failure that is definite: nothing happened, and nothing will.

    busy: another holds the key.  not_held: the service says that it is no longer ours.  unsupported: no such operation.
    Anything else that goes wrong (a timeout, a broken connection) leaves open whether it happened: raise what you like.
    """


class Lock:
    """Your lock. One instance is one client."""

    def __init__(self, hello):
        self.nodes = hello["nodes"]  # the service's addresses, "10.88.0.2:6379"
        # hello.get("account") is a user, password and database, for a library that insists on them (docs/protocol.md).
        self.ttl_ms = hello["ttl_ms"]  # how long a lease or session is to last
        self.client = hello["client"]  # "c3": for values that a human can read in the service
        self.redis = Redis(self.nodes[0])
        self.values = {}  # the value under which each key is ours

    def declare(self):
        """What may be concluded from the answers. A claim that you do not make is not held against the lock."""
        return {
            "name": "my-lock 0.1",  # with its version: it stands in the report
            # How long a grant is good for. from_invocation: the TTL, from the start of the attempt that succeeded.
            # session: until a lost-event. library: as long as valid_for_ms says. Leave it out for no claim.
            "validity": "from_invocation",
            # fencing: a number that rises with every grant, so that a store can refuse older ones. Else "none".
            "token": "fencing",
            # Ops whose ok proves that the lock was still held. Release here compares before it deletes, so its ok does.
            "confirms": ["release", "held", "renew"],
        }

    def acquire(self, key, timeout):
        """Takes the key within so many seconds, or raises: Failure("busy") if another clearly holds it."""
        end = time.monotonic() + timeout
        value = f"{self.client}-{os.urandom(8).hex()}"
        first = None  # when the first attempt began that may have taken effect
        while True:
            began = now_ns()
            try:
                # An attempt that is under way when the time is over is given a moment more: cut off, it would be an open question.
                token = self.redis.eval(TAKE, [key, key + ":token"], [value, self.ttl_ms], end + 0.2)
            except OSError:
                # No answer: the server may have taken the key for us, or may yet. Try again while there is time.
                first = first or began
                token = 0
            if token and now_ns() - began < self.ttl_ms * 1_000_000:  # an answer that came too late is no grant
                self.values[key] = value
                return {"token": token, "attempt_ns": began, "first_ns": first or began}
            if token:
                first = first or began
            if time.monotonic() + 0.01 >= end:
                break
            time.sleep(0.01)
        if first is None:
            raise Failure("busy")
        raise TimeoutError("an attempt was not answered: it may hold the key until its TTL is over")

    def held(self, key, timeout):
        """Returns if the key is still ours. Delete this method if your lock can't be asked."""
        if self.redis.eval(HAS, [key], [self.values.get(key, "")], time.monotonic() + timeout) != 1:
            raise Failure("not_held")
        return {}

    def renew(self, key, timeout):
        """Lets the lease begin anew. Delete this method if your lock renews itself, or never."""
        began = now_ns()
        if self.redis.eval(EXTEND, [key], [self.values.get(key, ""), self.ttl_ms], time.monotonic() + timeout) != 1:
            raise Failure("not_held")
        return {"attempt_ns": began}

    def release(self, key, timeout):
        """Gives the key back."""
        if self.redis.eval(FREE, [key], [self.values.get(key, "")], time.monotonic() + timeout) != 1:
            raise Failure("not_held")
        self.values.pop(key, None)
        return {}

    def close(self):
        """Gives up connections, and the session if there is one."""
        self.redis.close()


# A lock that notices by itself that it is lost says so, at any time, from any thread:
#     send({"event": "lost", "key": key, "why": "session expired"})
# Where grants rest on a session declare "sessions": true, and tell it with each: "session": "0x1f" (docs/protocol.md).
# A lock that waits long can be told to give a wait up: declare "can": ["cancel"], and read standard input meanwhile (docs/protocol.md).

TAKE = """if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[2]) end return 0"""
HAS = """if redis.call('GET', KEYS[1]) == ARGV[1] then return 1 end return 0"""
EXTEND = """if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"""
FREE = """if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"""


INCLUDE redis.py


# What follows speaks the protocol; it can stay as it is.


def send(message):
    """Prints one line. It is one write, so that threads may send events."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(lock, request):
    op, key, timeout = request["op"], request.get("key"), request["timeout_ms"] / 1000
    if op == "close":
        lock.close()
        return {}
    method = getattr(lock, op, None) if op in ("acquire", "held", "renew", "release") else None
    if method is None:
        raise Failure("unsupported")
    return method(key, timeout)


def main():
    lock = None
    for line in sys.stdin:
        request = json.loads(line)
        reply = {"id": request["id"], "ok": True}
        try:
            if request["op"] == "hello":
                lock = Lock(request)
                reply.update(lock.declare())
            else:
                reply.update(answer(lock, request))
        except Failure as e:
            reply.update(ok=False, error=str(e))
        except Exception as e:  # whatever it was: it may have happened, or not
            print(f"{request['op']}: {e!r}", file=sys.stderr)
            reply.update(ok=False, error="unknown", text=repr(e))
        send(reply)


if __name__ == "__main__":
    main()
