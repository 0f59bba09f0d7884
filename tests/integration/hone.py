"""Runs the real command line, and looks for what it may have left behind."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SMALL = """\
title = "a small run on the real SQLite"
base = "rel"

[sources]
sqlite = "apt:sqlite3"

[subjects]
rel = { dbms = "sqlite", source = "sqlite", variant = "rel" }
control = { like = "rel", rebuild = true }
pgo = { like = "rel", variant = "pgo" }

[training]
sets = ["main"]

[workload]
suite = "speedtest1"
size = "smoke"
sets = ["main", "cte"]

[design]
target = "0.01%"
budget = "30m"
seed = 3
blocks = { min = 6, max = 6 }
"""


@dataclass(frozen=True)
class Hone:
    """The command with a home folder of its own."""

    home: Path
    folder: Path

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "dbhone", "--home", str(self.home), *words]

    def __call__(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run to the end; the exit code must be ``code`` and there is never a traceback."""
        done = subprocess.run(
            self.command(*words),
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env=os.environ | {"COLUMNS": "160"},
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == code, done.stderr
        return done

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start without waiting; its messages can be read from ``stderr``."""
        return subprocess.Popen(
            self.command(*words),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
        )

    def sessions(self) -> tuple[str, ...]:
        """Return the sessions whose files are there, alive or dead."""
        return tuple(path.name for path in (self.home / "sessions").iterdir())


def processes_of(sessions: tuple[str, ...]) -> list[int]:
    """Return the processes that carry the mark of one of the sessions, zombies left out."""
    marks = {f"DBHONE_SESSION={name}".encode() for name in sessions}
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if marks & set((entry / "environ").read_bytes().split(b"\0")):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def counted(hone: Hone, run: int) -> set[tuple[int, str, str]]:
    """Return what was measured and counts: block, set and subject."""
    with sqlite3.connect(hone.home / "store.db") as connection:
        rows = connection.execute(
            "SELECT block, set_name, s.name FROM invocations i JOIN subjects s"
            " ON s.id = i.subject_id WHERE i.run_id = ? AND NOT superseded AND failure IS NULL",
            (run,),
        ).fetchall()
    connection.close()
    assert len(rows) == len(set(rows))
    return set(rows)


def wait_for_line(stream: Any, words: str) -> None:
    for line in stream:
        if words in line:
            return
    pytest.fail(f"it ended before it said '{words}'")
