"""Ready-made servers: where in a tree the program of a server lies, also inside archives.

A tree is ready-made if it holds a server's program for this machine, in a folder for programs or
beside its ``share``. Files are read, none is run.

Package registries wrap a server's own archive in one of theirs: a jar holds a tar, or one for
each kind of machine. The inner archive that has a server for this machine is unpacked in its
place. The archives beside it are for other machines, and are left out.
"""

from __future__ import annotations

import platform
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dbhone.dbms.base_server import server_programs
from dbhone.errors import SourceError
from dbhone.session import Notify
from dbhone.source.archive import unpack
from dbhone.source.elf import machine_here, read_elf
from dbhone.untrusted_files import real_path, remove_tree, walk

_FOLDERS = ("bin", "libexec", "sbin")
_MOST_LISTED = 8
_ENDINGS = (
    *(".zip", ".jar", ".tar"),
    *(".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".tzst"),
)
"""The endings of archives that may have a server in them."""
_MAX_DEPTH = 3
"""How deep archives in archives are searched; servers are not wrapped deeper."""
_MAX_ARCHIVES = 16
"""How many archives of one folder are tried; a folder of a program's own jars holds more."""
_FOREIGN = ("windows", "win32", "win64", "darwin", "mac", "osx", "freebsd", "solaris")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyMadeServer:
    """A server in a tree.

    ``program`` is its file. ``prefix`` is the folder that it was installed to: it holds the folder
    of the program, or the program itself, and ``share``. In a distribution's package that is
    ``usr`` or ``usr/lib/postgresql/NN``.
    """

    prefix: Path
    program: Path


def find_server(root: Path) -> ReadyMadeServer | None:
    """Return the server in a tree, None if it holds none for this machine.

    Of several servers the one nearest to the top is returned, then the first by name.
    """
    machine = machine_here()
    return next((server for server in _servers(root) if _machine(server) == machine), None)


def require_server(root: Path, reference: str) -> ReadyMadeServer:
    """Return the server in the tree of ``reference``. Raises SourceError if there is none."""
    server = find_server(root)
    if server is not None:
        return server
    foreign = next(_servers(root), None)
    if foreign is not None:
        raise SourceError(
            f"the {foreign.program.name} in {reference} is for another machine "
            f"({_machine(foreign)}); this one runs {machine_here()}"
        )
    raise SourceError(
        f"there is no server in {reference}",
        hint=f"looked for {_alternatives(server_programs())} in a folder {_alternatives(_FOLDERS)},"
        f" or beside a folder share; at its top: {_top(root)}",
    )


def unpack_ready_made(archive: Path, into: Path, scratch: Path, notify: Notify) -> None:
    """Unpack ``archive`` into a folder, and the archives inside down to a server.

    Inner archives without a server stay packed. Programs and scripts become executable. Raises
    what ``unpack`` raises.
    """
    unpack(archive, into, scratch=scratch)
    unpack_inner_server(into, scratch, notify)


def unpack_inner_server(root: Path, scratch: Path, notify: Notify) -> None:
    """Unpack archives below ``root`` in their places, down to a server.

    Archives without a server stay packed. Programs and scripts become executable. Raises what
    ``unpack`` raises.
    """
    _unpack_down(root, scratch, notify, depth=_MAX_DEPTH)
    restore_execute_bits(root)


def has_archives(root: Path) -> bool:
    """Return whether there are archives below ``root`` that may have a server in them."""
    return next(_archives(root), None) is not None


def restore_execute_bits(root: Path) -> None:
    """Give programs, libraries and scripts the execute bit, which zip files may lose."""
    for path in _files(root):
        mode = stat.S_IMODE(path.stat().st_mode)
        if not mode & stat.S_IXUSR and _is_executable(path):
            path.chmod(mode | 0o111)


def _servers(root: Path) -> Iterator[ReadyMadeServer]:
    """Return the servers for any machine, those nearest to the top first."""
    real_root = root.resolve()
    servers = [
        ReadyMadeServer(prefix=prefix, program=Path(folder, name))
        for folder, folders, names in walk(root)
        if (prefix := _prefix(folder, folders)) is not None
        for name in server_programs()
        if name in names and real_path(folder / name).is_relative_to(real_root)
    ]
    return (server for server in sorted(servers, key=_rank) if _machine(server) is not None)


def _prefix(folder: Path, folders: list[str]) -> Path | None:
    """Return the prefix of programs in a folder, None if it is not a folder for programs."""
    if folder.name in _FOLDERS:
        return folder.parent
    return folder if "share" in folders else None


def _rank(server: ReadyMadeServer) -> tuple[int, str, int]:
    path = server.program
    return len(path.parts), str(path.parent), server_programs().index(path.name)


def _machine(server: ReadyMadeServer) -> str | None:
    elf = read_elf(server.program)
    return elf.machine if elf is not None and elf.runs else None


def _alternatives(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _top(root: Path) -> str:
    names = sorted(path.name + "/" * path.is_dir() for path in root.iterdir())
    rest = ["…"] if len(names) > _MOST_LISTED else []
    return ", ".join([*names[:_MOST_LISTED], *rest]) or "nothing"


def _unpack_down(root: Path, scratch: Path, notify: Notify, *, depth: int) -> bool:
    """Unpack archives below ``root`` until there is a server; return whether there is one."""
    if find_server(root) is not None:
        return True
    archives = sorted(_archives(root), key=_search_order)[: _MAX_ARCHIVES if depth else 0]
    for number, archive in enumerate(archives):
        notify(f"unpacking {archive.name}, which is inside")
        draft = scratch / f"inside-{depth}-{number}"
        unpack(archive, draft, scratch=scratch)
        if _unpack_down(draft, scratch, notify, depth=depth - 1):
            for other in archives:
                other.unlink()
            draft.rename(_folder_for(archive))
            return True
        remove_tree(draft)
    return False


def _archives(root: Path) -> Iterator[Path]:
    return (path for path in _files(root) if path.name.lower().endswith(_ENDINGS))


def _search_order(archive: Path) -> tuple[bool, bool, int, str]:
    """Order archives: those named after this machine first, those of other systems last."""
    name = archive.name.lower().replace("-", "_")
    for_here = any(word in name for word in _machine_names())
    foreign = any(word in name for word in _FOREIGN)
    return foreign, not for_here, -archive.stat().st_size, str(archive)


def _machine_names() -> tuple[str, ...]:
    machine = platform.machine().lower()
    return (machine, *{"x86_64": ("amd64", "x64"), "aarch64": ("arm64",)}.get(machine, ()))


def _folder_for(archive: Path) -> Path:
    """Return the folder that replaces an archive: its name without the ending."""
    ending = max((end for end in _ENDINGS if archive.name.lower().endswith(end)), key=len)
    folder = archive.with_name(archive.name[: -len(ending)] or "archive")
    if folder.exists() or folder.is_symlink():
        raise SourceError(f"{archive.name} and {folder.name} are in one folder")
    return folder


def _files(root: Path) -> Iterator[Path]:
    for folder, _, names in walk(root):
        for path in (folder / name for name in names):
            if not path.is_symlink() and path.is_file():
                yield path


def _is_executable(path: Path) -> bool:
    """Return whether a file is a script, a program or a shared library, by its content."""
    with path.open("rb") as file:
        if file.read(2) == b"#!":
            return True
    elf = read_elf(path)
    return elf is not None and elf.runs
