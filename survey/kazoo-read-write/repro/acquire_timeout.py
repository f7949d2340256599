"""acquire(timeout=2) that takes many seconds: each time that the one before it in the queue goes, the time begins anew.

    ../../with-zookeeper.sh python3 acquire_timeout.py
"""

import sys
import threading
import time

import kazoo.version
from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout

clients = [KazooClient(hosts=sys.argv[1]) for _ in range(5)]
for client in clients:
    client.start()
clients[0].Lock("/job").acquire()  # held all the while


def wait_for(client, seconds):
    try:
        client.Lock("/job").acquire(timeout=seconds)
    except LockTimeout:
        pass


def queue():
    return len(clients[0].get_children("/job"))


for i, client in enumerate(clients[1:4]):  # three waiters before ours, which give up, the last one first
    threading.Thread(target=wait_for, args=(client, 4.5 - 1.5 * i), daemon=True).start()
    while queue() < i + 2:
        time.sleep(0.01)
began = time.monotonic()
wait_for(clients[4], 2)
took = time.monotonic() - began
if took > 3:
    print(f"DEFECT: kazoo {kazoo.version.__version__}: acquire(timeout=2) raised LockTimeout after {took:.1f} s.")
    sys.exit(1)
print(f"not shown with kazoo {kazoo.version.__version__}: acquire(timeout=2) took {took:.1f} s")
