"""One fetch of a source: its reference, its folders, and the programs that it runs.

Programs run without questions and in English. What they print is kept in the fetch's log.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from dbhone.command import Command
from dbhone.errors import HoneError, NoSpaceError, SourceError, says_disk_full
from dbhone.process import Finished, run
from dbhone.session import Notify

QUERY_TIMEOUT = 300.0
"""The seconds that a program may take that only looks something up."""
DOWNLOAD_TIMEOUT = 4 * 3600.0
"""The seconds that a download may take; programs give up silent servers by themselves."""

CHECK_NETWORK = "check the address and the network, then run the same again"
CORRUPT = "the file is broken or was changed, on the server or in transit; nothing of it was kept"

_NOTIFY_INTERVAL = 1.0
_ENGLISH = {"LC_ALL": "C"}
# How lines begin that say what went wrong. What git's other side says is the cause of what
# its own side says, whichever comes first.
_REMOTE_ERROR = re.compile(r"remote: fatal: (.*)")
_LOCAL_ERROR = re.compile(r"(?:E|fatal|error|dpkg-source: error): (.*)")
_OVERWRITTEN = re.compile(rb"[^\r\n]*\r(?!\n)")
"""What a terminal would not show any more, such as all of a progress but its last."""

Progress: TypeAlias = Callable[[str], str | None]
"""What a line of a program's output tells of its progress, for people; None if nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReference:
    """A parsed reference to a source.

    ``text`` is as the user wrote it; ``kind`` names the plug-in; ``location`` is the package, URL
    or folder; ``revision`` a version, tag, branch or commit; ``sha256`` the checksum that a file
    must have, in lower case.
    """

    text: str
    kind: str
    location: str
    revision: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchJob:
    """One fetch that is to be done.

    ``into`` is an empty folder that becomes the tree; ``scratch`` an empty folder for anything
    else, removed afterwards; ``cache`` a folder of the kind's own that stays between fetches and
    may not exist yet. Programs write to ``log``. With ``refresh`` nothing in the cache counts as
    recent.
    """

    reference: SourceReference
    into: Path
    scratch: Path
    cache: Path
    log: Path
    refresh: bool
    notify: Notify


def throttled(notify: Notify) -> Notify:
    """Return a ``notify`` that passes on at most one line a second, and drops the others."""
    last = time.monotonic()

    def notify_if_due(line: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _NOTIFY_INTERVAL:
            last = now
            notify(line)

    return notify_if_due


def query(
    job: FetchJob,
    argv: tuple[str, ...],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Finished:
    """Run a program whose answer is its standard output, in ``cwd``, else in the scratch folder.

    Its standard error goes to the log. If it failed, that is also the output that is returned.
    """
    error_file = job.scratch / "stderr"
    error_file.unlink(missing_ok=True)
    command = Command(
        argv=argv,
        cwd=cwd or job.scratch,
        env=_ENGLISH | dict(env or {}),
        log=error_file,
        timeout=QUERY_TIMEOUT,
    )
    finished = run(command, capture=True)
    errors = error_file.read_bytes()
    _append(job.log, argv, errors)
    return finished if finished.ok else dataclasses.replace(finished, output=errors)


def perform(
    job: FetchJob,
    argv: tuple[str, ...],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Finished:
    """Run a program that does the work. Its output is logged; ``progress`` gets each line of it."""
    lines = _Lines(progress, throttled(job.notify))
    command = Command(argv=argv, cwd=cwd, env=_ENGLISH | dict(env or {}), timeout=DOWNLOAD_TIMEOUT)
    finished = run(command, on_chunk=lambda chunk, _time, _pid: lines.feed(chunk))
    _append(job.log, argv, finished.output)
    return finished


def failure(
    job: FetchJob,
    doing: str,
    finished: Finished,
    *,
    reason: str | None = None,
    hint: str | None = None,
) -> HoneError:
    """Return the error to raise when a program failed while ``doing``.

    ``reason`` is the program's own, where the caller has parsed it; else the first line that
    looks like one is quoted.
    """
    output = finished.text()
    if says_disk_full(output):
        return NoSpaceError(f"no space left while {doing}", log=job.log)
    reason = reason or error_line(output) or f"it {finished.ending()}"
    return SourceError(f"{doing} failed: {reason}", hint=hint, log=job.log)


def error_line(output: str) -> str:
    """Return the first line in which a program says what went wrong, empty if none does."""
    lines = output.splitlines()
    matches = (pattern.match(line) for pattern in (_REMOTE_ERROR, _LOCAL_ERROR) for line in lines)
    return next((match[1].strip() for match in matches if match), "")


def _append(log: Path, argv: tuple[str, ...], output: bytes) -> None:
    with log.open("ab") as file:
        file.write(f"$ {shlex.join(argv)}\n".encode() + _OVERWRITTEN.sub(b"", output))


class _Lines:
    """Cuts output into lines as it arrives, and tells the progress that they show."""

    def __init__(self, progress: Progress | None, notify: Notify) -> None:
        self._progress = progress
        self._notify = notify
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        if self._progress is None:
            return
        *lines, self._rest = (self._rest + chunk).replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            said = self._progress(line.decode("utf-8", "replace"))
            if said is not None:
                self._notify(said)
