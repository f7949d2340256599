"""The locks of tooz (https://docs.openstack.org/tooz/latest/), OpenStack's coordination library.

    lock.py redis | zookeeper | etcd | postgres | file

The coordinator beats (start_heart), as its documentation has it: where locks expire, that keeps them.
"""

import importlib.metadata
import logging
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/python"))
import protocol  # noqa: E402

protocol.also_from_debian()
import tenacity  # noqa: E402
from tooz import coordination  # noqa: E402


class Lock(protocol.Lock):
    """What the drivers share. Each says in claims what it promises, and how it is reached."""

    claims = {}

    def __init__(self, hello):
        self.ttl = max(1, math.ceil(hello["ttl_ms"] / 1000))
        self.locks, self.grants = {}, {}
        self.tried = 0  # when the last try of the acquire that is under way began
        self.coordinator = coordination.get_coordinator(self.url(hello), hello["client"].encode())
        self.coordinator.start(start_heart=True)

    def declare(self):
        version = importlib.metadata.version("tooz")
        return {"name": f"tooz {version}, {sys.argv[1]}", "validity": "session", "token": "none", **self.claims}

    def watch(self, lock):
        """Has a lock of the library note when its tries begin, where that can be seen."""

    def undisturbed(self):
        """A number that changes when an answer of the service may have been missed."""
        return 0

    def stamps(self, began):
        return {"attempt_ns": self.tried, "first_ns": self.tried} if self.tried else {"first_ns": began}

    def take(self, lock, timeout):
        """acquire says False when the time is over, and some drivers raise."""
        try:
            return lock.acquire(blocking=timeout)
        except tenacity.RetryError:
            return False

    def acquire(self, key, timeout):
        if key not in self.locks:
            self.locks[key] = self.coordinator.get_lock(key.encode())
            self.watch(self.locks[key])
        lock = self.locks[key]
        self.tried, before, began = 0, self.undisturbed(), protocol.now_ns()

        def give_back(taken):
            if taken:
                lock.release()

        try:
            taken = protocol.within(timeout + 1, lambda: self.take(lock, timeout), too_late=give_back)
            if not taken and self.undisturbed() == before:
                raise protocol.Failure("busy")
            if not taken:
                raise RuntimeError("False, and a connection ended meanwhile")
        except protocol.Failure:
            raise
        except TimeoutError as e:
            del self.locks[key]  # the call goes on, with this object
            e.first = began
            raise
        except Exception as e:
            e.first = began
            raise
        self.grants[key] = lock
        return self.stamps(began)

    def release(self, key, timeout):
        if key not in self.grants:
            raise protocol.Failure("not_held")
        if not protocol.within(timeout, self.grants.pop(key).release):
            self.not_released()
        return {}

    def not_released(self):
        raise RuntimeError("release returned False")

    def close(self):
        protocol.within(2, self.coordinator.stop)


class StillOwner(Lock):
    """A driver that can be asked."""

    def held(self, key, timeout):
        if key not in self.grants or not protocol.within(timeout, self.grants[key].is_still_owner):
            raise protocol.Failure("not_held")
        return {}


class Redis(StillOwner):
    claims = {"confirms": ["held", "release"]}  # each compares the token
    errors = 0

    def url(self, hello):
        # The driver counts its retries in its log.
        notes = logging.Handler(logging.DEBUG)
        notes.emit = self.note
        logger = logging.getLogger("tooz.drivers.redis")
        logger.addHandler(notes)
        logger.setLevel(logging.DEBUG)
        return f"redis://{hello['nodes'][0]}?timeout={self.ttl}&lock_timeout={self.ttl}"

    def note(self, record):
        if "Redis connection error" in record.msg:
            self.errors += 1

    def undisturbed(self):
        return self.errors

    def watch(self, lock):
        do_acquire = lock._lock.do_acquire

        def noting(token):
            self.tried = protocol.now_ns()
            return do_acquire(token)

        lock._lock.do_acquire = noting

    def held(self, key, timeout):
        before = self.errors
        try:
            return super().held(key, timeout)
        except protocol.Failure as e:
            if self.errors != before:
                raise RuntimeError("not the owner, and a connection ended meanwhile") from e
            raise


class ZooKeeper(StillOwner):
    claims = {"confirms": ["held"], "sessions": True}  # release() swallows that the node was gone
    disturbances = 0

    def __init__(self, hello):
        super().__init__(hello)
        self.client = self.coordinator._coord
        self.client.add_listener(self.changed)

    def url(self, hello):
        first, *others = hello["nodes"]
        return f"zookeeper://{first}?" + "&".join([f"timeout={self.ttl}", *(f"hosts={node}" for node in others)])

    def changed(self, state):
        if state != "CONNECTED":
            self.disturbances += 1

    def undisturbed(self):
        return self.disturbances

    def session(self):
        number, password = self.client.client_id or (0, b"")
        return f"{number & 0xFFFFFFFFFFFFFFFF:#x}:{password.hex()}" if number else None

    def take(self, lock, timeout):
        from kazoo.exceptions import LockTimeout

        try:
            return lock.acquire(blocking=timeout)
        except LockTimeout:
            return False

    def held(self, key, timeout):
        before = self.disturbances
        try:
            return super().held(key, timeout)
        except protocol.Failure as e:  # also where no server could be reached
            if self.disturbances != before or not self.client.connected:
                raise RuntimeError("not the owner, or not connected") from e
            raise


class Etcd(Lock):
    """The driver on etcd's gateway, which knows one address."""

    claims = {"confirms": ["release"]}  # it compares the value

    def __init__(self, hello):
        super().__init__(hello)
        lease = self.coordinator.client.lease

        def noting(ttl):
            self.tried = protocol.now_ns()
            return lease(ttl)

        self.coordinator.client.lease = noting  # each try begins with a lease

    def url(self, hello):
        return f"etcd3+http://{hello['nodes'][0]}?api_version=v3&timeout={self.ttl}"

    def not_released(self):
        raise protocol.Failure("not_held")  # etcd has answered that the value is another


class Postgres(Lock):
    claims = {"no_expiry": True}

    def url(self, hello):
        return f"postgresql://lockchaos@{hello['nodes'][0]}/postgres"


class File(Lock):
    claims = {"no_expiry": True}

    def url(self, hello):
        return f"file://{hello['dir']}"


if __name__ == "__main__":
    drivers = {"redis": Redis, "zookeeper": ZooKeeper, "etcd": Etcd, "postgres": Postgres, "file": File}
    protocol.main(drivers[sys.argv[1]])
