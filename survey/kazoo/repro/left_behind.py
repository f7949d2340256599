"""An acquire that gives up while the connection is lost leaves its znode in the queue: nobody gets the lock while that client lives.

    ../../with-zookeeper.sh python3 left_behind.py

The second client's connection goes through a relay. It falls silent for some seconds, and what was sent meanwhile is lost.
"""

import socket
import sys
import threading
import time

sys.path.append("/usr/lib/python3/dist-packages")
import kazoo.version  # noqa: E402
from kazoo.client import KazooClient  # noqa: E402
from kazoo.exceptions import LockTimeout  # noqa: E402

server = sys.argv[1].split(":")
silent = threading.Event()


def pump(source, to):
    while (data := source.recv(65536)) and not silent.is_set():
        to.sendall(data)
    while silent.is_set():
        time.sleep(0.01)
    for s in (source, to):
        s.shutdown(socket.SHUT_RDWR)


def relay():
    while True:
        near, far = listener.accept()[0], socket.create_connection(server)
        for pair in ((near, far), (far, near)):
            threading.Thread(target=pump, args=pair, daemon=True).start()


threading.excepthook = lambda args: None  # a relay whose peer is gone
listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=relay, daemon=True).start()
first, third = KazooClient(sys.argv[1]), KazooClient(sys.argv[1])
second = KazooClient("127.0.0.1:%d" % listener.getsockname()[1], timeout=12)
for client in (first, second, third):
    client.start()
session = second.client_id

held = first.Lock("/job")
held.acquire()


def disturb():
    while len(first.get_children("/job")) < 2:
        time.sleep(0.01)
    time.sleep(1)  # the second waits in the queue now
    silent.set()
    time.sleep(3)  # it gives up in the middle of this
    silent.clear()


threading.Thread(target=disturb).start()
try:
    second.Lock("/job", "second").acquire(timeout=2)
except LockTimeout as e:
    print("the second client:", e)
while silent.is_set() or not second.connected:
    time.sleep(0.1)
held.release()

version = kazoo.version.__version__
try:
    third.Lock("/job").acquire(timeout=20)
except LockTimeout:
    alive = "lives on in its session" if second.client_id == session else "has a new session"
    print(f"DEFECT: kazoo {version}: the lock has been free for 20 s, and nobody gets it. In the queue: {third.Lock('/job').contenders()}, who gave up, and {alive}.")
    sys.exit(1)
print(f"not shown with kazoo {version}")
