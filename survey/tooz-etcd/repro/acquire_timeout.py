"""acquire(timeout=1) on etcd makes a lock that ends after 1 s, and waits for as long as it likes.

    ../../with-etcd.sh python3 acquire_timeout.py
"""

import sys
import threading
import time

from tooz import coordination

locks = []
for name in (b"A", b"B"):
    coordinator = coordination.get_coordinator(f"etcd3+http://{sys.argv[1]}?api_version=v3&lock_timeout=30", name)
    coordinator.start(start_heart=True)  # it beats every 15 s
    locks.append(coordinator.get_lock(b"job"))
a, b = locks

assert a.acquire(timeout=1)  # "Timeout to acquire a lock"
began = time.monotonic()
waiter = threading.Thread(target=lambda: b.acquire(timeout=1), daemon=True)
waiter.start()
waiter.join(10)
waited = time.monotonic() - began
if b.acquired and a.acquired:
    print("DEFECT: A holds the lock (lock_timeout 30 s, with heartbeats),"
          f" and B was granted it {waited:.1f} s later, too.")
    sys.exit(1)
print(f"not shown: A {a.acquired}, B {b.acquired}")
