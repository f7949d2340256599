"""Two holders: the answer that only one is subscribed comes 2 s late, and is out of date by then. portalocker 4.1.0.

    ../../with-redis.sh python3 late_count.py
"""

import socket
import sys
import threading
import time

import portalocker
import redis

host, port = sys.argv[1].rsplit(":", 1)
delay = threading.Event()  # the next answer to PUBSUB NUMSUB is late


def pump(client):
    server = socket.create_connection((host, int(port)))

    def requests():
        while request := client.recv(65536):
            asked.append(request)
            server.sendall(request)

    asked = []
    threading.Thread(target=requests, daemon=True).start()
    while answer := server.recv(65536):
        if delay.is_set() and b"NUMSUB" in asked[-1].upper():
            delay.clear()
            time.sleep(2)  # on this connection alone: a lost packet, sent again
        client.sendall(answer)


def accept(listener):
    while True:
        threading.Thread(target=pump, args=(listener.accept()[0],), daemon=True).start()


def lock(at_port):
    connection = redis.Redis(host=host, port=at_port, decode_responses=True)
    return portalocker.RedisLock("job", connection=connection, timeout=5)


proxy = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=accept, args=(proxy,), daemon=True).start()
a, b = lock(proxy.getsockname()[1]), lock(int(port))
while b.holder_id > a.holder_id:  # random: it is so every other time
    b = lock(int(port))

got = {}


def acquire(name, which):
    try:
        which.acquire()
        got[name] = time.monotonic()
    except portalocker.exceptions.BaseLockException:
        pass


delay.set()
first = threading.Thread(target=acquire, args=("A", a))
first.start()
time.sleep(0.5)
acquire("B", b)
first.join()
if len(got) == 2:
    print(f"DEFECT: A and B hold the lock: A says {a.mode.value}, B says {b.mode.value}.")
    a.release()
    b.release()
    sys.exit(1)
print(f"not shown: {sorted(got)} hold the lock")
a.release()
b.release()
