"""Traces: recordings of two equal servers that were measured in turn, one file for each step.

A file is CSV with a header of ``# key: value`` lines, compressed by gzip::

    # dbhone trace: 1
    # recording: 1
    # use: choosing
    # machine: 2 x AMD EPYC, kvm, Linux 6.1.0
    # dbms: mariadb
    # version: 10.11.6
    # step: point-query
    # threads: 4
    # slice-seconds: 0.5
    # restarts: 12
    restart,round,position,subject,began,operations,seconds
    1,1,0,B,0.000,4711,0.5003

``subject`` is A or B, ``position`` its place in the round; ``began`` is in seconds since the
recording's first slice. A recording is all files of one number: what was recorded in one go.
**The rule:** recordings with odd numbers may be used to choose a method, those with even numbers
only judge it (``use: judging``); they are numbered in the order in which they were made.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

FORMAT = "1"
COLUMNS = ("restart", "round", "position", "subject", "began", "operations", "seconds")
SUBJECTS = ("A", "B")
SUFFIX = ".csv.gz"


class Use(StrEnum):
    """What a recording may be used for."""

    CHOOSING = "choosing"
    JUDGING = "judging"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """One row. ``operations`` were done in ``seconds``, from ``began`` on."""

    restart: int
    round: int
    position: int
    subject: str
    began: float
    operations: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One step of a recording. ``slice_seconds`` is how long slices were meant to be."""

    recording: int
    machine: str
    dbms: str
    version: str
    step: str
    threads: int
    slice_seconds: float
    slices: tuple[Slice, ...]

    @property
    def use(self) -> Use:
        """What it may be used for, by the rule."""
        return use_of(self.recording)

    @property
    def restarts(self) -> int:
        """How often both servers were started anew."""
        return len({each.restart for each in self.slices})

    @property
    def file_name(self) -> str:
        """Where it belongs among the traces."""
        return f"{self.recording:02}-{self.dbms}-{self.step.replace('/', '-')}{SUFFIX}"


def use_of(recording: int) -> Use:
    """Return what a recording may be used for: odd ones to choose, even ones to judge."""
    return Use.CHOOSING if recording % 2 else Use.JUDGING


def write(trace: Trace, folder: Path) -> Path:
    """Write a trace to its file in a folder, and return where. The same trace is the same file."""
    text = io.StringIO()
    for key, value in _header(trace).items():
        text.write(f"# {key}: {value}\n")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows(_row(each) for each in trace.slices)
    path = folder / trace.file_name
    path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))
    return path


def read(path: Path) -> Trace:
    """Read a trace that ``write`` has written."""
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    header = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    return Trace(
        recording=int(header["recording"]),
        machine=header["machine"],
        dbms=header["dbms"],
        version=header["version"],
        step=header["step"],
        threads=int(header["threads"]),
        slice_seconds=float(header["slice-seconds"]),
        slices=tuple(_slice(row) for row in csv.DictReader(lines[len(header) :])),
    )


def _slice(row: Mapping[str, str]) -> Slice:
    return Slice(
        restart=int(row["restart"]),
        round=int(row["round"]),
        position=int(row["position"]),
        subject=row["subject"],
        began=float(row["began"]),
        operations=int(row["operations"]),
        seconds=float(row["seconds"]),
    )


def _header(trace: Trace) -> dict[str, str]:
    return {
        "dbhone trace": FORMAT,
        "recording": str(trace.recording),
        "use": trace.use.value,
        "machine": trace.machine,
        "dbms": trace.dbms,
        "version": trace.version,
        "step": trace.step,
        "threads": str(trace.threads),
        "slice-seconds": f"{trace.slice_seconds:g}",
        "restarts": str(trace.restarts),
    }


def _row(one: Slice) -> tuple[object, ...]:
    began, seconds = f"{one.began:.3f}", f"{one.seconds:.6f}"
    return one.restart, one.round, one.position, one.subject, began, one.operations, seconds
