"""The Lock of redis-py (https://redis.readthedocs.io/en/stable/lock.html), as an adapter for lockchaos.

    lockchaos adapter test "python3 examples/python/redispy_lock.py" --service redis
    lockchaos run quick --lock-cmd "python3 examples/python/redispy_lock.py" --service redis

Needs redis-py: Debian's python3-redis, or pip install redis. docs/locks/redispy.md tells what was found.
"""

import protocol

protocol.also_from_debian()
import redis  # noqa: E402
import redis.cluster  # noqa: E402
import redis.lock  # noqa: E402
from redis.exceptions import LockError  # noqa: E402


class Stamped(redis.lock.Lock):
    """Notes when the last try began; what is tried, and how often, is the library's own."""

    began = 0

    def do_acquire(self, token):
        self.began = protocol.now_ns()
        return super().do_acquire(token)


class Lock(protocol.Lock):
    def __init__(self, hello):
        self.ttl = hello["ttl_ms"] / 1000
        url = hello.get("urls", ["redis://" + hello["nodes"][0]])[0]  # with user, password and database
        tls = {name: file for name, file in hello.get("tls", {}).items() if file}
        files = {"cacert": "ssl_ca_certs", "cert": "ssl_certfile", "key": "ssl_keyfile"}
        secure = {files[name]: file for name, file in tls.items()}
        # Several nodes are those of a Redis Cluster, which redirects.
        client = redis.cluster.RedisCluster if len(hello["nodes"]) > 1 else redis.Redis
        # Without socket timeouts a call hangs for as long as the network does. Retries are as the library has them.
        self.client = client.from_url(url, socket_timeout=1, socket_connect_timeout=1, **secure)
        self.locks = {}

    def declare(self):
        return {
            "name": f"redis-py Lock {redis.__version__}",
            "validity": "from_invocation",  # SET NX PX, with the timeout
            "token": "none",
            "confirms": ["release", "held", "renew"],  # each compares the token in a script, or reads it
        }

    def acquire(self, key, timeout):
        # It waits for `sleep` between two tries, and gives up when it would sleep past blocking_timeout.
        lock = self.client.lock(key, timeout=self.ttl, sleep=0.01, blocking_timeout=timeout, thread_local=False, lock_class=Stamped)
        if not lock.acquire():  # a try that was not answered raises, and leaves open whether the key is taken
            raise protocol.Failure("busy")
        self.locks[key] = lock
        return {"attempt_ns": lock.began, "first_ns": lock.began}  # the server has refused every try before

    def held(self, key, timeout):
        if key not in self.locks or not self.locks[key].owned():
            raise protocol.Failure("not_held")
        return {}

    def renew(self, key, timeout):
        try:
            began = protocol.now_ns()
            self.locks[key].reacquire()  # PEXPIRE with the TTL, if the token is still there
        except (LockError, KeyError) as e:
            raise protocol.Failure("not_held") from e
        return {"attempt_ns": began}

    def release(self, key, timeout):
        try:
            self.locks.pop(key).release()
        except (LockError, KeyError) as e:
            raise protocol.Failure("not_held") from e
        return {}

    def close(self):
        self.client.close()


if __name__ == "__main__":
    protocol.main(Lock)
