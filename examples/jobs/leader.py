"""A candidate for leadership on Redis, as an adapter of kind leader for lockchaos.

    lockchaos exam --leader-cmd "python3 examples/jobs/leader.py" --service redis

The leader has a key with an expiry, which a thread renews. lockchaos does the leader's work between
the events run and done. Needs redis-py: Debian's python3-redis, or pip install redis.
docs/protocol.md#candidates-for-leadership is the protocol.
"""

import json
import os
import queue
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import protocol  # noqa: E402

protocol.also_from_debian()
import redis  # noqa: E402

RENEW = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end "
# A key that is ours already was taken by an attempt whose answer was lost.
TAKE = RENEW + "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0"
RENEW += "return 0"
FREE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
GRACE_MS = 200  # for how long this program may take to notice that its time is over

printing = threading.Lock()


def say(message):
    with printing:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


class Candidate:
    def __init__(self, hello):
        self.ttl = hello["ttl_ms"] / 1000
        self.name = hello["client"]
        host, port = hello["nodes"][0].rsplit(":", 1)
        limit = self.ttl / 2  # an answer that takes longer is no renewal
        self.client = redis.Redis(host=host, port=int(port), socket_timeout=limit, socket_connect_timeout=limit)
        self.go = queue.Queue()
        self.term = None

    def ask(self, script, value, *args):
        """Whether the script said yes. No answer is no yes."""
        try:
            return self.client.eval(script, 1, "leader:k0", value, *args) == 1
        except redis.RedisError as e:
            print(f"{self.name}: {e}", file=sys.stderr)
            return False

    def run(self):
        value = None
        while True:
            value = value or f"{self.name}-{os.urandom(8).hex()}"  # one for each term
            began = time.monotonic_ns()
            if self.ask(TAKE, value, int(self.ttl * 1000)) and time.monotonic_ns() - began < self.ttl * 1e9:
                self.lead(value, began)
                value = None
            else:
                time.sleep(self.ttl / 20)

    def lead(self, value, began):
        self.term = value
        say({"event": "run", "run": value, "attempt_ns": began})
        until = began + self.ttl * 1e9  # by this machine's clock, from before the request
        while True:
            if self.stops(self.ttl / 10):
                self.ask(FREE, value)
                self.term = None
                return say({"event": "done", "run": value})
            now = time.monotonic_ns()
            if now >= until:
                self.term = None
                return say({"event": "lost", "run": value, "why": "the lease was not renewed in time"})
            if until - now < self.ttl * 0.7e9 and self.ask(RENEW, value, int(self.ttl * 1000)):
                until = now + self.ttl * 1e9

    def stops(self, seconds):
        """Whether the leader is to step down, within so many seconds."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                if self.go.get(timeout=left) == self.term:
                    return True
            except queue.Empty:
                break
        return False


def main():
    candidate = None
    for line in sys.stdin:
        request = json.loads(line)
        reply = {"id": request["id"], "ok": True}
        op = request["op"]
        if op == "hello":
            candidate = Candidate(request)
            # the longest wait until the end of the lease is seen: a renewal that is not answered, and a pause
            grace = request["ttl_ms"] + GRACE_MS
            reply.update(name=f"leader.py with redis-py {redis.__version__}", leader=True, validity="session", lost_grace_ms=grace)
            say(reply)
            threading.Thread(target=candidate.run, daemon=True).start()
            continue
        term = candidate.term
        if op == "go" and request["run"] != term:
            reply = {"id": request["id"], "ok": False, "error": "not_held"}
        elif op == "go":
            candidate.go.put(term)
        elif op != "close":
            reply = {"id": request["id"], "ok": False, "error": "unsupported"}
        say(reply)


main()
