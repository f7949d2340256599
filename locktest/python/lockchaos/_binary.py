"""The lockchaos command: where it is, and an exam by it as a stream of events (docs/schema/progress.json)."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading

BIN = "LOCKCHAOS_BIN"
# How long an exam that is interrupted may take to heal what it broke, and to write its report.
PATIENCE = 30


class LockchaosError(Exception):
    """lockchaos could not do what it was asked: its own words."""


class Lacking(Exception):
    """This machine lacks a program or a right: what, and what to do."""


def find():
    """The path of the command: $LOCKCHAOS_BIN, else that of the package, else one of $PATH."""
    named = os.environ.get(BIN)
    if named:
        if os.access(named, os.X_OK):
            return named
        raise LockchaosError(f"{BIN}={named} is no program that can be run")
    beside = os.path.join(os.path.dirname(__file__), "bin", "lockchaos")
    found = beside if os.access(beside, os.X_OK) else shutil.which("lockchaos")
    if found:
        return found
    raise LockchaosError(
        f"there is no lockchaos here: this package came without it, and it is not on PATH. Set {BIN} to its path "
        "(it is built by `make build` in lockchaos's repository, and runs on Linux)"
    )


def listed(words):
    """The attacks that an exam by these words would make, and those that it would not, as events."""
    done = subprocess.run(
        [find(), "exam", *words, "--dry-run", "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    for event in events:
        if event["event"] == "lacking":
            raise Lacking(event["text"])
    if done.returncode != 0:
        raise LockchaosError(done.stderr.strip() or f"lockchaos ended with exit status {done.returncode}")
    return [event for event in events if event["event"] == "attack"]


class Run:
    """An exam that runs, and what its attacks have come to."""

    def __init__(self, words, attacks):
        self.attacks, self.ended, self.over = attacks, {}, False
        self.changed = threading.Condition()
        self.errors = tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen(
            [find(), "exam", *words, "--json", "--no-mend"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            event = json.loads(line)
            if event["event"] == "ended":
                with self.changed:
                    self.ended[event["attack"]] = event
                    self.changed.notify_all()
        self.process.wait()
        with self.changed:
            self.over = True
            self.changed.notify_all()

    def result(self, attack):
        """What the attack has come to, once it has."""
        with self.changed:
            self.changed.wait_for(lambda: attack in self.ended or self.over)
            if attack in self.ended:
                return self.ended[attack]
        self.errors.seek(0)
        said = self.errors.read().strip()
        raise LockchaosError(said or f"lockchaos ended with exit status {self.process.returncode}, without a word on {attack}")

    def finish(self):
        """Ends what is left of the exam, and waits until its report is written."""
        with self.changed:
            if not self.over and len(self.ended) < len(self.attacks):
                self.process.send_signal(signal.SIGINT)
            self.changed.wait_for(lambda: self.over, PATIENCE)
        if not self.over:
            self.process.kill()
