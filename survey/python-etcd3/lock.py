"""The Lock of python-etcd3 (https://python-etcd3.readthedocs.io/), which knows one address of etcd."""

import importlib.metadata
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/python"))
import protocol  # noqa: E402

protocol.also_from_debian()
import etcd3  # noqa: E402


class Lock(protocol.Lock):
    def __init__(self, hello):
        host, port = hello["nodes"][0].rsplit(":", 1)
        self.ttl = max(1, math.ceil(hello["ttl_ms"] / 1000))
        self.client = etcd3.client(host=host, port=int(port), timeout=1)
        self.grants = {}
        self.began = 0  # when the last try began: with a lease
        lease = self.client.lease

        def noting(ttl, *args, **kwargs):
            self.began = protocol.now_ns()
            return lease(ttl, *args, **kwargs)

        self.client.lease = noting

    def declare(self):
        return {
            "name": f"python-etcd3 {importlib.metadata.version('etcd3')} with tenacity "
            + importlib.metadata.version("tenacity"),
            "validity": "from_invocation",  # "released after this time elapses, unless refreshed"
            "token": "none",
            "confirms": ["release", "held", "renew"],  # each asks etcd
        }

    def acquire(self, key, timeout):
        lock = self.client.lock(key, ttl=self.ttl)
        first = protocol.now_ns()

        def give_back(taken):
            if taken:
                lock.release()

        try:
            if not protocol.within(timeout + 1, lambda: lock.acquire(timeout=timeout), too_late=give_back):
                raise protocol.Failure("busy")  # False: the last try was answered, with no
        except protocol.Failure:
            raise
        except Exception as e:
            e.first = first
            raise
        self.grants[key] = lock
        # A try that fails raises, so each one before was answered.
        return {"attempt_ns": self.began, "first_ns": self.began}

    def held(self, key, timeout):
        if key not in self.grants or not protocol.within(timeout, self.grants[key].is_acquired):
            raise protocol.Failure("not_held")
        return {}

    def renew(self, key, timeout):
        if key not in self.grants:
            raise protocol.Failure("not_held")
        began = protocol.now_ns()
        answers = protocol.within(timeout, self.grants[key].refresh)
        if not answers or answers[0].TTL <= 0:  # the lease is over; the library says it in no other way
            raise protocol.Failure("not_held")
        return {"attempt_ns": began}

    def release(self, key, timeout):
        if key not in self.grants or not protocol.within(timeout, self.grants.pop(key).release):
            raise protocol.Failure("not_held")
        return {}

    def close(self):
        self.client.close()


if __name__ == "__main__":
    protocol.main(Lock)
