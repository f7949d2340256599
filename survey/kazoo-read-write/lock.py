"""Three more recipes of kazoo (https://kazoo.readthedocs.io/en/latest/api/recipe/lock.html) on ZooKeeper.

    lock.py read-write | semaphore | election
"""

import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/python"))
import kazoo_lock  # noqa: E402
import protocol  # noqa: E402

import kazoo.recipe.election  # noqa: E402
import kazoo.recipe.lock  # noqa: E402
import kazoo.version  # noqa: E402
from kazoo.exceptions import LockTimeout  # noqa: E402

PERMITS = 2  # of the semaphore


class ReadLock(kazoo_lock.Watched, kazoo.recipe.lock.ReadLock):
    pass


class WriteLock(kazoo_lock.Watched, kazoo.recipe.lock.WriteLock):
    pass


class ReadWrite(kazoo_lock.Lock):
    """ReadLock and WriteLock on the same path."""

    def declare(self):
        return {
            **super().declare(),
            "name": f"kazoo ReadLock and WriteLock {kazoo.version.__version__}",
            # Nodes of readers and writers stand in one queue: who is later has the greater number.
            "read_write": True,
        }

    def make(self, key):
        kind = ReadLock if self.mode == "read" else WriteLock
        return kind(self.client, f"/lockchaos/{key}", self.name)


class Semaphore(kazoo_lock.Lock):
    """Semaphore, a node for each lease."""

    def declare(self):
        return {
            "name": f"kazoo Semaphore {kazoo.version.__version__}",
            "validity": "session",
            "token": "none",
            "permits": PERMITS,
            # cancel() does not wake one that waits for the semaphore's own lock.
            "can": [],
            "sessions": True,
        }

    def acquire(self, key, timeout):
        semaphore = self.client.Semaphore(f"/lockchaos/{key}", self.name, max_leases=PERMITS)
        began, before = protocol.now_ns(), self.disturbances

        def give_back(taken):
            if taken:
                semaphore.release()

        try:
            taken = protocol.within(timeout + 2.5, lambda: semaphore.acquire(timeout=timeout), too_late=give_back)
        except LockTimeout:
            taken = False
        except TimeoutError:
            semaphore.cancel()
            raise
        if not taken and self.disturbances == before:
            raise protocol.Failure("busy")
        if not taken:
            raise TimeoutError("the connection was suspended meanwhile")
        self.locks[key] = semaphore
        try:
            stat = protocol.within(1, lambda: self.client.exists(semaphore.create_path))
            # As with the library's Lock: a lease of the present session is ours.
            if stat is None or stat.owner_session_id != (self.client.client_id or (0,))[0]:
                raise RuntimeError("the lease's node is gone, or of an older session: the session has ended since")
        except Exception:
            self.release(key, 1)
            raise
        return {"first_ns": began}


class Term:
    """One candidacy. Its leader function returns when the leader resigns."""

    def __init__(self, election):
        self.election = election
        self.decided, self.resigns = threading.Event(), threading.Event()
        self.elected, self.error = False, None
        self.mutex = threading.Lock()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        try:
            self.election.run(self.lead)
        except Exception as e:
            self.error = e
        self.decided.set()

    def lead(self):
        with self.mutex:
            if self.resigns.is_set():
                return
            self.elected = True
        self.decided.set()
        self.resigns.wait()

    def give_up(self):
        """Ends the candidacy, unless it has won."""
        with self.mutex:
            if self.elected:
                return
            self.resigns.set()
        self.election.cancel()
        self.decided.set()


class Election(kazoo_lock.Lock):
    """Election: who leads holds the key."""

    def declare(self):
        return {**super().declare(), "name": f"kazoo Election {kazoo.version.__version__}"}

    def acquire(self, key, timeout):
        election = self.client.Election(f"/lockchaos/{key}", self.name)
        election.lock = self.make(key)  # the same, but it notes whether it has waited
        term = Term(election)
        began, before = protocol.now_ns(), self.disturbances
        self.waiting = term
        term.thread.start()
        if self.given_up.is_set():
            term.give_up()
        term.decided.wait(timeout)
        self.waiting = None
        term.give_up()
        if not term.elected:
            term.thread.join(2.5)  # its place in the queue is given back
            ended = not term.thread.is_alive() and term.error is None
            if ended and election.lock.waited and self.disturbances == before:
                raise protocol.Failure("busy")
            raise term.error or TimeoutError("not elected, and not told that another leads")
        self.locks[key] = term
        try:
            node = f"{election.lock.path}/{election.lock.node}"
            stat = protocol.within(1, lambda: self.client.exists(node))
            if stat is None or stat.owner_session_id != (self.client.client_id or (0,))[0]:
                raise RuntimeError("the leader's node is gone, or of an older session: the session has ended since")
        except Exception:
            self.release(key, 1)
            raise
        return {"token": stat.czxid, "first_ns": began}

    def cancel(self):
        term = self.waiting
        if term is not None:
            term.give_up()

    def release(self, key, timeout):
        term = self.locks.pop(key)
        term.resigns.set()
        term.thread.join(timeout)
        if term.thread.is_alive():
            raise TimeoutError("the leader function has returned, and the leadership is not given back yet")
        if term.error is not None:
            raise term.error
        return {}


if __name__ == "__main__":
    protocol.main({"read-write": ReadWrite, "semaphore": Semaphore, "election": Election}[sys.argv[1]])
