"""The Lock of redis-py, examined: pip install redis pytest-lockchaos, then pytest.

To see it fall, let a class of yours release by client.delete(key), which frees the key of whoever has it.
"""

import lockchaos

try:
    import redis
except ModuleNotFoundError:  # pytest.importorskip would have each client import pytest, too
    import unittest

    raise unittest.SkipTest("pip install redis: its Lock is what this example examines") from None


@lockchaos.exam(
    service="redis",
    validity="from_invocation",  # SET NX PX: the lease counts from the request
    confirms=["release", "held", "renew"],  # each compares the value that the key has
    busy=False,  # acquire returns False when the server has refused every try; what is not answered raises
    not_held=redis.exceptions.LockError,
    attacks=["nothing-work", "stop-work", "stop-release", "kill-work"],  # leave it out for all
)
def orders(nodes, ttl, key):
    host, port = nodes[0].rsplit(":", 1)
    client = redis.Redis(host, int(port), socket_timeout=1, socket_connect_timeout=1)
    return client.lock(key, timeout=ttl, sleep=0.01)
