"""A private state of apt: which packages the machine's package sources have, of one type.

The machine's own configuration is read as it is (proxies, passwords, trusted keys); a private
file read after it moves all that apt writes into a private place, and turns off the hooks that
would run after an update. Nothing that verifies signatures or checksums is touched.

A catalogue is fetched anew, never over an old one: a package source whose signature fails is
then simply not in it. A catalogue that came whole is kept for a day, in a folder of its own.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import re
import shlex
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dbhone.errors import SourceError, ToolError
from dbhone.files import digest_of, publish, remove_tree
from dbhone.process import output_of
from dbhone.source.fetch import CHECK_NETWORK, Fetch, failure, perform, query, throttled
from dbhone.source.kinds._apt_sources import (
    PackageType,
    SourceEntry,
    distinct,
    read_list,
    read_sources,
)

T = TypeVar("T")

# Debian Policy 5.6.1 and 5.6.12.
PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")
VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+:~-]*")

_DAY = 24 * 3600.0
_IN_USE = 60.0
"""Seconds for which an outdated catalogue stays: another session may be reading it."""
_ALL, _AUTOMATIC = "all", "automatic"
_HELPER = Path("/usr/lib/apt/apt-helper")
_FILE_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_PERCENT = re.compile(r"dlstatus:\d+:(\d+)\.")
# Other warnings, such as that a package source offers no source packages, do no harm.
_TROUBLE = re.compile(
    r"^(?:E: |W: (?=Failed to fetch|GPG error|An error occurred))(.+?)\s*$", re.MULTILINE
)
_NOT_AUTOMATIC = re.compile(r"^NotAutomatic:\s*yes", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """What apt knows about packages. ``troubles`` are apt's own lines about what failed."""

    folder: Path
    type: PackageType
    is_new: bool
    troubles: tuple[str, ...]

    def config(self, job: Fetch, *, automatic: bool = False) -> Path:
        """Return apt's private configuration file for this catalogue.

        With ``automatic`` it leaves out the suites that are taken only when asked for by name,
        such as backports.
        """
        parts = self.folder / (_AUTOMATIC if automatic else _ALL)
        path = job.scratch / f"{parts.name}.conf"
        path.write_text(_configuration(self.folder / "lists", parts, job.scratch))
        return path

    def versions(self, package: str, job: Fetch, *, automatic: bool = False) -> tuple[str, ...]:
        """Return the versions of a package, in no order; none if it is unknown."""
        config = self.config(job, automatic=automatic)
        show = ("show",) if self.type is PackageType.BINARY else ("showsrc", "--only-source")
        argv = ("apt-cache", "-c", str(config), *show, package)
        return tuple(dict.fromkeys(_fields("Version", _answer(job, argv))))

    def newest_first(self, package: str, job: Fetch) -> list[str]:
        """Return the versions to choose from when none is named; none if it is unknown.

        Those of the suites that are taken only when asked for count if no other has any.
        """
        found = self.versions(package, job, automatic=True)
        if not found and not self.troubles:
            # Not when a package source failed: it may be the one that should have had it.
            found = self.versions(package, job)
        return list(reversed(sorted_versions(found)))

    def source_of(self, binary: str, job: Fetch) -> str | None:
        """Return the name of the source package that makes a binary package, if any does."""
        argv = ("apt-cache", "-c", str(self.config(job)), "showsrc", binary)
        return next(iter(_fields("Package", _answer(job, argv))), None)

    def download(self, doing: str, words: tuple[str, ...], folder: Path, job: Fetch) -> None:
        """Have apt-get download into ``folder``. Raises SourceError if it fails."""
        job.notify(doing)
        notify = throttled(job.notify)

        def tell(line: str) -> None:
            match = _PERCENT.match(line)
            if match:
                notify(f"{doing}: {match[1]}%")

        options = ("-q", "-c", str(self.config(job)), "-o", "APT::Status-Fd=1")
        finished = perform(job, ("apt-get", *options, *words), cwd=folder, on_line=tell)
        if not finished.ok:
            raise failure(job, doing, finished, hint=CHECK_NETWORK)

    def names(self, job: Fetch) -> frozenset[str]:
        """Return the names of all packages; slow, for hints."""
        files = [str(file) for _, file in _index_files(self, job)]
        if not files or not _HELPER.is_file():
            return frozenset()
        return frozenset(_fields("Package", _answer(job, (str(_HELPER), "cat-file", *files))))


