"""SIGKILL at random moments of real runs: nothing stays behind, and nothing that was measured goes.

Usage: ``.venv/bin/python -m benchmarks.kills --home FOLDER [--kills N] [--seconds S] [--seed N]
[--servers DBMS=SOURCE ...]``

Runs of SQLite, and of servers that are taken as they are, are started and killed again and again:
mostly hone itself, else a supervisor, bubblewrap, or one of the programs below them, at a moment
that is drawn at random. A killed run is resumed, so that all stages come up; one that is complete
begins anew, now and then with sources, builds or data taken away. After each kill it is checked
that

- every process of the session has ended, within a few seconds of hone's end;
- the next hone leaves neither scratch, nor a session's file, nor a control group of a dead one;
- no measurement that was in the store has gone;
- hone never ends in a traceback or in a bug of its own, and ``hone resume`` continues.

The kills by stage and by victim are printed, and what was found wrong; the exit code is 1 if
anything was. The home must be a new one, or one of this command: all that is in it may go.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from dbhone.home import Home
from dbhone.measurement.record import RunState
from dbhone.session import open_session
from dbhone.untrusted_files import remove_tree

_SQLITE = """\
title = "what is killed"
base = "o1"

[sources]
sqlite = "apt:sqlite3"

[subjects]
o1 = { dbms = "sqlite", source = "sqlite", variant = "o1" }
control = { like = "o1" }
pgo = { like = "o1", variant = "o1+pgo" }

[training]
sets = ["main"]
size = "smoke"

[workload]
suite = "speedtest1"
sets = ["main", "cte"]
size = "smoke"
"""
_SERVER = """\
title = "what is killed"
base = "server"

[sources]
server = "{source}"

[subjects]
server = {{ dbms = "{dbms}", source = "server", variant = "ready-made" }}
control = {{ like = "server" }}

