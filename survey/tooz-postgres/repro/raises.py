"""acquire(blocking=1) of a lock that another has raises, where its documentation says False.

    ../../with-postgres.sh python3 raises.py
"""

import sys

from tooz import coordination

coordinator = coordination.get_coordinator(f"postgresql://postgres@{sys.argv[1]}/postgres", b"me")
coordinator.start()
held = coordinator.get_lock(b"job")
held.acquire()
try:
    said = coordinator.get_lock(b"job").acquire(blocking=1.5)
except Exception as e:
    print(f"DEFECT: acquire(blocking=1.5) of a lock that another has raised {e!r}.")
    sys.exit(1)
print(f"not shown: acquire said {said}")
