"""Every error that a user can meet.

The tree::

    HoneError                 something failed (exit code 1)
    ├── UsageError            wrong use: nothing was started (exit code 2)
    │   ├── UnknownName       a name that does not exist, with the nearest that do
    │   ├── ExperimentError   an experiment file that is wrong
    │   ├── VariantError      transforms that do not go together
    │   └── SettingsError     a server's setting that is wrong
    ├── SourceError           a source could not be fetched or verified
    ├── ToolError             a program is missing or does not work
    ├── BuildError            a build step failed
    ├── ProfileError          a profile is missing, empty, stale or foreign
    ├── ServerError           a server did not start, crashed, or did not stop
    ├── DriverError           a workload driver failed or printed malformed output
    ├── PackageError          a package is damaged, forged, or proves nothing
    ├── StoreError            the store cannot be read or written
    │   └── StoreBusyError    another program holds the store
    ├── UntrustedFileError    a file of a server or a build is none that hone reads
    ├── MachineError          this machine lacks what is needed
    │   └── NoSpaceError      a disk or quota is full
    ├── BudgetSpentError      the budget was spent before a block was measured
    └── Interrupted           the user stopped us (exit code 130)

A message says what failed; ``log`` where to read more; ``hint`` what to do next.
Libraries raise; only ``cli/main.py`` prints and exits.
"""

from __future__ import annotations

import difflib
import errno
import re
from collections.abc import Collection, Iterable
from pathlib import Path

_FEW = 12
_DISK_FULL = re.compile(r"no space left on device|disk quota exceeded|file too large", re.I)
_DATABASE_FULL = re.compile(r"disk (is )?full\b", re.I)


class HoneError(Exception):
    """Something failed. ``message`` is one sentence without a final stop.

    ``subjects`` names those of a run without which it would have gone on, if there are any.
    """

    exit_code = 1
    subjects: tuple[str, ...] = ()

    def __init__(self, message: str, *, hint: str | None = None, log: Path | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.log = log

    @property
    def text_with_log(self) -> str:
        """The message with the path of its log, for records that have no field for the log."""
        return f"{self.message} (log: {self.log})" if self.log else self.message


class UsageError(HoneError):
    """The command line or a file that the user wrote is wrong; nothing was started."""

    exit_code = 2


class UnknownName(UsageError):
    """A name that does not exist, with the nearest that do, or with a better ``hint``."""

    def __init__(
        self,
        kind: str,
        name: str,
        known: Iterable[str],
        *,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        message = f"there is no {kind} '{name}'"
        super().__init__(
            f"{where}: {message}" if where else message, hint=hint or nearest(name, known)
        )
        self.kind = kind
        self.name = name


class ExperimentError(UsageError):
    """An experiment file that is wrong. The message names file and key or line."""


class VariantError(UsageError):
    """Transforms that do not go together, with the reason."""


class SettingsError(UsageError):
    """A setting that this server does not know, or that hone has to decide itself."""


class SourceError(HoneError):
    """A source could not be fetched, verified or unpacked."""


class ToolError(HoneError):
    """A program is missing or does not work."""


class BuildError(HoneError):
    """A build step failed; ``log`` has the compiler's messages."""


class ProfileError(HoneError):
    """A profile is missing, empty, stale, or belongs to another build."""


class ServerError(HoneError):
    """A server did not start, crashed, or did not stop; ``log`` has its messages."""


class DriverError(HoneError):
    """A workload driver failed, hung, or printed what cannot be understood."""


class PackageError(HoneError):
    """A package cannot be made, or is not what it says."""


class StoreError(HoneError):
    """The store of results cannot be opened, read or written."""


class StoreBusyError(StoreError):
    """Another program holds the store; a run can be continued when that has ended."""


class UntrustedFileError(HoneError):
    """A file that a server or a build may have written is none that hone reads."""


class MachineError(HoneError):
    """This machine lacks what is needed: space, a permission, counters."""


class NoSpaceError(MachineError):
    """A disk or quota is full; a run can be continued when there is room again."""

    def __init__(self, message: str, *, log: Path | None = None) -> None:
        super().__init__(
            message, hint="free some space: 'hone clean' shows what can be removed", log=log
        )


class BudgetSpentError(HoneError):
    """A run's budget was spent before a block was measured.

    ``enough`` is the budget, in seconds, that lets it measure as many blocks as it must.
    """

    def __init__(self, message: str, *, enough: float, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.enough = enough


class Interrupted(HoneError):
    """The user stopped us."""

    exit_code = 130


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint that names the closest of ``known``, or all of them if none is close."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(repr(match) for match in close)}?"
    if not names:
        return "none exist yet"
    return f"known: {', '.join(names)}"


def nearest_of_many(name: str, known: Collection[str]) -> str:
    """Return a hint that names the closest of ``known``; all of them only if they are few."""
    hint = nearest(name, known)
    if len(known) > _FEW and not hint.startswith("did you mean"):
        return f"no similar name among the {len(known)} known ones"
    return hint


def disk_full(error: OSError, doing: str) -> NoSpaceError | None:
    """Return the error to raise if ``error`` says that a disk or quota is full, else None."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return None
    file = error.filename2 or error.filename  # of a copy, the second is what was written
    where = f" on {file}" if file else ""
    return NoSpaceError(f"no space left{where} while {doing}")


def says_disk_full(printed: str) -> bool:
    """Return whether a program printed the system's words for a full disk or quota."""
    return _DISK_FULL.search(printed) is not None


def database_says_disk_full(printed: str) -> bool:
    """Return whether a DBMS printed that a disk or quota is full, which has words of its own.

    The memory that processes share has the system's words for a full disk, too.
    """
    lines = [line for line in printed.splitlines() if "shared memory" not in line]
    return any(says_disk_full(line) or _DATABASE_FULL.search(line) is not None for line in lines)
