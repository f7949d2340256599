"""acquire() says False because of its own first request: nobody has the lock, and nobody can have it.

    ../../with-redis.sh python3 own_request.py
"""

import socket
import sys
import threading

import redis
from tooz import coordination

host, port = sys.argv[1].rsplit(":", 1)
lose = threading.Event()  # the next answer to a SET … NX is lost, and the connection with it


def pump(client):
    server = socket.create_connection((host, int(port)))
    try:
        while request := client.recv(65536):
            server.sendall(request)
            answer = server.recv(65536)
            if lose.is_set() and b"\r\nNX\r\n" in request:
                lose.clear()
                return
            client.sendall(answer)
    finally:
        client.close()
        server.close()


def accept(listener):
    while True:
        threading.Thread(target=pump, args=(listener.accept()[0],), daemon=True).start()


proxy = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=accept, args=(proxy,), daemon=True).start()
address = f"127.0.0.1:{proxy.getsockname()[1]}"
coordinator = coordination.get_coordinator(f"redis://{address}?lock_timeout=30", b"me")
coordinator.start()
lock = coordinator.get_lock(b"job")
lose.set()
acquired = lock.acquire(blocking=False)
keys = [key for key in redis.Redis(host=host, port=int(port)).keys() if key.endswith(b"_lock")]
if not acquired and keys and not lock.is_still_owner():
    print(f"DEFECT: acquire() said {acquired}: another has the lock. It is its own first request that has"
          f" {keys[0].decode()} for the next 30 s.")
    sys.exit(1)
print(f"not shown: acquire said {acquired}, and Redis has {keys}")
