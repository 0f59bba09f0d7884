"""What a package deploys: the build's files and their licences."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dbhone.compilation.manifest import Build, KeptFile
from dbhone.dbms.base import Licence, load_dbms
from dbhone.errors import PackageError, UsageError
from dbhone.home import Home
from dbhone.package.archive import Entry
from dbhone.package.masking import PrivatePaths
from dbhone.source.elf import read_elf, read_glibc, read_links
from dbhone.source.kinds.git import is_local_repository
from dbhone.source.tree import require_kept
from dbhone.untrusted_files import is_inside, walk
from dbhone.versions import numbers

PACKAGES = "packages"
"""The artifact, and the folder, of a distribution's binary packages."""
_INSTALL = "install"
_LICENCES = "licences"
_SECRET = re.compile(r"//[^/@\s]*@")
_ELSEWHERE = re.compile(r"((?<![\w.$}])(?:-[A-Za-z]+)?)/(?!usr/|dev/null)[^\s:=,;\"']+")
"""An absolute path that is not the system's, alone or right behind a compiler's option."""
_SET = re.compile(r"[A-Za-z0-9][\w.+=-]*(?:/[A-Za-z0-9][\w.+=-]*)?")
"""A set that is trained on, and the name of its suite, if that is another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The files of a package. ``masked`` counts those in which a path was replaced.

    ``machine`` is the processor architecture; ``libraries`` are those of the system that the
    programs are linked with, and ``glibc`` is the oldest version of glibc that is enough for them,
    None if they need none. ``lacks`` is what a distribution's packages have besides.
    """

    entries: tuple[Entry, ...]
    masked: int
    machine: str
    libraries: tuple[str, ...]
    licence: Licence
    glibc: str | None = None
    lacks: tuple[str, ...] = ()


def content_of(build: Build, home: Home) -> Content:
    """Return the files of a build that are worth deploying, with their licence.

    Raises UsageError for a ready-made server, PackageError for what would not run elsewhere, and
    SourceError if the source tree is no longer kept.
    """
    manifest, dbms = build.manifest, load_dbms(build.manifest.dbms)
    private = PrivatePaths.of_build(build, home)
    if manifest.inputs.packaging:
        _check_installed(build, private)
    if manifest.inputs.variant.ready_made or dbms.licence is None:
        what = "a ready-made server" if manifest.inputs.variant.ready_made else dbms.title
        raise UsageError(f"hone makes no packages of {what}", hint="build it of its source")
    paths = _kept_files(build, dbms.drivers)
    masked = 0
    entries = []
    own = {Path(name).name for name in paths}
    libraries: set[str] = set()
    for name, path in paths.items():
        entry = _entry(name, path, private)
        masked += not entry.link and entry.data != path.read_bytes()
        entries.append(entry)
        libraries |= set(_linked(path, name)) - own
    primary = read_elf(build.path(manifest.primary))
    return Content(
        entries=(*entries, *_licences(build, dbms.licence, home)),
        masked=masked,
        machine=primary.machine if primary else "unknown",
        libraries=tuple(sorted(libraries)),
        licence=dbms.licence,
        glibc=_glibc(_installed(build) if manifest.inputs.packaging else paths.values()),
        lacks=() if manifest.inputs.packaging else dbms.lacks,
    )


def without_paths(text: str) -> str:
    """Return a text in which no path of this machine stands, the system's own apart."""
    return _ELSEWHERE.sub(r"\1PATH", text)


def public_training(trained_on: Iterable[str]) -> list[str]:
    """Return what a profile was trained on, without the words of a user's command."""
    return [name if _SET.fullmatch(name) else "a command of the user's" for name in trained_on]


def public_reference(reference: str) -> str:
    """Return a source reference without folders of this machine and without secrets."""
    kind, _, location = reference.partition(":")
    if kind == "dir":
        return kind
    if kind == "git" and is_local_repository(location):
        return "git:PATH"
    return without_paths(_SECRET.sub("//", reference).replace("://", ":%%")).replace(":%%", "://")


def _kept_files(build: Build, drivers: frozenset[str]) -> dict[str, Path]:
    """Return the build's files by their names in the package.

    Of a build by a distribution's rules those are the binary packages. Raises PackageError for a
    file that was altered since it was built: what was verified and measured is another.
    """
    found: dict[str, Path] = {}
    for artifact, kept in build.manifest.files.items():
        path = build.folder / kept.path
        if artifact in drivers or (build.manifest.inputs.packaging and artifact != PACKAGES):
            continue
        if KeptFile.of(path, build.folder) != kept:
            raise PackageError(
                f"{kept.path} of the build {build.digest[:12]} is no longer what was built",
                hint=f"delete the folder {build.folder}, and build it again",
            )
        files = [path]
        if kept.tree:
            files = [folder / name for folder, _, names in walk(path) for name in names]
        for file in files:
            found[str(file.relative_to(build.folder)).removeprefix(f"{_INSTALL}/")] = file
    return found


def _check_installed(build: Build, private: PrivatePaths) -> None:
    """Raise PackageError if what binary packages install names a path of this machine."""
    installed = build.path(_INSTALL)
    for path in _installed(build):
        if not path.is_symlink() and private.are_in(path.read_bytes()):
            raise PackageError(
                f"{path.relative_to(installed)} in the packages names a folder of this machine",
                hint="packages with it must not leave this machine",
            )


def _installed(build: Build) -> Iterator[Path]:
    """Yield the files that a build's binary packages install."""
    for folder, _, names in walk(build.path(_INSTALL)):
        yield from (folder / name for name in names)


def _glibc(files: Iterable[Path]) -> str | None:
    """Return the oldest glibc that is enough for all of these files, None if they need none."""
    needed = [read_glibc(path) for path in files if not path.is_symlink()]
    return max(filter(None, needed), key=numbers, default=None)


def _entry(name: str, path: Path, private: PrivatePaths) -> Entry:
    if path.is_symlink():
        target = path.readlink()
        if target.is_absolute() or ".." in target.parts:
            raise PackageError(f"the build's link {name} leads out of it, to {target}")
        return Entry(name=name, link=str(target))
    data = private.masked(path.read_bytes())
    return Entry(name=name, data=data, executable=os.access(path, os.X_OK))


def _linked(path: Path, name: str) -> tuple[str, ...]:
    """Return the libraries that a program needs. Raises PackageError for a fixed place of them."""
    links = None if path.is_symlink() else read_links(path)
    if links is None:
        return ()
    fixed = [folder for folder in (*links.rpath, *links.runpath) if not folder.startswith("$")]
    if fixed:
        raise PackageError(
            f"{name} looks for libraries in {fixed[0]}, which other machines do not have",
            hint="build it without an option that sets a run path",
        )
    return links.needed


def _licences(build: Build, licence: Licence, home: Home) -> tuple[Entry, ...]:
    tree = require_kept(build.manifest.source_digest, home, build.manifest.source)
    found = [path for name in licence.files if (path := tree.path / name).is_file()]
    if not found:
        raise PackageError(
            f"the source tree of this build has no {' or '.join(licence.files)}, and hone makes no"
            " package without its licence",
            hint="build it of a source that has it",
        )
    for path in found:
        if not is_inside(tree.path, path):
            raise PackageError(
                f"the link {path.relative_to(tree.path)} leads out of the source tree",
                hint="a package may hold no other files: replace the link by the licence itself",
            )
    return tuple(Entry(name=f"{_LICENCES}/{path.name}", data=path.read_bytes()) for path in found)
