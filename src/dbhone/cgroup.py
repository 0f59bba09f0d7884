"""Control groups, see cgroups(7): the limits of the one that hone runs in, and groups of our own.

The kernel counts what all processes of a group use together, so that a limit on it holds for a
program with all that it starts. hone makes a group for each tenant (``tenant.py``), below its own
group in version 1, and in version 2 below the nearest that can be divided. That group may be above
hone's own, whose limits a tenant would then escape; hone makes no groups if there are any.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import re
import secrets
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import psutil

from dbhone.files import text_if_there
from dbhone.units import size

_NAME = "dbhone-{session}-{number}"
_NAMED = re.compile(r"dbhone-(?:[0-9a-f]{12}|trial[0-9]+)-[0-9a-f]{8}")
"""How hone names its groups, and nobody else does: ``make_group`` gives no other names."""
_TREES = ("memory", "pids")
_LIMITS = ("cpu.max", "cpuset.cpus", "io.max", "memory.high", "memory.max")
"""A group's limits in version 2 that somebody set; on processes systemd sets one for all."""
_NO_LIMIT: tuple[list[str], ...] = ([], ["max"])
"""The first word of a limit's file, if any, where there is no limit."""
_RESERVE = 1 << 30
_TRIES = 5
_PATIENCE = 5.0
_POLL = 0.01
_MOUNT = Path("sys/fs/cgroup")
_UNLIMITED = 1 << 60
"""Version 1 tells "no limit" as a number near 2**63."""


def folders(root: Path, controller: str) -> tuple[Path, ...]:
    """Return the folders of our group and of those above it, the nearest first.

    The result is empty if none can be seen. ``root`` is ``/``. ``controller`` is ``cpu``,
    ``memory`` or ``pids``: version 1 has a tree for each of them, version 2 one for all.
    """
    own_folder = _own(root, controller)
    if own_folder is None:
        return ()
    top, own = own_folder
    chain = [top / own, *(top / parent for parent in own.parents)] if own.parts else [top]
    return tuple(folder for folder in chain if folder.is_dir())


