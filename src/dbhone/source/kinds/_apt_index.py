"""A private package index of apt: the packages of one type in the machine's package sources.

apt reads the machine's own configuration as it is (proxies, passwords, trusted keys). A private
file, read after it, moves everything that apt writes into private folders, and turns off the hooks
that would run after an update. Nothing that verifies signatures or checksums is changed.

An index is fetched into a new folder, never over an old one: a package source whose signature
fails is then missing from it. A complete index is cached for a day.
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

from dbhone.command import Command
from dbhone.errors import HoneError, SourceError, ToolError, nearest_of_many
from dbhone.files import digest_of, publish
from dbhone.process import lines, output_of
from dbhone.source.fetch import (
    CHECK_NETWORK,
    QUERY_TIMEOUT,
    FetchJob,
    failure,
    perform,
    query,
)
from dbhone.source.kinds._apt_sources import (
    PackageType,
    SourceEntry,
    read_list,
    read_sources,
)
from dbhone.untrusted_files import remove_tree

T = TypeVar("T")

# Debian Policy 5.6.1 and 5.6.12.
PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")
VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+:~-]*")

_DAY = 24 * 3600.0
_IN_USE = 60.0
"""Seconds for which an outdated index stays: another session may be reading it."""
_ALL, _AUTOMATIC = "all", "automatic"
_HELPER = Path("/usr/lib/apt/apt-helper")
_NAME = "Package: "
_FILE_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_PERCENT = re.compile(r"dlstatus:\d+:(\d+)\.")
# Other warnings, such as that a package source offers no source packages, do no harm.
_ERROR = re.compile(
    r"^(?:E: |W: (?=Failed to fetch|GPG error|An error occurred))(.+?)\s*$", re.MULTILINE
)
_NOT_AUTOMATIC = re.compile(r"^NotAutomatic:\s*yes", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A package; without a version, the newest one."""

    name: str
    version: str | None

    @property
    def text(self) -> str:
        """It as apt's command line names it."""
        return self.name if self.version is None else f"{self.name}={self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageIndex:
    """The packages that apt knows. ``errors`` are apt's own lines about what failed."""

    folder: Path
    type: PackageType
    is_new: bool
    errors: tuple[str, ...]

    def config(self, job: FetchJob, *, automatic: bool = False) -> Path:
        """Return apt's private configuration file for this index.

        With ``automatic`` it leaves out the suites that apt uses only if they are named, such as
        backports.
        """
        parts = self.folder / (_AUTOMATIC if automatic else _ALL)
        path = job.scratch / f"{parts.name}.conf"
        path.write_text(_configuration(self.folder / "lists", parts, job.scratch))
        return path

    def versions(self, package: str, job: FetchJob, *, automatic: bool = False) -> tuple[str, ...]:
        """Return the versions of a package, in no order; none if it is unknown."""
        config = self.config(job, automatic=automatic)
        show = ("show",) if self.type is PackageType.BINARY else ("showsrc", "--only-source")
        argv = ("apt-cache", "-c", str(config), *show, package)
        return tuple(dict.fromkeys(_fields("Version", _answer(job, argv))))

    def newest_first(self, package: str, job: FetchJob) -> list[str]:
        """Return the versions to choose from when none is named; none if it is unknown.

        A suite that apt uses only if it is named counts only if no other suite has a version.
        """
        versions = self.versions(package, job, automatic=True)
        if not versions and not self.errors:
            # Not when a package source failed: it may be the one that has the package.
            versions = self.versions(package, job)
        return list(reversed(sorted_versions(versions)))

    def source_of(self, binary: str, job: FetchJob) -> str | None:
        """Return the name of the source package that makes a binary package, if any does."""
        argv = ("apt-cache", "-c", str(self.config(job)), "showsrc", binary)
        return next(iter(_fields("Package", _answer(job, argv))), None)

    def download(self, doing: str, arguments: tuple[str, ...], folder: Path, job: FetchJob) -> None:
        """Run apt-get in ``folder``, where it downloads to. Raises SourceError if it fails."""
        job.notify(doing)

        def progress(line: str) -> str | None:
            match = _PERCENT.match(line)
            return f"{doing}: {match[1]}%" if match else None

        options = ("-q", "-c", str(self.config(job)), "-o", "APT::Status-Fd=1")
        argv = ("apt-get", *options, *arguments)
        finished = perform(job, argv, cwd=folder, progress=progress)
        if not finished.ok:
            raise failure(job, doing, finished, hint=CHECK_NETWORK)

    def missing_error(self, package: str, version: str | None, job: FetchJob) -> HoneError:
        """Return the error to raise for a package or a version that the index does not have."""
        noun = "source package" if self.type is PackageType.SOURCE else "package"
        versions = sorted_versions(self.versions(package, job))
        if versions and version is not None:
            return SourceError(
                f"there is no version {version} of the {noun} {package}",
                hint=f"there is: {', '.join(versions)}",
            )
        message = f"this machine's package sources have no {noun} {package}"
        if self.errors:
            hint = f"not every package source could be read: {'; '.join(self.errors[:2])}"
            return SourceError(message, hint=hint, log=job.log)
        source = self.source_of(package, job) if self.type is PackageType.SOURCE else None
        if source is not None:
            return SourceError(message, hint=f"it is made from the source package: apt:{source}")
        return SourceError(message, hint=nearest_of_many(package, self.names(job)))

    def names(self, job: FetchJob) -> frozenset[str]:
        """Return the names of all packages; slow, because all lists are read."""
        files = [str(file) for _, file in _index_files(self, job)]
        if not files or not _HELPER.is_file():
            return frozenset()
        argv = (str(_HELPER), "cat-file", *files)
        printed = lines(Command(argv=argv, cwd=job.scratch, timeout=QUERY_TIMEOUT))
        return frozenset(
            line.removeprefix(_NAME).strip() for line in printed if line.startswith(_NAME)
        )


