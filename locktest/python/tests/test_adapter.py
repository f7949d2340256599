"""The adapter of test files, asked as lockchaos asks it: python -m unittest, with no library."""

import asyncio
import contextlib
import io
import json
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
import lockchaos  # noqa: E402
from lockchaos import _adapter  # noqa: E402

HELLO = {"id": 1, "op": "hello", "ttl_ms": 500, "client": "c1", "service": "none", "nodes": ["h:1"], "timeout_ms": 1000}


def asked(decorator, function, *requests):
    """The replies and events to a hello and to these requests."""
    decorator(function)
    lines = [{**HELLO}] + [{"id": i + 2, "timeout_ms": 100, "key": "k0", **r} for i, r in enumerate(requests)]
    said = []
    with contextlib.redirect_stderr(io.StringIO()):
        _adapter.serve(function.__lockchaos__, [json.dumps(line) for line in lines], said.append)
    return said


class Lock:
    """One whose answers are given."""

    def __init__(self, **answers):
        self.answers, self.log = answers, []

    def _answer(self, op, *arguments):
        self.log.append((op, *arguments))
        answer = self.answers.get(op)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def acquire(self, key, timeout):
        return self._answer("acquire", key, timeout)

    def release(self, key):
        return self._answer("release", key)


class Renewed(Lock):
    def renew(self, key):
        return self._answer("renew", key)

    def held(self, key):
        return self._answer("held", key)


ACQUIRE, RELEASE = {"op": "acquire"}, {"op": "release", "grant": 2}


class Answers(unittest.TestCase):
    def answer(self, lock, request, **options):
        return asked(lockchaos.exam(service="none", **options), lambda nodes, ttl: lock, request)[1]

    def test_success(self):
        for result in (None, True, 7, "a lock"):
            self.assertEqual(self.answer(Lock(acquire=result), ACQUIRE), {"id": 2, "ok": True})

    def test_false_leaves_open_unless_it_is_said_to_be_busy(self):
        self.assertEqual(self.answer(Lock(acquire=False), ACQUIRE)["error"], "unknown")
        self.assertEqual(self.answer(Lock(acquire=False), ACQUIRE, busy=False)["error"], "busy")

    def test_what_the_adapter_raises_is_no_exception_of_the_lock(self):
        self.assertEqual(self.answer(Lock(acquire=False), ACQUIRE, busy=Exception)["error"], "unknown")
        lock = Lock()
        lock.acquire = lambda timeout: time.sleep(60)
        self.assertEqual(self.answer(lock, ACQUIRE, busy=Exception)["error"], "unknown")

    def test_errors_leave_open_unless_they_are_named(self):
        self.assertEqual(self.answer(Lock(acquire=KeyError()), ACQUIRE)["error"], "unknown")
        self.assertEqual(self.answer(Lock(acquire=KeyError()), ACQUIRE, busy=(False, LookupError))["error"], "busy")
        self.assertEqual(self.answer(Lock(acquire=lockchaos.Busy()), ACQUIRE)["error"], "busy")
        self.assertEqual(self.answer(Lock(release=KeyError()), RELEASE)["error"], "unknown")
        self.assertEqual(self.answer(Lock(release=KeyError()), RELEASE, not_held=KeyError)["error"], "not_held")
        self.assertEqual(self.answer(Lock(release=lockchaos.NotHeld()), RELEASE)["error"], "not_held")
        self.assertEqual(self.answer(Lock(release=False), RELEASE)["error"], "not_held")

    def test_an_error_of_acquire_is_never_not_held(self):
        self.assertEqual(self.answer(Lock(acquire=lockchaos.NotHeld()), ACQUIRE)["error"], "unknown")
        self.assertEqual(self.answer(Lock(release=lockchaos.Busy()), RELEASE)["error"], "unknown")

    def test_tokens(self):
        self.assertEqual(self.answer(Lock(acquire=34), ACQUIRE, token="fencing")["token"], 34)
        lock = Lock(acquire=True)
        lock.token = lambda: 35
        self.assertEqual(self.answer(lock, ACQUIRE, token="fencing")["token"], 35)
        self.assertEqual(self.answer(Lock(acquire={"token": 36, "attempt_ns": 5}), ACQUIRE, token="fencing"),
                         {"id": 2, "ok": True, "token": 36, "attempt_ns": 5})  # fmt: skip

    def test_validity_of_the_library(self):
        lock = Lock(acquire=True)
        lock.valid_for = 0.4
        self.assertEqual(self.answer(lock, ACQUIRE, validity="library")["valid_for_ms"], 400)

    def test_the_time_limit_is_kept_and_a_late_grant_given_back(self):
        lock = Lock()

        async def acquire(key, timeout):
            await asyncio.sleep(timeout + _adapter.GRACE + 0.1)

        lock.acquire = acquire
        self.assertEqual(self.answer(lock, ACQUIRE)["error"], "unknown")
        self.assertEqual(lock.log, [])
        deadline = time.monotonic() + 10
        while not lock.log and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(lock.log, [("release", "k0")])

    def test_a_call_that_blocks_does_not_block_the_next(self):
        lock = Lock()
        lock.acquire = lambda timeout: time.sleep(60)
        said = asked(lockchaos.exam(service="none"), lambda: lock, ACQUIRE, RELEASE)
        self.assertEqual([r["ok"] for r in said], [True, False, True])


