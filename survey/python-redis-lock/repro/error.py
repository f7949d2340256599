"""A renewal is answered with an error once, and the lock expires under its holder. ../with-redis.sh python3 repro/error.py"""

import sys
import time

import redis
import redis_lock

port = int(sys.argv[1].rsplit(":", 1)[1])
client, admin = redis.StrictRedis(port=port), redis.Redis(port=port)

first = redis_lock.Lock(client, "k", expire=3, auto_renewal=True)
first.acquire()
admin.config_set("min-replicas-to-write", 1)  # writes are refused: NOREPLICAS
time.sleep(2.5)  # the lock is renewed after 2 s
admin.config_set("min-replicas-to-write", 0)
time.sleep(1.5)
second = redis_lock.Lock(client, "k", expire=3, auto_renewal=True)
if second.acquire(blocking=False):
    alive = first._lock_renewal_thread.is_alive()
    print(f"DEFECT: two clients have the lock. The first one was told nothing; its renewing thread is alive: {alive}")