def sorted_versions(versions: tuple[str, ...]) -> list[str]:
    """Return versions from oldest to newest, as dpkg orders them."""

    def compare(left: str, right: str) -> int:
        older = output_of(("dpkg", "--compare-versions", left, "lt", right)) is not None
        return -1 if older else 1

    return sorted(versions, key=functools.cmp_to_key(compare))


def search(
    job: FetchJob, type: PackageType, select: Callable[[PackageIndex], list[T]]
) -> tuple[PackageIndex, list[T]]:
    """Return the index, and what ``select`` selects from it.

    If that is nothing, and the index comes from the cache, it is fetched again.
    """
    index = open_index(job, type, refresh=job.refresh)
    selected = select(index)
    if not selected and not index.is_new:
        index = open_index(job, type, refresh=True)
        selected = select(index)
    return index, selected


def open_index(job: FetchJob, type: PackageType, *, refresh: bool) -> PackageIndex:
    """Return the cached index unless it is outdated; a new one then, or with ``refresh``.

    Raises SourceError if the machine has no package sources, ToolError if apt does not work.
    """
    entries = _machine_entries(job, type)
    name = digest_of([(entry.suffix, entry.content) for entry in entries])[:16]
    cached = None if refresh else _cached(job.cache, name)
    if cached is not None:
        return PackageIndex(folder=cached, type=type, is_new=False, errors=())
    return _update(entries, type, name, job)


def _answer(job: FetchJob, argv: tuple[str, ...]) -> str:
    """Return the output of a query, an empty text if it fails."""
    finished = query(job, argv)
    return finished.text() if finished.ok else ""


def _fields(name: str, text: str) -> list[str]:
    return re.findall(rf"^{name}: (\S+)$", text, re.MULTILINE)


def _cached(cache: Path, name: str) -> Path | None:
    """Return the newest index of these package sources, None if it is outdated."""
    folders = sorted(cache.glob(f"[0-9]*-{name}"), key=lambda path: path.name)
    if folders and 0 <= time.time() - _fetch_time(folders[-1]) < _DAY:
        return folders[-1]
    return None


