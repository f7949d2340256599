"""The Lock of etcd3gw (https://docs.openstack.org/etcd3gw/latest/), on etcd's gateway. It knows one address.

    lock.py acquire | with

acquire() does not wait, so it is asked again. "with" uses the lock as a context manager, as its documentation has it.
"""

import importlib.metadata
import math
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/python"))
import protocol  # noqa: E402

protocol.also_from_debian()
from etcd3gw.client import Etcd3Client  # noqa: E402


class Lock(protocol.Lock):
    def __init__(self, hello):
        host, port = hello["nodes"][0].rsplit(":", 1)
        self.ttl = max(1, math.ceil(hello["ttl_ms"] / 1000))
        self.client = Etcd3Client(host=host, port=int(port), timeout=1, api_path="/v3/")
        self.grants = {}

    def declare(self):
        return {
            "name": f"etcd3gw {importlib.metadata.version('etcd3gw')}",
            "validity": "from_invocation",  # a lease of the TTL
            "token": "none",
            "confirms": ["release", "held", "renew"],  # each asks etcd
        }

    def acquire(self, key, timeout):
        end = time.monotonic() + timeout
        lock = self.client.lock(key, ttl=self.ttl)
        while True:
            began = protocol.now_ns()  # its lease comes first
            try:
                taken = protocol.within(timeout + 1, lock.acquire, too_late=lambda got: got and lock.release())
            except Exception as e:
                e.first = began
                raise
            if taken:
                self.grants[key] = lock
                return {"attempt_ns": began, "first_ns": began}
            if time.monotonic() >= end:
                raise protocol.Failure("busy")  # each try was answered
            time.sleep(0.05)

    def held(self, key, timeout):
        if key not in self.grants or not protocol.within(timeout, self.grants[key].is_acquired):
            raise protocol.Failure("not_held")
        return {}

    def renew(self, key, timeout):
        began = protocol.now_ns()
        if key not in self.grants or protocol.within(timeout, self.grants[key].refresh) <= 0:
            raise protocol.Failure("not_held")
        return {"attempt_ns": began}

    def release(self, key, timeout):
        if key not in self.grants or not protocol.within(timeout, self.grants.pop(key).release):
            raise protocol.Failure("not_held")
        return {}


class With(Lock):
    """Enters and leaves the context of a lock."""

    def acquire(self, key, timeout):
        lock = self.client.lock(key, ttl=self.ttl)
        began = protocol.now_ns()
        try:
            protocol.within(timeout, lock.__enter__, too_late=lambda entered: lock.__exit__(None, None, None))
        except Exception as e:
            e.first = began
            raise
        self.grants[key] = lock
        return {"attempt_ns": began, "first_ns": began}

    def release(self, key, timeout):
        lock = self.grants.pop(key)
        protocol.within(timeout, lambda: lock.__exit__(None, None, None))
        return {}

    def declare(self):
        return {**super().declare(), "confirms": ["held", "renew"]}  # leaving the context says nothing


if __name__ == "__main__":
    protocol.main({"acquire": Lock, "with": With}[sys.argv[1]])
