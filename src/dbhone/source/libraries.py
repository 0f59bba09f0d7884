"""Which shared libraries a ready-made program needs, and which of them the machine lacks.

The program is read, not run. Libraries are searched as the dynamic loader does it, see ld.so(8):
RPATH, RUNPATH, the loader's cache, the standard folders. The dependencies of the tree's own
libraries are followed. The machine's libraries are taken to be complete, because its packages
declare their dependencies.

A missing library is reported with the package that provides it, from ``libraries.toml``.
"""

from __future__ import annotations

import functools
import platform
import re
import shutil
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dbhone.errors import MachineError
from dbhone.process import output_of
from dbhone.source.elf import Links, machine_here, read_elf, read_links
from dbhone.untrusted_files import walk

_PACKAGES = Path(__file__).with_name("libraries.toml")
_CACHE_LINE = re.compile(r"^\s+(\S+) \(.*\) => (/.*)$", re.MULTILINE)
_WORD = re.compile(r"(\$\{\w+\}|\$\w+)")
_STANDARD = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
_CANDIDATE = re.compile(r"^(\S+):\n.*\n +Candidate: (?!\(none\))", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """What provides a library.

    ``package`` is one that this machine's package sources have, None if none is known. ``note``
    is advice for distributions that do not have it.
    """

    package: str | None
    note: str | None


def require_libraries(program: Path, root: Path) -> tuple[Path, ...]:
    """Return the folders for LD_LIBRARY_PATH: those of the tree ``root`` to which no RPATH leads.

    Raises MachineError if a library that the program needs is nowhere.
    """
    loader = _Loader(program, root)
    loader.load()
    if loader.missing:
        raise MachineError(
            f"{program.name} needs {' and '.join(loader.missing)}, which this machine lacks",
            hint=advice_on_missing(tuple(loader.missing)),
        )
    return tuple(loader.folders)


def find_system_library(soname: str) -> Path | None:
    """Return where this machine has a library that its programs can load, None if nowhere."""
    return _first_loadable(_loader_cache().get(soname, ()))


def missing_system_libraries(sonames: Iterable[str]) -> tuple[str, ...]:
    """Return those of some libraries that this machine's programs cannot load."""
    cache = _loader_cache()
    return tuple(soname for soname in sonames if _first_loadable(cache.get(soname, ())) is None)


def advice_on_missing(sonames: tuple[str, ...]) -> str:
    """Return how to install all of some libraries, as far as that is known."""
    providers = _providers(sonames)
    packages = dict.fromkeys(each.package for each in providers.values() if each.package)
    advice = [f"apt-get install {' '.join(packages)}"] if packages else []
    advice += [
        f"{soname}: {provider.note or 'no package is known to bring it'}"
        for soname, provider in providers.items()
        if provider.package is None
    ]
    return "; ".join(advice)


def install_advice(sonames: tuple[str, ...]) -> str:
    """Return how to install one of some libraries, whichever the package sources have."""
    providers = _providers(sonames).values()
    package = next((provider.package for provider in providers if provider.package), None)
    if package is not None:
        return f"apt-get install {package}"
    notes = dict.fromkeys(provider.note for provider in providers if provider.note)
    return "; ".join(notes) or f"install what brings {' or '.join(sonames)}"


def _first_loadable(paths: Iterable[Path]) -> Path | None:
    machine = machine_here()
    return next((path for path in paths if _is_loadable(path, machine)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """The packages that may provide a library, the preferred first, from the table."""

    packages: tuple[str, ...]
    note: str | None


@functools.cache
def _table() -> dict[str, _Entry]:
    table = tomllib.loads(_PACKAGES.read_text(encoding="utf-8"))
    return {
        soname: _Entry(packages=tuple(entry["packages"]), note=entry.get("note"))
        for soname, entry in table.items()
    }


def _providers(sonames: tuple[str, ...]) -> dict[str, Provider]:
    """Return what provides each of some libraries."""
    table = _table()
    packages = [name for soname in sonames if soname in table for name in table[soname].packages]
    available = _available(packages)
    return {
        soname: _provider_from(table[soname], available)
        if soname in table
        else Provider(package=None, note=None)
        for soname in sonames
    }


def _provider_from(entry: _Entry, available: frozenset[str]) -> Provider:
    package = next((name for name in entry.packages if name in available), None)
    return Provider(package=package, note=entry.note)


def _available(packages: list[str]) -> frozenset[str]:
    """Return those of some packages that the machine's package sources have."""
    if not packages:
        return frozenset()
    return frozenset(_CANDIDATE.findall(output_of(("apt-cache", "policy", *packages)) or ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Object:
    """A loaded program or library. ``loader`` is the object that is linked with it."""

    path: Path
    links: Links
    loader: _Object | None

    def rpaths(self) -> Iterator[tuple[Path, str]]:
        """Yield the folders in RPATHs that this object's libraries are searched in, with owners."""
        owner: _Object | None = self
        while owner is not None and not self.links.runpath:
            if not owner.links.runpath:
                yield from ((owner.path, folder) for folder in owner.links.rpath)
            owner = owner.loader


class _Loader:
    """Searches libraries as the dynamic loader does, breadth first, each name once."""

    def __init__(self, program: Path, root: Path) -> None:
        self.folders: dict[Path, None] = {}
        self.missing: list[str] = []
        self._root = root.resolve()
        self._cache = _loader_cache()
        elf = read_elf(program)
        self._machine = elf.machine if elf else ""
        self._program = program.resolve()

    def load(self) -> None:
        """Search what the program needs, and what the tree's own libraries need."""
        seen: set[str] = set()
        queue = [self._object(self._program, None)]
        for user in queue:
            for soname in user.links.needed if user else ():
                assert user is not None
                if soname in seen:
                    continue
                seen.add(soname)
                path = self._find(soname, user)
                if path is None:
                    self.missing.append(soname)
                elif path.resolve().is_relative_to(self._root):
                    queue.append(self._object(path.resolve(), user))

    def _object(self, path: Path, loader: _Object | None) -> _Object | None:
        links = read_links(path)
        return None if links is None else _Object(path=path, links=links, loader=loader)

    def _find(self, soname: str, user: _Object) -> Path | None:
        if "/" in soname:
            path = Path(soname)
            return path if path.is_absolute() and self._fits(path) else None
        paths = (*user.rpaths(), *((user.path, folder) for folder in user.links.runpath))
        folders = (folder for owner, text in paths for folder in _expanded(text, owner))
        candidates = (
            *(folder / soname for folder in folders),
            *self._cache.get(soname, ()),
            *(Path(folder, soname) for folder in _STANDARD),
        )
        return next(filter(self._fits, candidates), None) or self._bundled(soname)

    def _fits(self, path: Path) -> bool:
        return _is_loadable(path, self._machine)

    def _bundled(self, soname: str) -> Path | None:
        """Return a library in a folder of the tree that the loader does not search."""
        for folder, _, names in walk(self._root):
            path = folder / soname
            if soname in names and self._fits(path):
                self.folders[path.parent] = None
                return path
        return None


def _is_loadable(path: Path, machine: str) -> bool:
    elf = read_elf(path)
    return elf is not None and elf.runs and elf.machine == machine


def _expanded(text: str, owner: Path) -> Iterator[Path]:
    """Yield the folders that an entry of an RPATH may stand for; relative ones are left out."""
    for library in ("lib", "lib64", f"lib/{platform.machine()}-linux-gnu"):
        words = {"ORIGIN": str(owner.parent), "LIB": library, "PLATFORM": platform.machine()}
        path = "".join(words.get(part[1:].strip("{}"), part) for part in _WORD.split(text))
        if path.startswith("/"):
            yield Path(path)
        if path == text:
            return


def _loader_cache() -> dict[str, list[Path]]:
    """Return the paths of libraries by name, as ldconfig lists them."""
    # A user's PATH does not lead to it.
    program = shutil.which("ldconfig") or "/sbin/ldconfig"
    paths: dict[str, list[Path]] = {}
    for soname, path in _CACHE_LINE.findall(output_of((program, "-p")) or ""):
        paths.setdefault(soname, []).append(Path(path))
    return paths