def _fetch_time(folder: Path) -> float:
    """Return when a cached index was fetched, in seconds since the epoch, from its name."""
    nanoseconds, _, _ = folder.name.partition("-")
    return int(nanoseconds) / 1e9


def _update(
    entries: tuple[SourceEntry, ...], type: PackageType, name: str, job: FetchJob
) -> PackageIndex:
    adjective = "source" if type is PackageType.SOURCE else "binary"
    job.notify(f"fetching the lists of {adjective} packages")
    draft = job.scratch / f"index-{time.time_ns()}"
    (draft / "lists" / "partial").mkdir(parents=True)
    for part in (_ALL, _AUTOMATIC):
        _write_entries(draft / part, entries)
    new = PackageIndex(folder=draft, type=type, is_new=True, errors=())
    argv = ("apt-get", "-q", "-c", str(new.config(job)), "update")
    finished = perform(job, argv, cwd=job.scratch)
    _drop_not_automatic(new, job)
    errors = tuple(_ERROR.findall(finished.text()))
    if errors or not finished.ok:
        # It serves this fetch only: the next one tries again what failed.
        errors = errors or (f"apt-get update {finished.ending()}",)
        job.notify(f"not every package source could be read: {errors[0]}")
        return dataclasses.replace(new, errors=errors)
    final = job.cache / f"{time.time_ns()}-{name}"
    publish(draft, final)
    _forget_old(final)
    return dataclasses.replace(new, folder=final)


def _forget_old(newest: Path) -> None:
    for folder in newest.parent.glob("[0-9]*-*"):
        if _fetch_time(folder) < _fetch_time(newest) - _IN_USE:
            with contextlib.suppress(OSError):  # another session is removing it too
                remove_tree(folder)


def _write_entries(folder: Path, entries: tuple[SourceEntry, ...]) -> None:
    folder.mkdir()
    for number, entry in enumerate(entries):
        path = folder / f"{number:04d}.{entry.suffix}"
        path.write_text(entry.content, encoding="utf-8")


def _drop_not_automatic(index: PackageIndex, job: FetchJob) -> None:
    for entry, file in _index_files(index, job):
        if _is_not_automatic(file):
            (index.folder / _AUTOMATIC / entry).unlink(missing_ok=True)


def _index_files(index: PackageIndex, job: FetchJob) -> Iterator[tuple[str, Path]]:
    """Yield the name of each entry's file, and the index file that apt fetched for it."""
    layout = "$(SOURCESENTRY)\t$(FILENAME)"
    target = "Sources" if index.type is PackageType.SOURCE else "Packages"
    config = str(index.config(job))
    argv = ("apt-get", "-c", config, "indextargets", "--format", layout, f"Created-By: {target}")
    for line in _answer(job, argv).splitlines():
        entry, _, file = line.partition("\t")
        yield Path(entry.rpartition(":")[0]).name, Path(file)


def _is_not_automatic(file: Path) -> bool:
    """Return whether the suite of an index file declares itself ``NotAutomatic``."""
    releases = {
        path.name.removesuffix("Release").removesuffix("In"): path
        for path in file.parent.glob("*Release")
    }
    suite = max((name for name in releases if file.name.startswith(name)), key=len, default=None)
    if suite is None:
        return False
    return bool(_NOT_AUTOMATIC.search(releases[suite].read_text("utf-8", "replace")))


def _machine_entries(job: FetchJob, type: PackageType) -> tuple[SourceEntry, ...]:
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
    # A line with deb and one with deb-src become the same entry.
    return tuple(dict.fromkeys(entries))


def _machine_files(job: FetchJob) -> tuple[Path, ...]:
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
    paths = sorted(parts.iterdir()) if parts.is_dir() else []
    paths = [path for path in paths if path.suffix in (".list", ".sources")]
    return (
        *((main,) if main.is_file() else ()),
        *(path for path in paths if _FILE_NAME.fullmatch(path.name) and path.is_file()),
    )


def _configuration(lists: Path, parts: Path, work: Path) -> str:
    settings = {
        "Dir::State": work,
        "Dir::State::Lists": lists,
        "Dir::State::Status": "/dev/null",  # installed packages cannot be fetched
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
