"""filelock (https://py-filelock.readthedocs.io/) on files in a folder that all clients share.

    lock.py FileLock | SoftFileLock | SoftFileLease

SoftFileLease came with 3.30.
"""

import importlib.metadata
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/python"))
import protocol  # noqa: E402

protocol.also_from_debian()
import filelock  # noqa: E402


class Lock(protocol.Lock):
    def __init__(self, hello):
        self.dir = pathlib.Path(hello["dir"])
        self.grants = {}

    def declare(self):
        return {
            "name": f"filelock {sys.argv[1]} {importlib.metadata.version('filelock')}",
            "validity": "session",  # until it is released, or its holder dies
            "token": "none",
            "no_expiry": True,
        }

    def make(self, key):
        return getattr(filelock, sys.argv[1])(str(self.dir / f"{key}.lock"))

    def acquire(self, key, timeout):
        lock = self.make(key)
        try:
            lock.acquire(timeout=timeout, poll_interval=0.01)
        except filelock.Timeout as e:
            raise protocol.Failure("busy") from e
        self.grants[key] = lock
        return {}

    def release(self, key, timeout):
        if key not in self.grants:
            raise protocol.Failure("not_held")
        self.grants.pop(key).release()
        return {}


class Lease(Lock):
    """A claim that its holder keeps fresh, and that expires."""

    def __init__(self, hello):
        super().__init__(hello)
        self.duration = hello["ttl_ms"] / 1000

    def declare(self):
        declared = super().declare()
        del declared["no_expiry"]
        # Until on_compromise. A heartbeat comes every third of the duration, and looks whose the claim is.
        return {**declared, "validity": "session", "lost_grace_ms": self.duration * 1000 / 3 + 300}

    def make(self, key):
        def compromised(compromise):
            lock = self.grants.get(key)
            if lock is not None and lock.compromise is compromise:
                protocol.lost(key, compromise.reason)

        path = str(self.dir / f"{key}.lock")
        return filelock.SoftFileLease(path, lease_duration=self.duration, on_compromise=compromised, thread_local=False)


if __name__ == "__main__":
    protocol.main(Lease if sys.argv[1] == "SoftFileLease" else Lock)
