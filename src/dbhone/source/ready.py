"""Ready-made servers: where in a tree the program of a server lies.

A tree is ready-made if it holds a server's program for this machine, in a folder for programs
or beside its ``share``.
Files are read, none is run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dbhone.errors import SourceError
from dbhone.source.elf import machine_here, read_elf

PROGRAMS = ("mariadbd", "mysqld", "postgres")
"""The programs that are servers; where two lie in one folder, the first is meant."""
FOLDERS = ("bin", "libexec", "sbin")
_FEW = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyServer:
    """A server in a tree.

    ``program`` is its file; ``prefix`` the folder that it was installed to: it holds the folder
    of the program, or the program itself, and ``share``. Of a distribution's package that is
    ``usr`` or ``usr/lib/postgresql/NN``.
    """

    prefix: Path
    program: Path


def find_server(root: Path) -> ReadyServer | None:
    """Return the server in a tree, None if it holds none for this machine.

    Of several the one nearest to the top is meant, then the first by name.
    """
    machine = machine_here()
    return next((each for each in _servers(root) if _machine(each) == machine), None)


def require_server(root: Path, reference: str) -> ReadyServer:
    """Return the server in the tree of ``reference``. Raises SourceError if there is none."""
    found = find_server(root)
    if found is not None:
        return found
    foreign = next(_servers(root), None)
    if foreign is not None:
        raise SourceError(
            f"the {foreign.program.name} in {reference} is for another machine "
            f"({_machine(foreign)}); this one runs {machine_here()}"
        )
    raise SourceError(
        f"there is no server in {reference}",
        hint=f"looked for {_listed(PROGRAMS)} in a folder {_listed(FOLDERS)}, or beside "
        f"a folder share; at its top: {_top(root)}",
    )


def _servers(root: Path) -> Iterator[ReadyServer]:
    """Return the servers for any machine, those nearest to the top first."""
    inside = root.resolve()
    found = [
        ReadyServer(prefix=prefix, program=Path(folder, name))
        for folder, folders, names in os.walk(root)
        if (prefix := _prefix(Path(folder), folders)) is not None
        for name in PROGRAMS
        if name in names and Path(folder, name).resolve().is_relative_to(inside)
    ]
    return (each for each in sorted(found, key=_rank) if _machine(each) is not None)


def _prefix(folder: Path, folders: list[str]) -> Path | None:
    """Return the prefix that programs in a folder have, None if it is no folder for programs."""
    if folder.name in FOLDERS:
        return folder.parent
    return folder if "share" in folders else None


def _rank(server: ReadyServer) -> tuple[int, str, int]:
    path = server.program
    return len(path.parts), str(path.parent), PROGRAMS.index(path.name)


def _machine(server: ReadyServer) -> str | None:
    elf = read_elf(server.program)
    return elf.machine if elf is not None and elf.runs else None


def _listed(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _top(root: Path) -> str:
    names = sorted(path.name + "/" * path.is_dir() for path in root.iterdir())
    more = ["…"] if len(names) > _FEW else []
    return ", ".join([*names[:_FEW], *more]) or "nothing"
