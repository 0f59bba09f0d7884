"""Which shared libraries a ready-made program needs, and which of them the machine lacks.

The program is read, not run. Libraries are looked up as the dynamic loader does it, see ld.so(8):
RPATH, RUNPATH, the loader's cache, the standard folders. Those of the tree itself are followed to
what they need; those of the machine are taken to be whole, as its packages see to that.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dbhone.errors import MachineError
from dbhone.process import output_of
from dbhone.source.elf import Links, machine_here, read_elf, read_links
from dbhone.source.package_lookup import Bringer, bringers_of

_CACHED = re.compile(r"^\s+(\S+) \(.*\) => (/.*)$", re.MULTILINE)
_WORD = re.compile(r"(\$\{\w+\}|\$\w+)")
_STANDARD = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingLibrary:
    """A library that the machine lacks.

    ``soname`` is the name that ``needed_by`` asks for; ``bringer`` says what brings it.
    """

    soname: str
    needed_by: Path
    bringer: Bringer


@dataclass(frozen=True, slots=True, kw_only=True)
class Libraries:
    """What a program's libraries want to be found.

    ``folders`` of the tree hold libraries that it brings itself but does not say where: they
    belong into LD_LIBRARY_PATH. ``missing`` is what is nowhere.
    """

    folders: tuple[Path, ...]
    missing: tuple[MissingLibrary, ...]


def find_libraries(program: Path, root: Path) -> Libraries:
    """Return what the libraries of a program in the tree ``root`` want to be found."""
    loader = _Loader(program, root)
    loader.load()
    bringers = bringers_of(tuple(loader.missing))
    return Libraries(
        folders=tuple(loader.folders),
        missing=tuple(
            MissingLibrary(soname=soname, needed_by=path, bringer=bringers[soname])
            for soname, path in loader.missing.items()
        ),
    )


def require_libraries(program: Path, root: Path) -> tuple[Path, ...]:
    """Return the folders for LD_LIBRARY_PATH. Raises MachineError if a library is missing."""
    found = find_libraries(program, root)
    if found.missing:
        raise _error(program, found.missing)
    return found.folders


def _error(program: Path, missing: tuple[MissingLibrary, ...]) -> MachineError:
    names = " and ".join(each.soname for each in missing)
    packages = dict.fromkeys(each.bringer.package for each in missing if each.bringer.package)
    advice = [f"apt-get install {' '.join(packages)}"] if packages else []
    advice += [
        f"{each.soname}: {each.bringer.note or 'no package is known to bring it'}"
        for each in missing
        if each.bringer.package is None
    ]
    return MachineError(
        f"{program.name} needs {names}, which this machine lacks", hint="; ".join(advice)
    )


def library_here(soname: str) -> Path | None:
    """Return where this machine has a library that its programs can load, None if nowhere."""
    machine = machine_here()
    paths = _loader_cache().get(soname, ())
    return next((path for path in paths if _is_loadable(path, machine)), None)


def bringing_one_of(sonames: tuple[str, ...]) -> str:
    """Say how to get one of some libraries, whichever the machine's package sources have."""
    bringers = bringers_of(sonames).values()
    package = next((each.package for each in bringers if each.package), None)
    if package is not None:
        return f"apt-get install {package}"
    notes = dict.fromkeys(each.note for each in bringers if each.note)
    return "; ".join(notes) or f"install what brings {' or '.join(sonames)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Object:
    """A program or library that was loaded. ``loader`` is what asked for it."""

    path: Path
    links: Links
    loader: _Object | None

    def rpaths(self) -> Iterator[tuple[Path, str]]:
        """Yield the folders in RPATHs that hold for what this needs, and whose they are."""
        each: _Object | None = self
        while each is not None and not self.links.runpath:
            if not each.links.runpath:
                yield from ((each.path, folder) for folder in each.links.rpath)
            each = each.loader


class _Loader:
    """Finds libraries as the dynamic loader does, breadth first, each name once."""

    def __init__(self, program: Path, root: Path) -> None:
        self.folders: dict[Path, None] = {}
        self.missing: dict[str, Path] = {}
        self._root = root.resolve()
        self._cache = _loader_cache()
        elf = read_elf(program)
        self._machine = elf.machine if elf else ""
        self._program = program.resolve()

    def load(self) -> None:
        """Follow what the program needs."""
        seen: set[str] = set()
        queue = [self._object(self._program, None)]
        for each in queue:
            for soname in each.links.needed if each else ():
                assert each is not None
                if soname in seen:
                    continue
                seen.add(soname)
                path = self._find(soname, each)
                if path is None:
                    self.missing[soname] = each.path
                elif path.resolve().is_relative_to(self._root):
                    queue.append(self._object(path.resolve(), each))

    def _object(self, path: Path, loader: _Object | None) -> _Object | None:
        links = read_links(path)
        return None if links is None else _Object(path=path, links=links, loader=loader)

    def _find(self, soname: str, user: _Object) -> Path | None:
        if "/" in soname:
            path = Path(soname)
            return path if path.is_absolute() and self._fits(path) else None
        named = (*user.rpaths(), *((user.path, folder) for folder in user.links.runpath))
        folders = (each for owner, text in named for each in _expanded(text, owner))
        candidates = (
            *(folder / soname for folder in folders),
            *self._cache.get(soname, ()),
            *(Path(folder, soname) for folder in _STANDARD),
        )
        found = next(filter(self._fits, candidates), None)
        return found or self._bundled(soname)

    def _fits(self, path: Path) -> bool:
        return _is_loadable(path, self._machine)

    def _bundled(self, soname: str) -> Path | None:
        """Return a library that lies in the tree where the loader does not look."""
        for folder, folders, names in os.walk(self._root):
            folders.sort()
            path = Path(folder, soname)
            if soname in names and self._fits(path):
                self.folders[path.parent] = None
                return path
        return None


def _is_loadable(path: Path, machine: str) -> bool:
    elf = read_elf(path)
    return elf is not None and elf.runs and elf.machine == machine


def _expanded(text: str, owner: Path) -> Iterator[Path]:
    """Yield the folders that a path in an RPATH may mean; relative ones mean nothing certain."""
    for library in ("lib", "lib64", f"lib/{platform.machine()}-linux-gnu"):
        words = {"ORIGIN": str(owner.parent), "LIB": library, "PLATFORM": platform.machine()}
        path = "".join(words.get(part[1:].strip("{}"), part) for part in _WORD.split(text))
        if path.startswith("/"):
            yield Path(path)
        if path == text:
            return


def _loader_cache() -> dict[str, list[Path]]:
    """Return the paths of libraries by name, as ldconfig has them."""
    # It lies where a user's PATH does not lead.
    program = shutil.which("ldconfig") or "/sbin/ldconfig"
    found: dict[str, list[Path]] = {}
    for soname, path in _CACHED.findall(output_of((program, "-p")) or ""):
        found.setdefault(soname, []).append(Path(path))
    return found
