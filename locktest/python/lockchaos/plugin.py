"""The pytest plugin: each attack on a lock is a test."""

import difflib
import inspect
import os
import random
import shlex
import shutil
import sys
import tempfile
from types import SimpleNamespace

import pytest

from . import Exam, _binary

INHERENT = "fell: inherent"
# What an attack may come to without failing its test.
HARMLESS = ("stood", "fell: what it relies on broke", INHERENT)
# The properties of a test: what its attack came to without failing it, and what was not the real service.
NOTE, STAND_IN = "lockchaos", "lockchaos-stand-in"
RUNS = "LOCKCHAOS_RUNS"


def pytest_addoption(parser):
    group = parser.getgroup("lockchaos", "exams of distributed locks")
    group.addoption("--lockchaos-attacks", metavar="NAME,…", help="make only these attacks")
    group.addoption("--lockchaos-short", action="store_true", help="make the most telling third of the attacks")
    group.addoption("--lockchaos-inherent", action="store_true", help="fail also by what no lease prevents")
    group.addoption("--lockchaos-seed", type=int, metavar="N", help="repeat the random draws of an earlier exam")
    group.addoption("--lockchaos-out", metavar="DIR", help=f"keep all reports here (default: ${RUNS}, or a folder for temporary files, kept if a test failed)")


def pytest_configure(config):
    config.addinivalue_line("markers", "lockchaos: an attack on a distributed lock (added by lockchaos itself)")
    config.pluginmanager.register(Session(config), "lockchaos-session")


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector, name, obj):
    exam = getattr(obj, "__lockchaos__", None) if inspect.isroutine(obj) else None
    if not isinstance(exam, Exam):
        return None
    if not isinstance(collector, pytest.Module):
        raise collector.CollectError(f"lockchaos.exam decorates functions of a module, and {name} is in {collector.name}")
    if obj.__module__ != collector.obj.__name__:
        return []  # it is imported, and examined where it is written
    return Examined.from_parent(collector, name=name, exam=exam)


class Session:
    """The exams of this test run."""

    def __init__(self, config):
        given = config.getoption("lockchaos_seed")
        self.seed = random.randrange(1, 1_000_000) if given is None else given
        self.config, self.runs, self.kept = config, [], False
        self.out = config.getoption("lockchaos_out") or os.environ.get(RUNS)
        self.temporary = None

    def folder(self):
        """Where reports go."""
        if self.out is None:
            self.out = self.temporary = tempfile.mkdtemp(prefix="lockchaos-")
        return os.path.abspath(self.out)

    def begin(self, examined, attacks):
        """Begins an exam of these attacks, and returns it."""
        words = [*examined.words(), "--attack", ",".join(attacks), "--seed", str(self.seed), "--out", self.folder()]
        self.runs.append(_binary.Run(words, attacks))
        return self.runs[-1]

    def pytest_collection_finish(self, session):
        """Notes which attacks are made by one exam: all of a lock, or, where xdist hands out tests, each by itself."""
        apart = hasattr(self.config, "workerinput")
        for item in session.items:
            if isinstance(item, Attack) and not item.why:
                item.parent.wanted.append(item.name)
                item.apart = apart

    def pytest_sessionfinish(self):
        for run in self.runs:
            run.finish()
        if self.temporary and not self.kept:
            shutil.rmtree(self.temporary, ignore_errors=True)

    def pytest_terminal_summary(self, terminalreporter):
        notes = {}
        for report in [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]:
            for name, text in report.user_properties:
                if name in (NOTE, STAND_IN) and report.when == "call":
                    notes.setdefault((name, text), []).append(str(report.nodeid))
        if notes:
            terminalreporter.section("lockchaos")
        for (name, text), ids in sorted(notes.items()):
            if name == STAND_IN:
                terminalreporter.write_line(f"STAND-IN: {text}")
                continue
            what = ", which no lease prevents (--lockchaos-inherent fails it)" if text == INHERENT else ""
            terminalreporter.write_line(f"{text}{what}:")
            for nodeid in ids:
                terminalreporter.write_line(f"  {nodeid}")


