"""python-redis-lock with auto_renewal, as its README shows it: redis_lock.Lock(conn, name="my-lock", expire=60, auto_renewal=True)."""

import os
import sys
from importlib.metadata import version

import redis
import redis_lock

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/python"))
import protocol  # noqa: E402
from protocol import Failure, now_ns, within  # noqa: E402


class Watched(redis.Connection):
    """Counts the SETs that were sent: redis-py may send one again. Its retries are as the library has them."""
    sets = 0
    sent = first = None

    def send_packed_command(self, command, check_health=True):
        if b"SET\r\n$" in b"".join(command if isinstance(command, (list, tuple)) else [command]):
            Watched.sets += 1
            Watched.sent = now_ns()
            Watched.first = Watched.first or Watched.sent
        return super().send_packed_command(command, check_health)


class Answers(redis.StrictRedis):
    def set(self, *args, **kw):
        Watched.sets = 0
        got = super().set(*args, **kw)
        if not got and Watched.sets == 1:
            Watched.first = None  # the server has refused it
        return got


class Lock(protocol.Lock):
    def __init__(self, hello):
        host, port = hello["nodes"][0].rsplit(":", 1)
        self.conn = Answers(connection_pool=redis.ConnectionPool(connection_class=Watched, host=host, port=int(port)))
        self.expire = hello["ttl_ms"] // 1000
        self.taken = {}

    def declare(self):
        # "automatically keep resetting the expire time while your application code is executing"
        return {"name": "python-redis-lock " + version("python-redis-lock"), "validity": "session", "token": "none",
                "confirms": ["release"]}

    def acquire(self, key, timeout):
        lock = redis_lock.Lock(self.conn, key, expire=self.expire, auto_renewal=True)
        Watched.first = None
        # It takes whole seconds, and none of them means for ever.
        how = {"blocking": False} if timeout < 2 else {"timeout": int(timeout - 0.5)}
        try:
            got = within(timeout, lambda: lock.acquire(**how), lambda late: late and lock.release())
        except Exception as e:
            e.first = Watched.first
            raise
        if not got and Watched.first:
            raise TimeoutError("the SET was sent again, and refused: by the first one, perhaps")
        if not got:
            raise Failure("busy")
        self.taken[key] = lock
        return {"attempt_ns": Watched.sent, "first_ns": Watched.first}

    def release(self, key, timeout):
        try:
            within(timeout, self.taken[key].release)
        except redis_lock.NotAcquired:
            raise Failure("not_held")
        return {}


protocol.main(Lock)