def sorted_versions(versions: tuple[str, ...]) -> list[str]:
    """Return versions from oldest to newest, as dpkg orders them."""

    def compare(left: str, right: str) -> int:
        older = output_of(("dpkg", "--compare-versions", left, "lt", right)) is not None
        return -1 if older else 1

    return sorted(versions, key=functools.cmp_to_key(compare))


def find(
    job: Fetch, type: PackageType, look: Callable[[Catalogue], list[T]]
) -> tuple[Catalogue, list[T]]:
    """Return what ``look`` finds in the catalogue, and the catalogue.

    The package sources are looked at again if there is nothing.
    """
    catalogue = open_catalogue(job, type, anew=job.refresh)
    found = look(catalogue)
    if not found and not catalogue.is_new:
        catalogue = open_catalogue(job, type, anew=True)
        found = look(catalogue)
    return catalogue, found


def open_catalogue(job: Fetch, type: PackageType, *, anew: bool) -> Catalogue:
    """Return the kept catalogue if it is fresh and not wanted ``anew``, else a new one.

    Raises SourceError if the machine has no package sources, ToolError if apt does not work.
    """
    entries = _machine_entries(job, type)
    name = digest_of([(each.suffix, each.content) for each in entries])[:16]
    kept = None if anew else _kept(job.cache, name)
    if kept is not None:
        return Catalogue(folder=kept, type=type, is_new=False, troubles=())
    return _update(entries, type, name, job)


def _answer(job: Fetch, argv: tuple[str, ...]) -> str:
    """Return what a program that looks something up says, nothing if it fails."""
    finished = query(job, argv)
    return finished.text() if finished.ok else ""


def _fields(name: str, text: str) -> list[str]:
    return re.findall(rf"^{name}: (\S+)$", text, re.MULTILINE)


def _kept(place: Path, name: str) -> Path | None:
    """Return the newest catalogue of these package sources, unless it is too old."""
    found = sorted(place.glob(f"[0-9]*-{name}"), key=lambda path: path.name)
    if found and 0 <= time.time() - _made(found[-1]) < _DAY:
        return found[-1]
    return None


def _made(folder: Path) -> float:
    """Return when a kept catalogue was fetched, in seconds since 1970; its name says it."""
    nanoseconds, _, _ = folder.name.partition("-")
    return int(nanoseconds) / 1e9


def _update(
    entries: tuple[SourceEntry, ...], type: PackageType, name: str, job: Fetch
) -> Catalogue:
    which = "source" if type is PackageType.SOURCE else "binary"
    job.notify(f"fetching the lists of {which} packages")
    draft = job.scratch / f"catalogue-{time.time_ns()}"
    (draft / "lists" / "partial").mkdir(parents=True)
    for part in (_ALL, _AUTOMATIC):
        _write_entries(draft / part, entries)
    new = Catalogue(folder=draft, type=type, is_new=True, troubles=())
    argv = ("apt-get", "-q", "-c", str(new.config(job)), "update")
    finished = perform(job, argv, cwd=job.scratch)
    _drop_not_automatic(new, job)
    troubles = tuple(_TROUBLE.findall(finished.text()))
    if troubles or not finished.ok:
        # Used for this fetch only: the next one tries again what failed.
        told = troubles or (f"apt-get update {finished.ending()}",)
        job.notify(f"not every package source could be read: {told[0]}")
        return dataclasses.replace(new, troubles=told)
    final = job.cache / f"{time.time_ns()}-{name}"
    publish(draft, final)
    _forget_old(final)
    return dataclasses.replace(new, folder=final)


def _forget_old(newest: Path) -> None:
    for folder in newest.parent.glob("[0-9]*-*"):
        if _made(folder) < _made(newest) - _IN_USE:
            with contextlib.suppress(OSError):  # another session is removing it too
                remove_tree(folder)