[workload]
suite = "sysbench:micro"
sets = ["point-query", "update-index"]
size = "smoke"
"""
_DESIGN = """
[design]
seed = 1
budget = "30m"
target = "0.01%"
blocks = { min = 6, max = 6 }
"""
_GONE_WITHIN = 10.0
_NOBODY_LEFT = "nothing is left to compare with"
_ENDED = re.compile(r"Traceback|bug in hone")
_STAGE = re.compile(r"^\W*(?:\[?[\d:]+\]?\s+)?(\w+)")
_VICTIMS = {"hone": 50, "supervisor": 15, "bubblewrap": 15, "program": 20}
_EARLY, _LATE = (0.3, 1.0, 3.0, 10.0), 0.05
"""Within how many seconds most kills come, and the share of the others."""
_TAKEN = ((), (), ("profiles",), ("builds", "profiles"), ("sources", "builds", "data"))
"""What is taken from a home, drawn when a run is complete, so that the next makes it anew."""
_WHILE_STARTING = 0.001
"""The chance, every 20 ms, that hone is killed although it has not said anything yet."""


@dataclass
class Tally:
    """What was done, and what was found wrong."""

    kills: collections.Counter[str] = field(default_factory=collections.Counter)
    stages: collections.Counter[str] = field(default_factory=collections.Counter)
    complete: int = 0
    slowest_end: float = 0.0
    second_looks: int = 0
    wrong: list[str] = field(default_factory=list)

    def blame(self, what: str) -> None:
        """Note something that is wrong."""
        self.wrong.append(what)
        print(f"WRONG: {what}", flush=True)


class Runs:
    """Runs of one experiment in one home, one after the other, each until it is complete."""

    def __init__(self, home: Path, text: str, tally: Tally, chance: random.Random) -> None:
        self.home = home
        self.tally = tally
        self._chance = chance
        home.mkdir(parents=True, exist_ok=True)
        self._file = home / "killed.toml"
        self._file.write_text(text + _DESIGN)
        self._log = home.with_suffix(".log")
        self._measured: dict[int, int] = {}
        self._sessions: set[str] = set()
        self._unfinished: int | None = None
        self._broken: int | None = None
        """A run in which a program was killed, so that its subject takes no further part."""
        self._programs_killed = 0
        self._longest = 150.0

    def kill_once(self) -> None:
        """Start or resume a run, kill what belongs to it until it ends, and check what is left."""
        goes_on = self._unfinished not in (None, self._broken)
        words = ("resume", "last") if goes_on else ("run", str(self._file))
        if not goes_on:
            self._programs_killed = 0
        began, struck = time.monotonic(), ""
        with self._started(*words) as hone:
            while self._chance.random() > _WHILE_STARTING and hone.poll() is None:
                if self._log.stat().st_size:
                    break
                time.sleep(0.02)
            while not self._ended(hone, self._drawn_moment()):
                struck = self._strike(hone)
                if struck == "hone":
                    break
            else:
                self._finish(hone, " ".join(words), struck, time.monotonic() - began)
        self._check()

    @contextlib.contextmanager
    def _started(self, *words: str) -> Iterator[subprocess.Popen[bytes]]:
        argv = (sys.executable, "-m", "dbhone", "--home", str(self.home), *words)
        with self._log.open("wb") as log:
            hone = subprocess.Popen(argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            yield hone
        finally:
            hone.kill()
            hone.wait()

    def _ended(self, hone: subprocess.Popen[bytes], seconds: float) -> bool:
        """Wait, and notice meanwhile which sessions there are; return whether hone has ended."""
        deadline = time.monotonic() + seconds
        while hone.poll() is None and time.monotonic() < deadline:
            self._note_sessions()
            time.sleep(min(0.05, max(0.0, deadline - time.monotonic())))
        return hone.poll() is not None

    def _note_sessions(self) -> None:
        with contextlib.suppress(OSError):
            names = (path.name for path in (self.home / "sessions").iterdir())
            self._sessions |= {name for name in names if re.fullmatch(r"[0-9a-f]{12}", name)}

    def _drawn_moment(self) -> float:
        """Return seconds: mostly few, as much happens at the start; sometimes up to a whole run."""
        longest = self._longest if self._chance.random() < _LATE else self._chance.choice(_EARLY)
        return longest * self._chance.random()

    def _strike(self, hone: subprocess.Popen[bytes]) -> str:
        """Kill hone, or a process below it; return which."""
        wanted = self._chance.choices(tuple(_VICTIMS), tuple(_VICTIMS.values()))[0]
        victims = [] if wanted == "hone" else _below(hone.pid, wanted)
        struck = wanted if victims else "hone"
        self._note_sessions()
        self.tally.stages[self._stage()] += 1
        with contextlib.suppress(psutil.Error):
            (self._chance.choice(victims) if victims else psutil.Process(hone.pid)).kill()
        self.tally.kills[struck] += 1
        self._programs_killed += struck == "program"
        if struck == "hone":
            hone.wait()
        return struck

    def _stage(self) -> str:
        """Return what hone last said that it does."""
        lines = self._log.read_text(errors="replace").splitlines()
        words = (found[1] for line in reversed(lines) if (found := _STAGE.match(line)))
        return next(words, "starting")

    def _finish(
        self, hone: subprocess.Popen[bytes], words: str, struck: str, seconds: float
    ) -> None:
        """Look at a run that has ended by itself; begin a new one if it was complete."""
        said = self._log.read_text(errors="replace")
        if _ENDED.search(said):
            self.tally.blame(f"{words}, {struck} killed: {said[-2000:]}")
        if hone.returncode == 0:
            self.tally.complete += 1
            if not struck and words.startswith("run"):
                self._longest = max(seconds, 30.0)
            self._take_away()
        elif _NOBODY_LEFT in said and self._programs_killed:
            self._broken = self._unfinished
        elif not struck:
            # Nobody killed anything in it, so it must not fail.
            self.tally.blame(f"{words} ended with {hone.returncode}: {said[-1500:]}")

    def _take_away(self) -> None:
        """Have the next run fetch and build, or load, anew every other time."""
        for name in self._chance.choice(_TAKEN):
            remove_tree(self.home / name)

    def _check(self) -> None:
        """Look at what is left after hone's end, and at what the next hone leaves."""
        self._note_sessions()
        began = time.monotonic()
        while _alive(self._sessions) and time.monotonic() - began < _GONE_WITHIN:
            time.sleep(0.01)
        self.tally.slowest_end = max(self.tally.slowest_end, time.monotonic() - began)
        for process in _alive(self._sessions):
            with contextlib.suppress(psutil.Error):
                self.tally.blame(f"still alive: {process.pid} {process.cmdline()}")
        left = self._left_by_the_next()
        if left:
            # A child of hone that was being forked holds its locks until it has become a program.
            time.sleep(1.0)
            self.tally.second_looks += 1
            left = self._left_by_the_next()
        for path in left:
            self.tally.blame(f"left behind: {path}")
        self._sessions.clear()
        self._compare_measurements()

    def _left_by_the_next(self) -> list[Path]:
        """Let another hone begin and end; return what it has left of those before."""
        with open_session(Home(self.home)):
            pass
        files = [path for name in ("scratch", "sessions") for path in (self.home / name).iterdir()]
        return files + _groups(self._sessions)

    def _compare_measurements(self) -> None:
        """See that no run has lost a measurement, and whether the last is unfinished."""
        database = self.home / "store.db"
        if not database.exists():
            return
        with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as store:
            try:
                counts = dict(
                    store.execute("SELECT run_id, count(*) FROM invocations GROUP BY run_id")
                )
                last = store.execute(
                    "SELECT id, state FROM runs ORDER BY id DESC LIMIT 1"
                ).fetchone()
            except sqlite3.OperationalError:  # killed before there were tables
                return
        for run, count in self._measured.items():
            if counts.get(run, 0) < count:
                self.tally.blame(f"run {run} had {count} measurements, and has {counts.get(run)}")
        self._measured = counts
        self._unfinished = None if last is None or last[1] == RunState.DONE else last[0]


