# What follows speaks the protocol; it can stay as it is.


class Work:
    """An execution of a job, or a term of a leader, which begins. What is done in it is lockchaos's."""

    def __init__(self, **more):
        self.run, self.over = os.urandom(8).hex(), threading.Event()
        going[self.run] = self
        send({"event": "run", "run": self.run, **more})

    def wait(self, seconds=None):
        """Waits until the work is over, for so long at most. Returns whether it is."""
        return self.over.wait(seconds)

    def done(self):
        """Tells that it is marked as done, or that the leader has stepped down."""
        going.pop(self.run, None)
        send({"event": "done", "run": self.run})

    def lost(self, why):
        """Tells that it is no longer this client's."""
        going.pop(self.run, None)
        send({"event": "lost", "run": self.run, "why": why})


going = {}  # those whose work is not over
printing = threading.Lock()


def send(message):
    """Prints one line. Any thread may."""
    with printing:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def main(make):
    for line in sys.stdin:
        request, work = json.loads(line), None
        op, reply = request["op"], {"id": request["id"], "ok": True}
        if op == "hello":
            mine = make(request)
            reply.update(mine.declare())
        elif op == "go":
            work = going.pop(request["run"], None)
            if work is None:  # there is no such one any more
                reply.update(ok=False, error="not_held")
        elif op != "close":
            reply.update(ok=False, error="unsupported")
        send(reply)
        if work is not None:
            work.over.set()
        if op == "hello":
            threading.Thread(target=mine.run, daemon=True).start()
