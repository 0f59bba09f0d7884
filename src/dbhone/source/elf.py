"""Reads ELF files with pyelftools; it never runs them.

For a file that is no ELF file, or that is damaged, the functions return None.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.dynamic import Dynamic
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

from dbhone.versions import numbers

T = TypeVar("T")

_MAGIC = b"\x7fELF"
_THIS_PROGRAM = Path("/proc/self/exe")
_NEEDED_VERSIONS = ".gnu.version_r"
_GLIBC = re.compile(r"GLIBC_(\d+(?:\.\d+)*)")
_MOST_VERSIONS = 10_000
"""A damaged file may repeat its entries without an end."""
# What compilers write into the section .comment: "GCC: (GNU) 4.4.7 20120313 (Red Hat 4.4.7-23)",
# "Debian clang version 14.0.6".
_COMPILERS = {
    "clang": re.compile(rb"\bclang version (\d+(?:\.\d+)*)"),
    "gcc": re.compile(rb"^GCC: \([^)]*\) (\d+(?:\.\d+)*)"),
}
# What pyelftools raises on malformed headers.
_DAMAGE = (
    *(ELFError, ConstructError, OSError, ValueError, LookupError, ArithmeticError),
    *(TypeError, AttributeError, AssertionError, MemoryError),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Elf:
    """An ELF file. ``machine`` is the processor and the width, such as ``x64, 64 bits``.

    ``runs`` says that it is a program or a shared library, and not an object file.
    """

    machine: str
    runs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """The dynamic section of a program or library: see ld.so(8).

    ``needed`` are the names of libraries; ``rpath`` and ``runpath`` the folders to search, as they
    are written.
    """

    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]


def read_elf(path: Path) -> Elf | None:
    """Return the file's header, None if it is no ELF file."""
    return _read(path, _elf)


def read_links(path: Path) -> Links | None:
    """Return what an ELF file is linked with, None if it has no dynamic section."""
    return _read(path, _links)


def read_compiler(path: Path) -> str | None:
    """Return the compiler that made a program, such as ``gcc 7.5.0``, None if it is not recorded.

    A program's object files may come from several compilers: the linker adds files of the C
    library, which the system's gcc compiled. So clang goes before gcc, then the compiler of the
    most files, then the newest.
    """
    return _read(path, _compiler)


def read_glibc(path: Path) -> str | None:
    """Return the oldest glibc whose symbols are enough for an ELF file, such as ``2.34``.

    None if it needs no version of glibc's.
    """
    return _read(path, _glibc)


def section_sizes(path: Path) -> dict[str, int]:
    """Return the sizes of a file's sections by their names, in bytes; none of a damaged file."""
    return _read(path, _section_sizes) or {}


def machine_here() -> str:
    """Return the machine whose programs run here, as ``Elf.machine`` names it."""
    elf = read_elf(_THIS_PROGRAM)
    assert elf is not None, "Python is an ELF program"
    return elf.machine


def glibc_here() -> str | None:
    """Return the version of this machine's C library, None if that is not glibc."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (ValueError, OSError):
        return None
    return version if name == "glibc" else None


def _read(path: Path, read: Callable[[ELFFile], T | None]) -> T | None:
    try:
        with path.open("rb") as stream:
            if stream.read(len(_MAGIC)) != _MAGIC:
                return None
            return read(ELFFile(stream))
    except _DAMAGE:
        return None


def _elf(file: ELFFile) -> Elf:
    return Elf(
        machine=f"{file.get_machine_arch()}, {file.elfclass} bits",
        runs=file["e_type"] in ("ET_EXEC", "ET_DYN"),
    )


def _compiler(file: ELFFile) -> str | None:
    section = file.get_section_by_name(".comment")
    lines = section.data().split(b"\0") if section else []
    for name, pattern in _COMPILERS.items():
        versions = Counter(match[1].decode() for line in lines if (match := pattern.search(line)))
        if versions:
            return (
                f"{name} {max(versions, key=lambda version: (versions[version], numbers(version)))}"
            )
    return None


def _glibc(file: ELFFile) -> str | None:
    section = file.get_section_by_name(_NEEDED_VERSIONS)
    if not isinstance(section, GNUVerNeedSection):
        return None
    entries = (entry for _, parts in section.iter_versions() for entry in parts)
    names = [entry.name for entry in islice(entries, _MOST_VERSIONS)]
    versions = [match[1] for name in names if (match := _GLIBC.fullmatch(name))]
    return max(versions, key=numbers, default=None)


def _section_sizes(file: ELFFile) -> dict[str, int]:
    return {section.name: section["sh_size"] for section in file.iter_sections()}


def _links(file: ELFFile) -> Links | None:
    for segment in file.iter_segments("PT_DYNAMIC"):
        if isinstance(segment, Dynamic):
            return Links(
                needed=tuple(_texts(segment, "needed")),
                rpath=_folders(_texts(segment, "rpath")),
                runpath=_folders(_texts(segment, "runpath")),
            )
    return None


def _texts(part: Dynamic, name: str) -> Iterator[str]:
    for tag in part.iter_tags(f"DT_{name.upper()}"):
        yield str(getattr(tag, name))  # an attribute that only tags of its kind have


def _folders(paths: Iterator[str]) -> tuple[str, ...]:
    return tuple(folder for path in paths for folder in path.split(":"))
