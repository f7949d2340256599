"""The Lock of kazoo (https://kazoo.readthedocs.io/en/latest/api/recipe/lock.html) on ZooKeeper, as an adapter for lockchaos.

    lockchaos adapter test "python3 examples/python/kazoo_lock.py" --service zookeeper
    lockchaos run quick --lock-cmd "python3 examples/python/kazoo_lock.py" --service zookeeper

Needs kazoo: Debian's python3-kazoo, or pip install kazoo. docs/locks/kazoo.md tells what was found.
"""

import protocol

protocol.also_from_debian()
import kazoo.client  # noqa: E402
import kazoo.recipe.lock  # noqa: E402
import kazoo.version  # noqa: E402
from kazoo.exceptions import CancelledError, LockTimeout  # noqa: E402
from kazoo.protocol.states import KazooState  # noqa: E402


class Watched:
    """What notes of a lock of the library whether another stood before it in the queue."""

    waited = False

    def _get_predecessor(self, node):
        predecessor = super()._get_predecessor(node)
        self.waited = self.waited or predecessor is not None
        return predecessor


class WatchedLock(Watched, kazoo.recipe.lock.Lock):
    pass


class Lock(protocol.Lock):
    def __init__(self, hello):
        self.client = kazoo.client.KazooClient(hosts=",".join(hello["nodes"]), timeout=hello["ttl_ms"] / 1000)
        self.name = hello["client"]
        self.locks = {}
        self.waiting = None  # the lock that an acquire is about
        self.disturbances = 0  # how often the connection was not what it should be
        self.client.add_listener(self.changed)
        self.client.start(timeout=30)

    def changed(self, state):
        # kazoo's documentation: when the connection is suspended, an application that relies on a lock must stop. Whether
        # the session outlived it is known only when a server is reached again.
        if state != KazooState.CONNECTED:
            self.disturbances += 1
            for key in list(self.locks):
                protocol.lost(key, f"the connection is {state}")

    def declare(self):
        return {
            "name": f"kazoo Lock {kazoo.version.__version__}",
            "validity": "session",
            # The transaction that made the lock's node: ZooKeeper grants in the order of the nodes, so it rises.
            "token": "fencing",
            # Nothing confirms: release() swallows that the node was gone.
            "confirms": [],
            "can": ["cancel"],
            "sessions": True,
        }

    def session(self):
        """What ZooKeeper knows the present session by."""
        number, password = self.client.client_id or (0, b"")
        return f"{number & 0xFFFFFFFFFFFFFFFF:#x}:{password.hex()}" if number else None

    def make(self, key):
        """The library's lock of a key, for one acquire."""
        return WatchedLock(self.client, f"/lockchaos/{key}", self.name)

    def acquire(self, key, timeout):
        lock = self.make(key)
        began, before = protocol.now_ns(), self.disturbances

        def take():
            # False and LockTimeout say "busy" and "no server answered" alike.
            if self.given_up.is_set():
                raise CancelledError()
            return lock.acquire(timeout=timeout)

        def give_back(taken):
            if taken:
                lock.release()

        self.waiting = lock
        try:
            # When its time is over it gives its place in the queue back first, which takes requests of its own.
            taken = protocol.within(timeout + 2.5, take, too_late=give_back)
        except LockTimeout:
            taken = False
        except CancelledError:
            if not lock.waited:
                raise  # nobody has said yet that it is busy
            taken = False
        except TimeoutError:
            lock.cancel()
            raise
        finally:
            self.waiting = None
        if not taken and self.disturbances == before:
            raise protocol.Failure("busy")
        if not taken:
            raise TimeoutError("the connection was suspended meanwhile")
        self.locks[key] = lock
        try:
            stat = protocol.within(1, lambda: self.client.exists(f"{lock.path}/{lock.node}"))
            # The library took no note of what happened to the connection within the acquire. A node of the present session is
            # ours; a session that died meanwhile has taken its node along, which a server that lags behind may still show.
            if stat is None or stat.owner_session_id != (self.client.client_id or (0,))[0]:
                raise RuntimeError("the lock's node is gone, or of an older session: the session has ended since")
        except Exception:
            self.release(key, 1)
            raise
        return {"token": stat.czxid, "first_ns": began}

    def cancel(self):
        lock = self.waiting
        if lock is not None:
            lock.cancel()  # its acquire gives its place in the queue back, and raises

    def release(self, key, timeout):
        # It retries until a server answers, however long that takes.
        protocol.within(timeout, self.locks.pop(key).release)
        return {}

    def close(self):
        protocol.within(10, self.client.stop)
        self.client.close()


if __name__ == "__main__":
    protocol.main(Lock)
