"""How many files a server may have open: what its settings need, and what this machine allows.

A server that may have fewer open than its settings need does not refuse to start: it runs with
smaller settings.
"""

from __future__ import annotations

import re
import resource
from pathlib import Path

from dbhone.errors import MachineError
from dbhone.files import text_if_there

_PROC = Path("/proc")
_MOST_OF_ALL = Path("sys/fs/nr_open")
_LIMIT = re.compile(r"^Max open files +(\d+|unlimited)", re.MULTILINE)
_CAPABILITIES = re.compile(r"^CapEff:\s*([0-9a-f]+)$", re.MULTILINE)
_MAY_RAISE_LIMITS = 1 << 24
"""CAP_SYS_RESOURCE, see capabilities(7)."""


def check_open_files(needed: int, what: str) -> None:
    """Raise MachineError if ``what`` needs more files open than any server of hone's may have."""
    most = most_open_files()
    if needed > most:
        raise MachineError(
            f"{what} needs {needed:,} open files, and a process may have {most:,} here",
            hint=f"{raising(needed)}; or choose smaller settings",
        )


def raising(needed: int) -> str:
    """Return the command that lets a shell's programs have so many files open."""
    of_all = _number(_PROC / _MOST_OF_ALL)
    first = f"sysctl fs.nr_open={needed} && " if needed > of_all else ""
    return (
        f"run '{first}prlimit --pid $$ --nofile={needed}' as root in the shell that starts hone"
        f" (a service: LimitNOFILE={needed}; a container: --ulimit nofile={needed})"
    )


def too_few(needed: int, limit: int | None) -> str:
    """Say that a server's limit is lower than its settings need; empty if it is not."""
    if limit is None or needed <= limit:
        return ""
    return f"They need {needed:,} open files, and its process may have {limit:,}: {raising(needed)}"


def most_open_files() -> int:
    """Return how many files a server may have open at most: root may exceed its own hard limit."""
    of_all = _number(_PROC / _MOST_OF_ALL)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard == resource.RLIM_INFINITY or _may_raise_limits():
        return of_all
    return hard


def limit_of(pid: int) -> int | None:
    """Return how many files a process may have open, None if it is gone."""
    found = _LIMIT.search(text_if_there(_PROC / str(pid) / "limits"))
    if found is None:
        return None
    return _number(_PROC / _MOST_OF_ALL) if found[1] == "unlimited" else int(found[1])


def _may_raise_limits() -> bool:
    found = _CAPABILITIES.search(text_if_there(_PROC / "self" / "status"))
    return found is not None and bool(int(found[1], 16) & _MAY_RAISE_LIMITS)


def _number(path: Path) -> int:
    return int(path.read_text(encoding="ascii"))
