"""A scheduler on Redis, as an adapter of kind job for lockchaos. It is one instance of it.

    lockchaos run examples/jobs/cron.yaml

Each instance claims a tick by SET NX PX, with a key for the tick. lockchaos does the work of the job
between the events run and done. Needs redis-py: Debian's python3-redis, or pip install redis.
docs/protocol.md#instances-of-a-scheduler is the protocol.
"""

import json
import os
import queue
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import protocol  # noqa: E402

protocol.also_from_debian()
import redis  # noqa: E402

MEMORY_MS = 300_000  # for how long a tick is remembered: far longer than clocks differ

printing = threading.Lock()


def say(message):
    with printing:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


class Instance:
    def __init__(self, hello):
        self.every = hello["every_ms"]
        self.name = hello["client"] + "-" + os.urandom(4).hex()
        host, port = hello["nodes"][0].rsplit(":", 1)
        # Without socket timeouts a call hangs for as long as the network does.
        self.client = redis.Redis(host=host, port=int(port), socket_timeout=1, socket_connect_timeout=1)
        self.go = queue.Queue()
        self.running = None  # the name of the execution whose work goes on

    def due(self):
        """The latest tick that was due, by this machine's wall clock."""
        return int(time.time() * 1000) // self.every * self.every

    def schedule(self):
        last = self.due()
        while True:
            tick = self.due()
            if tick <= last:
                time.sleep(0.005)
                continue
            last = tick
            try:
                claimed = self.client.set(f"cron:{tick}", self.name, nx=True, px=MEMORY_MS)
            except redis.RedisError as e:  # it may be claimed; nobody will know, and the tick is lost
                print(f"claim tick {tick}: {e}", file=sys.stderr)
                continue
            if claimed:
                self.execute(tick)

    def execute(self, tick):
        run = f"{self.name}-{tick}"
        self.running = run
        say({"event": "run", "run": run, "tick": tick})
        while self.go.get() != run:  # the work is lockchaos's
            pass
        try:
            self.client.set(f"cron:{tick}", "done by " + self.name, xx=True, keepttl=True)
        except redis.RedisError as e:
            print(f"mark tick {tick}: {e}", file=sys.stderr)
            return  # whether it is marked is not known, so nothing is said
        finally:
            self.running = None
        say({"event": "done", "run": run})


def main():
    instance = None
    for line in sys.stdin:
        request = json.loads(line)
        reply = {"id": request["id"], "ok": True}
        if request["op"] == "hello":
            instance = Instance(request)
            reply.update(name=f"cron.py with redis-py {redis.__version__}", job="at-most-once", overlap=True, misfire="skip", handover_ms=1500)
            say(reply)
            threading.Thread(target=instance.schedule, daemon=True).start()
            continue
        if request["op"] == "go" and request["run"] != instance.running:
            reply = {"id": request["id"], "ok": False, "error": "not_held"}
        elif request["op"] == "go":
            instance.go.put(request["run"])
        elif request["op"] != "close":
            reply = {"id": request["id"], "ok": False, "error": "unsupported"}
        say(reply)


main()
