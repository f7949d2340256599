"""Runs a lock of a test file for lockchaos: the protocol of adapters (docs/protocol.md) on the standard streams.

    python -m lockchaos._adapter FILE MODULE FUNCTION [FOLDER…]

One process is one client. FOLDERs are where the test run looks for modules.
"""

import asyncio
import concurrent.futures
import importlib
import importlib.util
import inspect
import json
import os
import sys
import threading
import traceback

from . import Busy, NotHeld

# The methods of a lock that do an operation of the protocol, the first one that it has.
METHODS = {"acquire": ("acquire",), "release": ("release",), "renew": ("renew", "reacquire"), "held": ("held", "owned")}

# How long a call may go on after its time, so that a lock that has waited for all of it can still say what came of it.
GRACE = 1


class Open(Exception):
    """It is open what happened, whatever exceptions the lock has names for."""


class Worker:
    """A thread with an event loop, on which the lock is used. Its own tasks run there between calls."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def begin(self, call):
        """Begins a call, which may return an awaitable. The future says as its attribute `awaits` whether it did."""

        async def made():
            result = call()
            future.awaits = inspect.isawaitable(result)
            return await result if future.awaits else result

        future = concurrent.futures.Future()
        future.awaits = False

        def start():
            task = self.loop.create_task(made())
            task.add_done_callback(lambda t: _copy(t, future))

        self.loop.call_soon_threadsafe(start)
        return future


def _copy(task, future):
    if task.cancelled():
        future.set_exception(asyncio.CancelledError())
    elif task.exception() is not None:
        future.set_exception(task.exception())
    else:
        future.set_result(task.result())


def fitting(function, offered):
    """The arguments of those offered that the function takes, by their names."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # a function written in C does not always say
        return {}
    for p in parameters:
        if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name not in offered:
            raise TypeError(
                f"{getattr(function, '__qualname__', function)} needs {p.name!r}, which lockchaos does not give: "
                f"it gives {', '.join(offered)}, by name"
            )
    return {p.name: offered[p.name] for p in parameters if p.name in offered and p.kind != p.POSITIONAL_ONLY}


def _leaving(leave):
    """The release of a context manager. What its exit returns is about exceptions, and says nothing of the lock."""

    async def awaited(result):
        await result

    def release():
        result = leave(None, None, None)
        return awaited(result) if inspect.isawaitable(result) else None

    return release


