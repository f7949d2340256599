"""filelock (https://py-filelock.readthedocs.io/) on files in a folder that all clients share.

    lock.py FileLock | SoftFileLock
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
            "token": "none",
            "no_expiry": True,
        }

    def acquire(self, key, timeout):
        lock = getattr(filelock, sys.argv[1])(str(self.dir / f"{key}.lock"))
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


if __name__ == "__main__":
    protocol.main(Lock)
