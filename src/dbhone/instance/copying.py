"""Copies trees of large files as fast as the file system can: shared, or inside the kernel."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path

_FICLONE = 0x40049409
"""ioctl_ficlone(2): the copy shares the blocks until one of the two is written."""
_CANNOT = frozenset(
    {errno.EOPNOTSUPP, errno.ENOTTY, errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EPERM}
)
_PIECE = 16 * 1024 * 1024


def copy_tree(source: Path, target: Path, owner: tuple[int, int] | None) -> None:
    """Copy all below ``source`` into the empty folder ``target``, which gets its mode too.

    Modes and links are kept, holes stay holes; times are not kept. Each folder of it may be
    written by its owner. All belongs to ``owner``, a user and a group, else to ourselves.
    Raises OSError.
    """
    for folder, folders, names in os.walk(source):
        own = target / Path(folder).relative_to(source)
        for name in (*folders, *names):
            _copy(Path(folder) / name, own / name, owner)
        _finish(own, Path(folder).stat(), owner)


def _copy(source: Path, target: Path, owner: tuple[int, int] | None) -> None:
    status = source.lstat()
    if stat.S_ISLNK(status.st_mode):
        target.symlink_to(source.readlink())
        if owner is not None:
            os.chown(target, *owner, follow_symlinks=False)
    elif stat.S_ISDIR(status.st_mode):
        target.mkdir(mode=0o700)
    elif stat.S_ISREG(status.st_mode):
        _copy_file(source, target)
        _finish(target, status, owner)


def _finish(path: Path, status: os.stat_result, owner: tuple[int, int] | None) -> None:
    if owner is not None:
        os.chown(path, *owner)
    path.chmod(stat.S_IMODE(status.st_mode))


def _copy_file(source: Path, target: Path) -> None:
    with source.open("rb") as reading, target.open("xb") as writing:
        before, after = reading.fileno(), writing.fileno()
        if _share(before, after):
            return
        size = os.fstat(before).st_size
        for start, end in _filled(before, size):
            _copy_range(before, after, start, end)
        os.ftruncate(after, size)


def _share(source: int, target: int) -> bool:
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError as error:
        if error.errno in _CANNOT:
            return False
        raise
    return True


def _filled(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a file that are not holes."""
    position = 0
    while position < size:
        try:
            start = os.lseek(descriptor, position, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole is left
                return
            raise
        position = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield start, position


def _copy_range(source: int, target: int, start: int, end: int) -> None:
    while start < end:
        count = _copy_piece(source, target, start, min(_PIECE, end - start))
        if count == 0:  # the file became shorter
            return
        start += count


def _copy_piece(source: int, target: int, start: int, length: int) -> int:
    with contextlib.suppress(OSError):
        return os.copy_file_range(source, target, length, start, start)
    # Not every file system can; what is really wrong is told by this one.
    return os.pwrite(target, os.pread(source, length, start), start)