class Client:
    """One client: the lock, or the locks of its keys, and what lockchaos asks of them."""

    def __init__(self, exam, hello, send):
        self.exam, self.worker, self.locks = exam, Worker(), {}
        self.offered = {
            "nodes": hello.get("nodes") or [],
            "ttl": hello["ttl_ms"] / 1000,
            "client": hello["client"],
            "dir": hello.get("dir"),
            "seed": hello.get("seed"),
            "account": hello.get("account") or {},
            "service": hello["service"],
            "lost": lambda key, why="": send({"event": "lost", "key": key, "why": str(why)}),
        }
        self.each_key = "key" in inspect.signature(exam.function).parameters
        self.lock_of("k0")  # what it can is seen before it is used

    def lock_of(self, key, fresh=False):
        """The lock of a key. A function without `key` returns one lock for all keys."""
        key = key if self.each_key else None
        if fresh or key not in self.locks:
            offered = dict(self.offered, key=key) if self.each_key else self.offered
            arguments = fitting(self.exam.function, offered)
            self.locks[key] = self._finish(self.worker.begin(lambda: self.exam.function(**arguments)), 30)
        return self.locks[key]

    def method(self, lock, op):
        """The lock's method for an operation; None: it has none."""
        for name in METHODS[op]:
            if callable(getattr(lock, name, None)):
                return getattr(lock, name)
        if hasattr(lock, "acquire"):
            return None
        if op == "acquire":
            return getattr(lock, "__aenter__", None) or getattr(lock, "__enter__", None)
        leave = getattr(lock, "__aexit__", None) or getattr(lock, "__exit__", None)
        return _leaving(leave) if op == "release" and leave else None

    def declare(self):
        """The reply to the hello: the claims, and what the lock can besides."""
        lock, claims = self.lock_of("k0"), dict(self.exam.claims)
        for op in ("acquire", "release"):
            if self.method(lock, op) is None:
                raise TypeError(
                    f"{self.exam.function.__name__} returned {type(lock).__name__}, which has no {op}: "
                    "a lock has acquire and release, or is a context manager"
                )
        claims.setdefault("name", self.exam.function.__name__)
        confirms, can = claims.get("confirms", []), list(claims.get("can", []))
        can += [op for op in ("held", "renew") if self.method(lock, op) and op not in [*confirms, *can]]
        if can:
            claims["can"] = can
        return claims

    def _finish(self, call, timeout, too_late=None):
        concurrent.futures.wait([call], timeout)
        if call.done():
            return call.result()
        if not call.awaits:
            self.worker = Worker()  # it blocks its thread; the lock is used from another one meanwhile
        if too_late:
            call.add_done_callback(too_late)
        raise Open("no answer within the time limit")

    def acquire(self, request, timeout):
        lock = self.lock_of(request["key"], fresh=self.each_key and not hasattr(self.lock_of(request["key"]), "acquire"))
        result = self._do(lock, "acquire", request, timeout, lambda call: self._give_back(lock, request, call))
        if result is False:
            if False in self.exam.busy:
                raise Busy("acquire returned False")
            raise Open("acquire returned False, which leaves open whether it took the key (busy=False says that it did not)")
        reply = dict(result) if isinstance(result, dict) else {}
        if self.exam.claims.get("token", "none") != "none" and "token" not in reply:
            reply["token"] = result if isinstance(result, int) and not isinstance(result, bool) else self._told(lock, result, "token")
        return self._validity(lock, result, reply)

    def renew(self, request, timeout):
        lock = self.lock_of(request["key"])
        result = self._confirmed(lock, "renew", request, timeout)
        return self._validity(lock, result, dict(result) if isinstance(result, dict) else {})

    def held(self, request, timeout):
        self._confirmed(self.lock_of(request["key"]), "held", request, timeout)
        return {}

    def release(self, request, timeout):
        self._confirmed(self.lock_of(request["key"]), "release", request, timeout)
        return {}

    def close(self, request, timeout):
        for lock in self.locks.values():
            close = getattr(lock, "close", None) or getattr(lock, "aclose", None)
            if callable(close):
                self._finish(self.worker.begin(lambda: close(**fitting(close, {}))), timeout)
        return {}

    def _do(self, lock, op, request, timeout, too_late=None):
        method = self.method(lock, op)
        offered = {"key": request["key"], "timeout": timeout, "grant": request.get("grant")}
        if op == "acquire":
            offered.update(blocking_timeout=timeout, mode=request.get("mode"), permits=request.get("permits"))
            offered["keys"] = request.get("keys") or [request["key"]]
        arguments = fitting(method, offered)
        return self._finish(self.worker.begin(lambda: method(**arguments)), timeout + GRACE, too_late)

    def _confirmed(self, lock, op, request, timeout):
        result = self._do(lock, op, request, timeout)
        if result is False:
            raise NotHeld(f"{op} returned False")
        return result

    def _give_back(self, lock, request, call):
        """Releases what was granted when nobody waited for it any more."""
        if call.exception() is None and call.result() is not False:
            method = self.method(lock, "release")
            self.worker.begin(lambda: method(**fitting(method, {"key": request["key"], "timeout": GRACE})))

    def _told(self, lock, result, name):
        """What the grant, or the lock, says as its attribute or by its method."""
        value = getattr(result, name, None)
        value = getattr(lock, name, None) if value is None else value
        return value() if callable(value) else value

    def _validity(self, lock, result, reply):
        if self.exam.claims.get("validity") == "library" and "valid_for_ms" not in reply:
            reply["valid_for_ms"] = self._told(lock, result, "valid_for") * 1000
        return reply


def failed(op, error, exam):
    """The members of a reply that tell a failure. What is not known to be definite is open."""
    known = not isinstance(error, Open)
    if known and op == "acquire" and isinstance(error, (Busy, *_exceptions(exam.busy))):
        return {"ok": False, "error": "busy"}
    if known and op in ("release", "renew", "held") and isinstance(error, (NotHeld, *_exceptions(exam.not_held))):
        return {"ok": False, "error": "not_held"}
    print(f"{op}: {error!r}", file=sys.stderr)
    return {"ok": False, "error": "unknown", "text": repr(error)}


def _exceptions(values):
    return tuple(v for v in values if isinstance(v, type))


def load(file, name, function, folders):
    """The exam of a test file, imported as the test run has imported it."""
    sys.path[:0] = folders
    spec = None
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        pass
    if spec is not None and spec.origin and os.path.samefile(spec.origin, file):
        module = importlib.import_module(name)
    else:
        spec = importlib.util.spec_from_file_location(name, file)
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return getattr(module, function).__lockchaos__


def serve(exam, requests, send):
    """Answers requests until there are no more."""
    client = None
    for line in requests:
        request = json.loads(line)
        op, reply = request["op"], {"ok": True}
        if op == "hello":
            client = Client(exam, request, send)  # what goes wrong here ends the adapter, with its traceback
            reply.update(client.declare())
        else:
            try:
                reply.update(getattr(client, op)(request, request["timeout_ms"] / 1000))
            except BaseException as error:
                reply = failed(op, error, exam)
        send({"id": request["id"], **reply})


def main():
    file, name, function, *folders = sys.argv[1:]
    # What the test file prints is for people: the protocol has the standard output for itself.
    protocol = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    printing = threading.Lock()

    def send(message):
        with printing:
            protocol.write(json.dumps(message) + "\n")
            protocol.flush()

    try:
        serve(load(file, name, function, folders), sys.stdin, send)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)  # threads of the lock do not keep a client alive


if __name__ == "__main__":
    main()