def _write_entries(folder: Path, entries: tuple[SourceEntry, ...]) -> None:
    folder.mkdir()
    for number, entry in enumerate(entries):
        path = folder / f"{number:04d}.{entry.suffix}"
        path.write_text(entry.content, encoding="utf-8")


def _drop_not_automatic(catalogue: Catalogue, job: Fetch) -> None:
    for entry, file in _index_files(catalogue, job):
        if _is_not_automatic(file):
            (catalogue.folder / _AUTOMATIC / entry).unlink(missing_ok=True)


def _index_files(catalogue: Catalogue, job: Fetch) -> Iterator[tuple[str, Path]]:
    """Yield the name of an entry's file, and the index of packages that it led to."""
    layout = "$(SOURCESENTRY)\t$(FILENAME)"
    index = "Sources" if catalogue.type is PackageType.SOURCE else "Packages"
    config = str(catalogue.config(job))
    argv = ("apt-get", "-c", config, "indextargets", "--format", layout, f"Created-By: {index}")
    for line in _answer(job, argv).splitlines():
        entry, _, file = line.partition("\t")
        yield Path(entry.rpartition(":")[0]).name, Path(file)


def _is_not_automatic(index: Path) -> bool:
    """Whether the suite of an index says that nothing of it is taken unless it is named."""
    releases = {
        path.name.removesuffix("Release").removesuffix("In"): path
        for path in index.parent.glob("*Release")
    }
    suite = max((name for name in releases if index.name.startswith(name)), key=len, default=None)
    if suite is None:
        return False
    return bool(_NOT_AUTOMATIC.search(releases[suite].read_text("utf-8", "replace")))


def _machine_entries(job: Fetch, type: PackageType) -> tuple[SourceEntry, ...]:
    entries: list[SourceEntry] = []
    for path in _machine_files(job):
        read = read_sources if path.suffix == ".sources" else read_list
        try:
            entries.extend(read(path.read_text("utf-8", "replace"), type))
        except OSError as error:
            job.notify(f"left out the package source {path}: {error.strerror}")
    if not entries:
        raise SourceError(
            "this machine has no package sources for apt",
            hint="see sources.list(5), or use a source of kind https:, git: or dir:",
        )
    return distinct(tuple(entries))


def _machine_files(job: Fetch) -> tuple[Path, ...]:
    """Return the files that apt reads its package sources from: see sources.list(5)."""
    argv = (
        "apt-config",
        "shell",
        "LIST",
        "Dir::Etc::SourceList/f",
        "PARTS",
        "Dir::Etc::SourceParts/d",
    )
    finished = query(job, argv)
    if not finished.ok:
        raise ToolError("apt-config does not work", hint="try: apt-config dump", log=job.log)
    known = dict(word.split("=", 1) for word in shlex.split(finished.text()))
    main, parts = Path(known.get("LIST", "")), Path(known.get("PARTS", ""))
    found = sorted(parts.iterdir()) if parts.is_dir() else []
    named = [each for each in found if each.suffix in (".list", ".sources")]
    return (
        *((main,) if main.is_file() else ()),
        *(each for each in named if _FILE_NAME.fullmatch(each.name) and each.is_file()),
    )


def _configuration(lists: Path, parts: Path, work: Path) -> str:
    settings = {
        "Dir::State": work,
        "Dir::State::Lists": lists,
        "Dir::State::Status": "/dev/null",  # what is installed is nothing that can be fetched
        "Dir::Cache": work,
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "Dir::Etc::SourceList": "/dev/null",
        "Dir::Etc::SourceParts": parts,
        "Acquire::Languages": "none",
        "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled": "false",
    }
    if os.geteuid() == 0:
        # The unprivileged user that apt would become cannot enter a private home.
        settings["APT::Sandbox::User"] = "root"
    hooks = ("Pre-Invoke", "Post-Invoke", "Post-Invoke-Success")
    lines = [f"#clear APT::Update::{hook};" for hook in hooks]
    lines += [f'{key} "{value}";' for key, value in settings.items()]
    return "\n".join(lines) + "\n"