class Declarations(unittest.TestCase):
    def hello(self, function, **options):
        return asked(lockchaos.exam(service="none", **options), function)[0]

    def test_claims_and_abilities(self):
        said = self.hello(lambda: Renewed(), validity="session", confirms=["renew"], name="mine 2")
        self.assertEqual(said, {"id": 1, "ok": True, "name": "mine 2", "validity": "session", "confirms": ["renew"], "can": ["held"]})
        self.assertNotIn("can", self.hello(lambda: Lock()))

    def test_no_lock(self):
        with self.assertRaisesRegex(TypeError, "returned int, which has no acquire"):
            self.hello(lambda: 5)

    def test_a_parameter_that_there_is_not(self):
        with self.assertRaisesRegex(TypeError, "needs 'host', which lockchaos does not give: it gives nodes, ttl"):
            self.hello(lambda host: Lock())

    def test_a_claim_that_there_is_not(self):
        with self.assertRaisesRegex(TypeError, "no claim 'validty'; did you mean validity"):
            lockchaos.exam(service="none", validty="session")


class Managers(unittest.TestCase):
    def test_context_managers_are_made_anew_for_each_acquire(self):
        log = []

        @contextlib.contextmanager
        def lock(key):
            log.append(f"enter {key}")
            yield 7
            log.append(f"leave {key}")

        said = asked(lockchaos.exam(service="none", token="fencing"), lock, ACQUIRE, RELEASE, ACQUIRE, RELEASE)
        self.assertEqual(log, ["enter k0", "leave k0"] * 2)
        self.assertEqual([r.get("token") for r in said[1:]], [7, None, 7, None])

    def test_asynchronous(self):
        log = []

        @contextlib.asynccontextmanager
        async def lock(key):
            await asyncio.sleep(0)
            log.append(asyncio.get_running_loop())
            yield
            log.append(asyncio.get_running_loop())

        said = asked(lockchaos.exam(service="none"), lock, ACQUIRE, RELEASE)
        self.assertEqual([r["ok"] for r in said], [True] * 3, said)
        self.assertIs(log[0], log[1])

    def test_a_loss_is_told(self):
        def lock(key, lost):
            lost(key, "the session ended")
            return Lock()

        self.assertEqual(asked(lockchaos.exam(service="none"), lock)[0], {"event": "lost", "key": "k0", "why": "the session ended"})


if __name__ == "__main__":
    unittest.main()
