"""After its connection has ended once, a lock can't be acquired any more, and acquire() does not return.

    ../../with-postgres.sh python3 lost_connection.py
"""

import sys
import threading

import psycopg2
from tooz import coordination

host, port = sys.argv[1].rsplit(":", 1)
coordinator = coordination.get_coordinator(f"postgresql://postgres@{sys.argv[1]}/postgres", b"me")
coordinator.start()
lock = coordinator.get_lock(b"job")

lock.acquire()
admin = psycopg2.connect(host=host, port=port, user="postgres", dbname="postgres")
admin.autocommit = True
with admin.cursor() as cursor:  # as a restart or a failover does
    cursor.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
try:
    released = lock.release()
except Exception as e:
    released = f"{type(e).__name__}: {e}".splitlines()[0]

again = threading.Thread(target=lock.acquire, daemon=True)  # the next round of the same work
again.start()
again.join(10)
with admin.cursor() as cursor:
    cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
    holders = cursor.fetchone()[0]
if again.is_alive() and holders == 0:
    print(f"DEFECT: release() said {released!r}; since then acquire() has not returned for 10 s, though nobody holds"
          " the lock.")
    sys.exit(1)
print(f"not shown: release() said {released!r}, and acquire() returned, with {holders} holders")
