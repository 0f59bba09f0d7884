"""Programs that fetch: run without questions, in English, their words kept in the fetch's log."""

from __future__ import annotations

import dataclasses
import errno
import re
import shlex
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from dbhone.errors import HoneError, SourceError, ToolError, disk_full
from dbhone.process import Command, Finished, run
from dbhone.source.kinds.base import Fetch

SHORT = 300.0
"""Seconds after which a program that only looks something up is given up."""
LONG = 4 * 3600.0
"""Seconds after which a program that downloads is given up; it has its own limits for silence."""

CHECK_NETWORK = "check the address and the network, then run the same again"
BROKEN = "the file is broken or was changed, there or on its way; nothing of it was kept"

_ENGLISH = {"LC_ALL": "C"}
_FULL = "No space left on device"
# How lines begin that say what went wrong. What git's other side says is the cause of what
# its own side says, whichever comes first.
_REMOTE = re.compile(r"remote: fatal: (.*)")
_OWN = re.compile(r"(?:E|fatal|error|dpkg-source: error): (.*)")
_OVERWRITTEN = re.compile(rb"[^\r\n]*\r(?!\n)")
"""What a terminal would not show any more, such as all of a progress but its last."""


def require(program: str, *, package: str, why: str) -> None:
    """Raise ToolError, with the line that installs it, unless ``program`` is there."""
    if shutil.which(program) is None:
        raise ToolError(
            f"{program} is missing; {why}", hint=f"install it: sudo apt-get install {package}"
        )


def look_up(
    job: Fetch,
    argv: tuple[str, ...],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Finished:
    """Run a program whose answer is its standard output, in ``cwd``, else in the work folder.

    Its complaints go to the log; if it failed, they are also what is returned as its output.
    """
    complaints = job.work / "complaints"
    complaints.unlink(missing_ok=True)
    command = Command(
        argv=argv,
        cwd=cwd or job.work,
        env=_ENGLISH | dict(env or {}),
        log=complaints,
        timeout=SHORT,
    )
    finished = run(command, capture=True)
    said = complaints.read_bytes()
    _append(job.log, argv, said)
    return finished if finished.ok else dataclasses.replace(finished, output=said)


def perform(
    job: Fetch,
    argv: tuple[str, ...],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    on_line: Callable[[str], None] | None = None,
) -> Finished:
    """Run a program that does the work; its words are returned, logged, and told to ``on_line``."""
    lines = _Lines(on_line)
    command = Command(argv=argv, cwd=cwd, env=_ENGLISH | dict(env or {}), timeout=LONG)
    finished = run(command, on_chunk=lambda chunk, _time, _pid: lines.feed(chunk))
    _append(job.log, argv, finished.output)
    return finished


def failure(
    job: Fetch,
    doing: str,
    finished: Finished,
    *,
    said: str | None = None,
    hint: str | None = None,
) -> HoneError:
    """Return the error to raise when a program failed while ``doing``, with its own first words.

    ``said`` is what it gave as its reason, where the caller has found that.
    """
    words = finished.text()
    if _FULL.lower() in words.lower():
        full = disk_full(OSError(errno.ENOSPC, _FULL), doing)
        assert full is not None
        return full
    said = said or _complaint(words)
    message = f"{doing} failed: {said}" if said else f"{doing} failed: it {finished.ending()}"
    return SourceError(message, hint=hint, log=job.log)


def _complaint(words: str) -> str:
    lines = words.splitlines()
    found = (kind.match(line) for kind in (_REMOTE, _OWN) for line in lines)
    return next((each.group(1).strip() for each in found if each), "")


def _append(log: Path, argv: tuple[str, ...], words: bytes) -> None:
    with log.open("ab") as file:
        file.write(f"$ {shlex.join(argv)}\n".encode() + _OVERWRITTEN.sub(b"", words))


class _Lines:
    """Cuts output into lines as it arrives."""

    def __init__(self, listener: Callable[[str], None] | None) -> None:
        self._listener = listener
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        if self._listener is None:
            return
        *whole, self._rest = (self._rest + chunk).replace(b"\r", b"\n").split(b"\n")
        for line in whole:
            self._listener(line.decode("utf-8", "replace"))
