"""The locks of the conformance suite, in Python: see ../../frontends_test.go for what each comes to.

No library: a test of the frontend tests nothing else.
"""

import os
import socket
import time

import lockchaos

FREE = """if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"""
CLAIMS = {"service": "redis", "validity": "from_invocation", "confirms": ["release"]}


class Redis:
    """One connection, which is made anew when a call failed: a late answer must not be taken for the next one."""

    def __init__(self, node):
        host, port = node.rsplit(":", 1)
        self.address, self.conn = (host, int(port)), None

    def ask(self, *words):
        try:
            if self.conn is None:
                self.conn = socket.create_connection(self.address, timeout=1)
                self.replies = self.conn.makefile("rb")
            self.conn.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in map(_bytes, words)))
            line = self.replies.readline()
            if not line.endswith(b"\r\n"):
                raise ConnectionError("the server closed the connection")
            return line[:-2].decode()
        except OSError:
            if self.conn is not None:
                self.conn.close()
            self.conn = None
            raise


def _bytes(word):
    return str(word).encode()


class Correct:
    """SET NX PX, and a release that compares."""

    def __init__(self, nodes, ttl):
        self.redis, self.ttl_ms, self.values = Redis(nodes[0]), int(ttl * 1000), {}

    def take(self, key, value):
        return self.redis.ask("SET", key, value, "NX", "PX", self.ttl_ms) == "+OK"

    def acquire(self, key, timeout):
        end, value = time.monotonic() + timeout, os.urandom(8).hex()
        while not self.take(key, value):
            if time.monotonic() + 0.01 > end:
                return False  # each request was answered, or it had raised
            time.sleep(0.01)
        self.values[key] = value
        return True

    def release(self, key):
        return self.redis.ask("EVAL", FREE, 1, key, self.values.pop(key, "")) == ":1"


class Careless(Correct):
    """Frees the key, whoever has it."""

    def release(self, key):
        self.redis.ask("DEL", key)


class Forever(Correct):
    """Has no expiry."""

    def take(self, key, value):
        return self.redis.ask("SET", key, value, "NX") == "+OK"


class Anyone(Correct):
    """Refuses nobody."""

    def take(self, key, value):
        return True


@lockchaos.exam(busy=False, attacks=["stop-release", "stop-work", "stop-long"], **CLAIMS)
def correct(nodes, ttl):
    return Correct(nodes, ttl)


@lockchaos.exam(busy=False, attacks=["stop-work"], inherent=True, **CLAIMS)
def strict(nodes, ttl):
    return Correct(nodes, ttl)


@lockchaos.exam(busy=False, attacks="stop-release", **CLAIMS)
def careless(nodes, ttl):
    return Careless(nodes, ttl)


@lockchaos.exam(busy=False, attacks="kill-work", **CLAIMS)
def forever(nodes, ttl):
    return Forever(nodes, ttl)


@lockchaos.exam(busy=False, attacks="nothing-work", **CLAIMS)
def anyone(nodes, ttl):
    return Anyone(nodes, ttl)
