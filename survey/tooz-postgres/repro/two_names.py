"""Two locks of different names are one: the driver keeps 16 bits of a name's hash.

    ../../with-postgres.sh python3 two_names.py
"""

import hashlib
import sys

from tooz import coordination

seen = {}
for i in range(100000):  # the first two tenants whose locks are one: it needs some 300
    name = f"tenant-{i}".encode()
    short = hashlib.md5(name, usedforsecurity=False).digest()[:2]
    if short in seen:
        break
    seen[short] = name
one, other = seen[short], name

coordinator = coordination.get_coordinator(f"postgresql://postgres@{sys.argv[1]}/postgres", b"me")
coordinator.start()
held = coordinator.get_lock(one)
assert held.acquire(blocking=False)
second = coordinator.get_lock(other)
if not second.acquire(blocking=False):
    print(f"DEFECT: the lock {other.decode()} is taken, though only {one.decode()} is;"
          f" {i} names were enough to find that.")
    sys.exit(1)
print("not shown: both locks were had")
