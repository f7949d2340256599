"""A reader and a writer that wait for each other: kazoo up to 2.8.0 (mended in 2.9.0).

    ../../with-zookeeper.sh python3 deadlock.py
"""

import sys
import threading
import time

import kazoo.version
from kazoo.client import KazooClient

clients = [KazooClient(hosts=sys.argv[1]) for _ in range(3)]
for client in clients:
    client.start()
first = clients[0].WriteLock("/job", "first writer")
reader = clients[1].ReadLock("/job", "reader")
second = clients[2].WriteLock("/job", "second writer")

first.acquire()
for i, lock in enumerate((reader, second)):
    threading.Thread(target=lock.acquire, daemon=True).start()
    while len(clients[0].get_children("/job")) < i + 2:
        time.sleep(0.01)
time.sleep(1)  # both wait: the reader for the first writer, the second writer for the reader
first.release()
time.sleep(5)
if not reader.is_acquired and not second.is_acquired:
    print(f"DEFECT: kazoo {kazoo.version.__version__}: the lock has been free for 5 s, and neither the reader nor the"
          " writer behind it is granted it: each waits for the other.")
    sys.exit(1)
print(f"not shown with kazoo {kazoo.version.__version__}: reader {reader.is_acquired}, writer {second.is_acquired}")