def _own(root: Path, controller: str) -> tuple[Path, PurePosixPath] | None:
    """Return where the controller's tree is, and the path of our group in it."""
    unified = None
    for line in text_if_there(root / "proc/self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        relative = PurePosixPath(path.lstrip("/"))
        if controller in names.split(","):
            for name in (names, controller):
                if (root / _MOUNT / name).is_dir():
                    return root / _MOUNT / name, relative
        if not names:
            unified = relative
    return None if unified is None else (root / _MOUNT, unified)


def cpu_limit(root: Path) -> float:
    """Return how many cores' worth of time the group may use; infinite without a limit."""
    limits = (_cpu_limit(folder) for folder in folders(root, "cpu"))
    return min(limits, default=math.inf)


def _cpu_limit(folder: Path) -> float:
    words = _words(folder / "cpu.max")
    if not words:
        words = _words(folder / "cpu.cfs_quota_us") + _words(folder / "cpu.cfs_period_us")
    if len(words) != 2 or words[0] == "max" or int(words[0]) <= 0:
        return math.inf
    return int(words[0]) / int(words[1])


def usable_cores(root: Path = Path("/")) -> int:
    """Return the cores that may be used: those allowed, and no more than the quota is worth."""
    allowed = len(os.sched_getaffinity(0))
    limit = cpu_limit(root)
    return allowed if math.isinf(limit) else max(1, min(allowed, int(limit)))


def memory_limit(root: Path) -> float:
    """Return how many bytes of memory the group may hold; infinite without a limit."""
    limits = (_memory_limit(folder) for folder in folders(root, "memory"))
    return min(limits, default=math.inf)


def _memory_limit(folder: Path) -> float:
    words = _words(folder / "memory.max") or _words(folder / "memory.limit_in_bytes")
    if not words or words[0] == "max" or int(words[0]) >= _UNLIMITED:
        return math.inf
    return float(words[0])


def _words(path: Path) -> list[str]:
    return text_if_there(path).split()


def total_memory() -> int:
    """Return how many bytes all programs may hold: the machine's memory, or less by our group."""
    return int(min(float(psutil.virtual_memory().total), memory_limit(Path("/"))))


def usable_memory() -> int:
    """Return how many bytes all tenants together may hold: the rest is the machine's and hone's.

    The rest is 1 GiB, or an eighth of a small machine's memory.
    """
    total = total_memory()
    return total - min(_RESERVE, total // 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlGroup:
    """A control group of our own, with a limit on memory, in bytes, and one on processes.

    ``folders`` are its folders, one in each of the kernel's trees. Processes join it when they are
    started (``supervisor.py``), and all that they start is in it, too. ``locks`` are descriptors
    of the folders, which are locked while hone lives: an unlocked one was left by a killed hone.
    """

    folders: tuple[Path, ...]
    memory: int
    processes: int
    locks: list[int] = field(default_factory=list, compare=False)

    def exceeded(self) -> str | None:
        """Return in words which limit was exceeded, None if neither was."""
        if self.out_of_memory():
            return f"it used more than the {size(self.memory)} of memory that it may use"
        if self._count("pids.events", "max"):
            return (
                f"it needed more than the {self.processes} processes and threads that it may have"
            )
        return None

    def out_of_memory(self) -> bool:
        """Return whether the kernel killed a process because the limit on memory was exceeded."""
        return any(
            self._count(name, "oom_kill") for name in ("memory.events", "memory.oom_control")
        )

    def _count(self, name: str, event: str) -> int:
        """Return how often something happened, by one of the group's files."""
        for folder in self.folders:
            words = _words(folder / name)
            for key, value in zip(words[::2], words[1::2], strict=False):
                if key == event:
                    return int(value)
        return 0

    def remove(self) -> None:
        """End what is still in the group, and remove it. Removing it again does nothing."""
        for folder in self.folders:
            _remove(folder)
        while self.locks:
            os.close(self.locks.pop())


def make_group(
    session: str, *, memory: int, processes: int, root: Path = Path("/")
) -> ControlGroup | None:
    """Return a new control group; None where the kernel or the machine's owner does not allow it.

    Its name has the id of the session. Until it is locked, another hone may take it for one that a
    dead hone left, and remove it; then another is made.
    """
    parents = _parents(root)
    if not parents:
        return None
    for _ in range(_TRIES):
        name = _NAME.format(session=session, number=secrets.token_hex(4))
        assert _NAMED.fullmatch(name), "a group of another name would never be removed"
        group = ControlGroup(
            folders=tuple(parent / name for parent in parents),
            memory=memory,
            processes=processes,
        )
        try:
            for folder in group.folders:
                folder.mkdir()
                group.locks.append(_lock_new(folder))
                _limit(folder, memory, processes)
        except (FileNotFoundError, BlockingIOError):
            group.remove()
        except OSError:
            group.remove()
            return None
        else:
            return group
    return None


def refusal(root: Path = Path("/")) -> str | None:
    """Return why no control groups can be made, None if they can; it is tried."""
    escaped = ", ".join(escaped_limits(root))
    if escaped:
        return f"hone's own control group has limits that groups beside it escape ({escaped})"
    group = make_group(f"trial{os.getpid()}", memory=_RESERVE, processes=1, root=root)
    if group is None:
        return "hone may not create control groups here"
    group.remove()
    return None


def escaped_limits(root: Path = Path("/")) -> tuple[str, ...]:
    """Return the limits that hone is under and a group of ours would not be, by their files."""
    found = (_escaped(chain, _nearest(chain)) for chain in (folders(root, tree) for tree in _TREES))
    return tuple(dict.fromkeys(name for names in found for name in names))


def remove_dead_groups(root: Path = Path("/")) -> None:
    """End what is left in the control groups of hones that were killed, and remove them.

    The homes of those hones do not matter. A group that this hone is in is not touched.
    """
    ours = {folder for tree in _TREES for folder in folders(root, tree)}
    tops = dict.fromkeys(own[0] for tree in _TREES if (own := _own(root, tree)) is not None)
    for folder in (folder for top in tops for folder in _groups_below(top)):
        if not _NAMED.fullmatch(folder.name) or folder in ours:
            continue
        with contextlib.suppress(OSError):  # it lives, or is another user's, or has just gone
            lock = _lock(folder)
            try:
                _remove(folder)
            finally:
                os.close(lock)


def _lock(folder: Path) -> int:
    """Lock a group's folder; return its descriptor. Raises BlockingIOError if it is locked."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _lock_new(folder: Path) -> int:
    """Lock a group's folder as it was just made. Raises FileNotFoundError if it is gone already."""
    descriptor = _lock(folder)
    if not folder.exists():  # what was opened can be locked even so
        os.close(descriptor)
        raise FileNotFoundError(folder)
    return descriptor


def _parents(root: Path) -> tuple[Path, ...]:
    """Return the groups below which ours are made: one for each tree; one for all in version 2."""
    parents = (_parent(root, tree) for tree in _TREES)
    return tuple(dict.fromkeys(parent for parent in parents if parent is not None))


def _parent(root: Path, tree: str) -> Path | None:
    """Return the nearest group that can have groups below it with limits of this tree.

    In version 1 that is our own. In version 2 a group with processes cannot divide what it has,
    unless it is the kernel's topmost. None if our processes would escape a limit there.
    """
    chain = folders(root, tree)
    parent = _nearest(chain)
    return None if _escaped(chain, parent) else parent


def _nearest(chain: Sequence[Path]) -> Path | None:
    if chain and not (chain[0] / "cgroup.controllers").exists():
        return chain[0]
    return next((folder for folder in chain if _divides(folder)), None)


def _escaped(chain: Sequence[Path], parent: Path | None) -> list[str]:
    """Return the limits of the groups from our own up to below the parent."""
    if parent is None:
        return []
    files = (folder / name for folder in chain[: chain.index(parent)] for name in _LIMITS)
    return [file.name for file in files if _words(file)[:1] not in _NO_LIMIT]


def _divides(folder: Path) -> bool:
    wanted = set(_TREES)
    # To move a process, one must be able to write to where it comes from and to what lies above.
    if not os.access(folder / "cgroup.procs", os.W_OK):
        return False
    return wanted <= set(_words(folder / "cgroup.subtree_control"))


def _limit(folder: Path, memory: int, processes: int) -> None:
    """Write a group's limits; those of the other tree are none of its files. Raises OSError."""
    limits = {
        "memory.limit_in_bytes": memory,
        "memory.memsw.limit_in_bytes": memory,  # with swap; after the one above, see memory.txt
        "memory.max": memory,
        "memory.swap.max": 0,
        "memory.oom.group": 1,  # all or nothing: a part of a server is not a server
        "pids.max": processes,
    }
    for name, value in limits.items():
        if (folder / name).exists():
            (folder / name).write_text(str(value), encoding="ascii")


def _remove(folder: Path) -> None:
    """Remove a group. One that still has processes after a while stays, for the next hone."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        try:
            folder.rmdir()
        except (FileNotFoundError, PermissionError):
            return
        except OSError:
            for word in _words(folder / "cgroup.procs"):
                with contextlib.suppress(OSError):
                    os.kill(int(word), signal.SIGKILL)
            time.sleep(_POLL)
        else:
            return


def _groups_below(top: Path) -> Iterator[Path]:
    """Yield all groups; those that go meanwhile are skipped."""
    waiting = [top]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            found = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
            waiting += found
            yield from found
