"""The protocol of lockchaos adapters (docs/protocol.md), for the examples beside this file.

A class with the methods declare, acquire, release, close, and held and renew if it can, is all that a lock needs. What they return are members
of the reply, such as "token" of an acquire. An exception that leaves an acquire open may say as its attribute `first` when the first request was
sent that may have taken the key.
"""

import json
import queue
import sys
import threading
import time

# The clock that all processes of the machine share.
now_ns = time.monotonic_ns


class Failure(Exception):
    """A failure that is definite: "busy", "not_held" or "unsupported". Any other exception leaves open what happened."""


class Lock:
    """What a lock has at least."""

    def close(self):
        pass

    def session(self):
        """What the service knows the present session by, of a lock that declares sessions; None while there is none."""
        return None

    # The mode of the acquire that is under way, of a lock that declares "read_write": "read" or "write".
    mode = None

    # Set when the application gives up the acquire that is under way, or that is about to be.
    given_up = threading.Event()

    def cancel(self):
        """Ends the acquire that is under way: called on another thread, if the lock declares "can": ["cancel"]."""


def also_from_debian():
    """Lets Debian's packages (python3-redis, python3-kazoo) be found by a Python that is not Debian's, after its own."""
    sys.path.append("/usr/lib/python3/dist-packages")


_printing = threading.Lock()


def send(message):
    """Prints one line. Any thread may."""
    with _printing:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def lost(key, why):
    """Tells that the present grant of the key is lost."""
    send({"event": "lost", "key": key, "why": why})


def within(timeout, call, too_late=lambda result: None):
    """Makes a library's call keep a time limit (s) that it does not keep itself. One that goes on is left behind; what it returns is given to too_late."""
    done, result, mutex = threading.Event(), [], threading.Lock()
    abandoned = False

    def run():
        try:
            returned, error = call(), None
        except BaseException as e:
            returned, error = None, e
        with mutex:
            result.append((returned, error))
            done.set()
            late = abandoned
        if late and error is None:
            too_late(returned)

    threading.Thread(target=run, daemon=True).start()
    done.wait(timeout)
    with mutex:
        if not result:
            abandoned = True
            raise TimeoutError("no answer within the time limit")
    returned, error = result[0]
    if error is not None:
        raise error
    return returned


def _answer(lock, request):
    if request["op"] == "close":
        lock.close()
        return {}
    method = getattr(lock, request["op"], None) if request["op"] in ("acquire", "held", "renew", "release") else None
    if method is None:
        raise Failure("unsupported")
    if request["op"] == "acquire":
        lock.mode = request.get("mode")
    return method(request["key"], request["timeout_ms"] / 1000)


def _session(lock, op):
    """The members of a reply that tell the session, also of an acquire that failed: a client that waits can lose its session, too."""
    told = lock.session() if lock is not None and op in ("hello", "acquire") else None
    return {"session": told} if told else {}


def _failed(lock, op, e):
    """The members of a reply that tell a failure."""
    if isinstance(e, Failure):
        told = {"ok": False, "error": str(e)}
    else:  # whatever it was: it may have happened, or not
        print(f"{op}: {e!r}", file=sys.stderr)
        told = {"ok": False, "error": "unknown", "text": repr(e)}
    if op == "acquire":
        if getattr(e, "first", None):
            told["first_ns"] = e.first
        told.update(_session(lock, op))
    return told


def main(make):
    """Answers requests until there are no more. make(hello) makes the lock."""
    lock, requests = None, queue.Queue()

    def read():
        for line in sys.stdin:
            request = json.loads(line)
            if request["op"] == "cancel":
                lock.given_up.set()
                lock.cancel()
                continue
            if request["op"] == "acquire":
                lock.given_up.clear()
            requests.put(request)
        requests.put(None)

    threading.Thread(target=read, daemon=True).start()
    while (request := requests.get()) is not None:
        try:
            if request["op"] == "hello":
                lock = make(request)
                reply = lock.declare()
            else:
                reply = _answer(lock, request)
            reply = {"ok": True, **_session(lock, request["op"]), **reply}
        except Exception as e:
            reply = _failed(lock, request["op"], e)
        send({"id": request["id"], **reply})