def _below(pid: int, kind: str) -> list[psutil.Process]:
    """Return the processes below hone that are of this kind."""
    with contextlib.suppress(psutil.Error):
        found = psutil.Process(pid).children(recursive=True)
        return [process for process in found if _kind(process) == kind]
    return []


def _kind(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        words = process.cmdline()
        if any(word.endswith("/supervisor.py") for word in words):
            return "supervisor"
        return "bubblewrap" if process.name() == "bwrap" else "program"
    return "gone"


def _alive(sessions: set[str]) -> list[psutil.Process]:
    """Return the processes that carry the mark of a session, those that have ended left out."""
    marks = {f"DBHONE_SESSION={name}".encode() for name in sessions}
    found = []
    for pid in psutil.pids():
        with contextlib.suppress(OSError, psutil.Error):
            if marks & set(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")):
                found.append(psutil.Process(pid))
    return found


def _groups(sessions: set[str]) -> list[Path]:
    """Return the control groups of these sessions."""
    top = Path("/sys/fs/cgroup")
    return [path for name in sessions for path in top.rglob(f"dbhone-{name}-*") if path.is_dir()]


def main() -> int:
    """Kill and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=24 * 3600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--servers", nargs="*", default=[], metavar="DBMS=SOURCE")
    options = parser.parse_args()
    chance, tally = random.Random(options.seed), Tally()
    texts = [_SQLITE]
    for words in options.servers:
        dbms, _, source = words.partition("=")
        texts.append(_SERVER.format(dbms=dbms, source=source))
    os.environ["COLUMNS"] = "160"
    runs = [
        Runs(options.home / f"h{number}", text, tally, chance) for number, text in enumerate(texts)
    ]
    deadline = time.monotonic() + options.seconds
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    told = 0
    try:
        while tally.kills.total() < options.kills and time.monotonic() < deadline:
            chance.choice(runs).kill_once()
            if tally.kills.total() >= told + 20:
                told = tally.kills.total()
                _print(tally)
    finally:
        _print(tally)
    return 1 if tally.wrong else 0


def _print(tally: Tally) -> None:
    print(f"{tally.kills.total()} kills: {dict(tally.kills)}")
    print(f"  when hone last said: {dict(tally.stages)}")
    print(
        f"  {tally.complete} runs complete; the last process ended within {tally.slowest_end:.2f} s"
    )
    print(f"  clean only at a second look, after a second: {tally.second_looks}")
    print(f"  wrong: {len(tally.wrong)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
