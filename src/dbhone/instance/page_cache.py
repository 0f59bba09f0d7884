"""Evicts files from the kernel's page cache, so that they have to be read from the disk.

posix_fadvise(2) evicts the files of one folder and needs no root. Writing to
/proc/sys/vm/drop_caches would slow down everything else on the machine, other measured servers
included. The kernel may ignore the advice (tmpfs and ZFS do), so mincore(2) checks what is left.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from dbhone.errors import MachineError, UntrustedFileError
from dbhone.units import size
from dbhone.untrusted_files import open_untrusted, walk

_LIBC = ctypes.CDLL(None, use_errno=True)
_LEFT = 0.02
"""The share of files that may stay: pages that something else is just reading."""
_TRIAL = 4 * 1024 * 1024
_REMEDY = "choose a home on a disk with an ordinary file system: --home or DBHONE_HOME"


def evict(folder: Path) -> None:
    """Write all files below a folder to the disk, and evict them from the page cache.

    Raises MachineError if it keeps them, OSError if a file cannot be read.
    """
    files = list(_files(folder))
    for path in files:
        _evict_file(path)
    whole = sum(path.stat().st_size for path in files)
    left = sum(cached_bytes(path) for path in files)
    if left > whole * _LEFT:
        raise MachineError(
            f"the kernel keeps {size(left)} of the {size(whole)} below {folder} in memory,"
            " although it was asked to drop them",
            hint=_REMEDY,
        )


def evict_programs(programs: Iterable[Path]) -> None:
    """Let programs and libraries come from the disk into other pages of memory, where they can.

    Where in memory a program lies, and how much of it lies together, changes its speed by
    percents, and stays for as long as the page cache has it. What is running keeps its pages. A
    folder stands for all files below it.
    """
    for path in programs:
        with contextlib.suppress(OSError, UntrustedFileError):
            for file in _files(path) if path.is_dir() else (path,):
                _try_to_evict(file)


def _try_to_evict(path: Path) -> None:
    with contextlib.suppress(OSError, UntrustedFileError):
        _evict_file(path)


def _evict_file(path: Path) -> None:
    with open_untrusted(path) as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def check_evictable(folder: Path) -> None:
    """Raise MachineError if the kernel does not evict a trial file in this folder."""
    trial = folder / "forget-me"
    trial.mkdir()
    path = trial / "file"
    try:
        path.write_bytes(os.urandom(1024) * (_TRIAL // 1024))
        evict(trial)
    finally:
        path.unlink(missing_ok=True)
        trial.rmdir()


def cached_bytes(path: Path) -> int:
    """Return how much of a file the kernel has in memory, in whole pages."""
    with open_untrusted(path) as file:
        length = os.fstat(file.fileno()).st_size
        return _cached_bytes(file.fileno(), length) if length else 0


def _cached_bytes(descriptor: int, length: int) -> int:
    pages = ctypes.create_string_buffer(-(-length // mmap.PAGESIZE))
    # A private mapping may be written, which ctypes asks for; nothing is.
    with mmap.mmap(descriptor, length, access=mmap.ACCESS_COPY) as mapping:
        first = ctypes.c_char.from_buffer(mapping)
        try:
            address, size_ = ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(length)
            if _LIBC.mincore(address, size_, pages) != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        finally:
            del first  # or the mapping cannot be closed
    return sum(page & 1 for page in pages.raw) * mmap.PAGESIZE


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in walk(folder):
        yield from (path for name in names if stat.S_ISREG((path := parent / name).lstat().st_mode))
