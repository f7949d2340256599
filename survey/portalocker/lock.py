"""portalocker (https://portalocker.readthedocs.io/), on files in a folder that all clients share, or on Redis.

    lock.py Lock | TemporaryFileLock | BoundedSemaphore | RedisLock
"""

import contextlib
import importlib.metadata
import pathlib
import signal
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/python"))
import protocol  # noqa: E402

protocol.also_from_debian()
import portalocker  # noqa: E402
from portalocker.exceptions import BaseLockException  # noqa: E402

PERMITS = 2  # of the semaphore


class Lock(protocol.Lock):
    """What locks a file."""

    claims = {"validity": "session", "no_expiry": True}  # the kernel keeps it until its holder gives it up or dies

    def __init__(self, hello):
        self.hello = hello
        self.dir = pathlib.Path(hello["dir"])
        self.grants = {}

    def declare(self):
        name = f"portalocker {sys.argv[1]} {importlib.metadata.version('portalocker')}"
        return {"name": name, "token": "none", **self.claims}

    def interrupted(self):
        """The main thread was interrupted, which means something to one kind alone."""

    def make(self, key):
        return portalocker.Lock(self.dir / f"{key}.lock")

    def acquire(self, key, timeout):
        lock = self.make(key)
        try:
            with contextlib.redirect_stdout(sys.stderr):  # some versions print
                lock.acquire(timeout=timeout, check_interval=0.01, fail_when_locked=False)
        except BaseLockException as e:
            raise protocol.Failure("busy") from e
        self.grants[key] = lock
        return {}

    def release(self, key, timeout):
        if key not in self.grants:
            raise protocol.Failure("not_held")
        self.grants.pop(key).release()
        return {}


class Temporary(Lock):
    def make(self, key):
        return portalocker.TemporaryFileLock(str(self.dir / f"{key}.lock"))


class Semaphore(Lock):
    claims = {"validity": "session", "no_expiry": True, "permits": PERMITS}

    def make(self, key):
        return portalocker.BoundedSemaphore(PERMITS, name=key, directory=str(self.dir))


class Redis(Lock):
    """Its lock is a subscription: it is held for as long as the connection is there."""

    claims = {"validity": "session", "no_expiry": True}

    def make(self, key):
        host, port = self.hello["nodes"][0].rsplit(":", 1)
        options = {"host": host, "port": int(port), "socket_timeout": 1, "health_check_interval": 1}
        return portalocker.RedisLock(key, redis_kwargs=options)

    def acquire(self, key, timeout):
        began = protocol.now_ns()
        lock = self.make(key)
        try:
            lock.acquire(timeout=timeout, check_interval=0.05)
        except BaseLockException as e:
            raise protocol.Failure("busy") from e
        except Exception as e:
            e.first = began
            raise
        self.grants[key] = lock
        return {"first_ns": began}

    def release(self, key, timeout):
        lock = self.grants.pop(key)
        protocol.within(timeout, lock.release)
        return {}

    def interrupted(self):
        """The library says so when its subscription has failed: the lock is lost."""
        for key in list(self.grants):
            protocol.lost(key, "the main thread was interrupted")


if __name__ == "__main__":
    kinds = {"Lock": Lock, "TemporaryFileLock": Temporary, "BoundedSemaphore": Semaphore, "RedisLock": Redis}
    kind = kinds[sys.argv[1]]
    made = []

    def make(hello):
        made.append(kind(hello))
        return made[0]

    # The library interrupts the main thread, which therefore only waits.
    signal.signal(signal.SIGINT, lambda *_: [lock.interrupted() for lock in made])
    thread = threading.Thread(target=protocol.main, args=(make,))
    thread.start()
    while thread.is_alive():
        thread.join(0.5)