class Examined(pytest.Collector):
    """A function that returns a lock, and the attacks on that as its tests."""

    def __init__(self, exam, **more):
        super().__init__(**more)
        self.exam, self.wanted, self.run = exam, [], None

    def words(self):
        """The words of `lockchaos exam` that say which lock it is."""
        function, prefix = self.exam.function, (sys.prefix, sys.base_prefix)
        folders = [f for f in sys.path if os.path.isdir(f) and not f.startswith(prefix)]
        adapter = [sys.executable, "-m", "lockchaos._adapter", str(self.path), function.__module__, function.__name__, *folders]
        words = ["--lock-cmd", shlex.join(adapter), "--service", self.exam.service]
        if self.exam.ttl is not None:
            words += ["--ttl", f"{self.exam.ttl:g}s"]
        return words

    def collect(self):
        words = self.words()
        if self.exam.short or self.config.getoption("lockchaos_short"):
            words.append("--short")
        if self.exam.budget:
            words += ["--budget", str(self.exam.budget)]
        try:
            events = _binary.listed(words)
        except _binary.Lacking as e:
            return [Attack.from_parent(self, name="attacks", why=str(e))]
        except _binary.LockchaosError as e:
            raise self.CollectError(f"lockchaos cannot examine {self.name}: {e}") from None
        return [Attack.from_parent(self, name=e["attack"], **self.about(e)) for e in self.chosen(events)]

    def chosen(self, events):
        """The attacks to make a test of: those that are named, else those that make sense."""
        option = self.config.getoption("lockchaos_attacks")
        named = option.split(",") if option else self.exam.attacks
        if not named:
            return [e for e in events if "scenario" in e or "fix" in e]
        known = [e["attack"] for e in events]
        for name in named:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                raise self.CollectError(f"there is no attack {name!r}" + (f"; did you mean {near[0]}?" if near else ""))
        return [e for e in events if e["attack"] in named]

    @staticmethod
    def about(event):
        why = event.get("why", "")
        return {"why": f"{why}: {event['fix']}" if event.get("fix") else why, "text": event.get("text", "")}


class Attack(pytest.Item):
    """One attack on a lock."""

    def __init__(self, why="", text="", **more):
        super().__init__(**more)
        self.why, self.text, self.apart = why, text, False
        self.add_marker("lockchaos")

    def reportinfo(self):
        return self.path, self.parent.exam.function.__code__.co_firstlineno - 1, f"{self.parent.name}: {self.name}"

    def runtest(self):
        if self.why:
            pytest.skip(f"not applicable: {self.why}")
        session, together = self.config.pluginmanager.getplugin("lockchaos-session"), self.parent.wanted
        if self.apart or self.name not in together:  # or it is made once more
            run = session.begin(self.parent, [self.name])
        else:
            run = self.parent.run = self.parent.run or session.begin(self.parent, list(together))
            together.remove(self.name)
        ended = run.result(self.name)
        if ended.get("skipped"):
            pytest.skip(ended["skipped"])
        self.user_properties += [(STAND_IN, text) for text in ended.get("stand_ins", [])]
        asked = self.config.getoption("lockchaos_inherent") or self.parent.exam.inherent
        if ended["fate"] not in HARMLESS or (asked and ended["fate"] == INHERENT):
            session.kept = True
            raise Fell(ended)
        if ended["fate"] != "stood":
            self.user_properties.append((NOTE, ended["fate"]))
        self.add_report_section("call", "lockchaos", ended["told"])

    def repr_failure(self, excinfo, style=None):
        error = excinfo.value
        if isinstance(error, Fell):
            return Story(self, error.ended)
        if isinstance(error, _binary.LockchaosError):
            return f"lockchaos failed, which says nothing of the lock: {error}"
        return super().repr_failure(excinfo)


class Fell(Exception):
    """A lock fell by an attack, or nothing follows from it."""

    def __init__(self, ended):
        super().__init__(ended["told"])
        self.ended = ended


class Story:
    """What pytest prints of an attack that failed its test."""

    def __init__(self, item, ended):
        self.reprcrash = SimpleNamespace(message=ended["told"])  # the line of the short summary
        lines = [f"{item.parent.name}: {ended['told']}", f"attack {item.name}: {item.text}"]
        if ended.get("shortest"):
            lines += ["", *ended["shortest"], ""]
        if ended.get("report"):
            lines.append(f"report: {ended['report']}")
        file = os.path.relpath(item.path, item.config.invocation_params.dir)
        again = ["pytest", "::".join([file, *item.nodeid.split("::")[1:]]), "--lockchaos-seed", str(ended["seed"])]
        self.lines = [*lines, f"again: {shlex.join(again)}"]

    def __str__(self):
        return "\n".join(self.lines)

    def toterminal(self, tw):
        """Writes it to pytest's terminal, the witness in red as pytest's own lines of an assertion."""
        for i, line in enumerate(self.lines):
            tw.line(line, **({"red": True, "bold": True} if i == 0 else {}))
