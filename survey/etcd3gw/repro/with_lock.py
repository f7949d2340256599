"""Two holders of one lock: "with" enters its block though acquire() has said False.

    ../../with-etcd.sh python3 with_lock.py
"""

import sys
import threading
import time

from etcd3gw.client import Etcd3Client

host, port = sys.argv[1].rsplit(":", 1)
inside = []  # the clients that are in the block
both = []


def work(name):
    client = Etcd3Client(host=host, port=int(port), api_path="/v3/")
    with client.lock("job", ttl=30) as lock:
        inside.append(name)
        time.sleep(1)  # the work
        both.append((name, list(inside), lock.is_acquired()))


threads = [threading.Thread(target=work, args=(name,)) for name in ("A", "B")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if all(len(seen) == 2 for _, seen, _ in both):
    owners = [name for name, _, acquired in both if acquired]
    print(f"DEFECT: A and B were in the lock's block at the same time; is_acquired() was true for {owners} alone.")
    sys.exit(1)
print(f"not shown: {both}")
