"""``apt:PACKAGE[=VERSION]``: a source package of this machine's distribution.

The package is found through the machine's own package sources and a private package index (see
``_apt_index.py``). apt verifies it; dpkg-source unpacks and patches it. Without a version it is the
newest in the suites that apt uses by default: not in backports.

Where a distribution has a series of packages, such as ``postgresql-15`` and ``postgresql-17``, the
number may be left out: ``apt:postgresql`` is the newest of them.
"""

from __future__ import annotations

import re

from dbhone.errors import SourceError, UsageError
from dbhone.requirements import Requirement
from dbhone.source.fetch import FetchJob, SourceReference, failure, perform
from dbhone.source.kinds._apt_index import (
    PACKAGE,
    VERSION,
    Package,
    PackageIndex,
    search,
    sorted_versions,
)
from dbhone.source.kinds._apt_sources import PackageType
from dbhone.source.kinds.base import SourceKind
from dbhone.untrusted_files import remove_tree

_SYNTAX = "apt:PACKAGE[=VERSION]"
_ABSENT = re.compile(r"\b404\b|File not found|No such file")
_SERIES = re.compile(r"-(\d+(?:\.\d+)*)")


def _parse(text: str) -> SourceReference:
    package, equals, version = text.removeprefix("apt:").partition("=")
    hint = f"write it as {_SYNTAX}, for example apt:sqlite3"
    if not PACKAGE.fullmatch(package):
        raise UsageError(f"'{package}' cannot be the name of a source package", hint=hint)
    if equals and not VERSION.fullmatch(version):
        raise UsageError(f"'{version}' cannot be the version of a package", hint=hint)
    return SourceReference(text=text, kind="apt", location=package, revision=version or None)


def _fetch(job: FetchJob) -> str:
    index, candidates = search(job, PackageType.SOURCE, lambda index: _candidates(index, job))
    if not candidates:
        raise index.missing_error(job.reference.location, job.reference.revision, job)
    chosen = _download_first(index, candidates, job)
    _extract(job)
    return f"apt:{chosen.text}"


def _candidates(index: PackageIndex, job: FetchJob) -> list[Package]:
    package, version = job.reference.location, job.reference.revision
    if version is not None:
        known = version in index.versions(package, job)
        return [Package(name=package, version=version)] if known else []
    return _newest_first(index, package, job) or _of_series(index, package, job)


def _newest_first(index: PackageIndex, package: str, job: FetchJob) -> list[Package]:
    versions = index.newest_first(package, job)
    return [Package(name=package, version=version) for version in versions]


def _of_series(index: PackageIndex, package: str, job: FetchJob) -> list[Package]:
    """Return the packages with the highest number after the name, such as postgresql-17."""
    numbers = {
        match[1]
        for name in index.names(job)
        if name.startswith(package) and (match := _SERIES.fullmatch(name[len(package) :]))
    }
    for number in reversed(sorted_versions(tuple(numbers))):
        candidates = _newest_first(index, f"{package}-{number}", job)
        if candidates:
            return candidates
    return []


def _download_first(index: PackageIndex, candidates: list[Package], job: FetchJob) -> Package:
    """Download the first candidate whose files the package source really has.

    A mirror may list a version whose files it does not have yet, or has no longer. Then the version
    before that is used.
    """
    *others, last = candidates
    for candidate in others:
        try:
            _download(index, candidate, job)
        except SourceError as error:
            if not _ABSENT.search(error.message):
                raise
            job.notify(f"{candidate.name} {candidate.version} is listed but not there")
        else:
            return candidate
    _download(index, last, job)
    return last


def _download(index: PackageIndex, candidate: Package, job: FetchJob) -> None:
    folder = job.scratch / "package"
    if folder.exists():
        remove_tree(folder)
    folder.mkdir()
    arguments = ("--only-source", "--download-only", "source", candidate.text)
    index.download(f"downloading the source package {candidate.text}", arguments, folder, job)


def _extract(job: FetchJob) -> None:
    descriptions = list((job.scratch / "package").glob("*.dsc"))
    if len(descriptions) != 1:
        raise SourceError(f"apt left no description of {job.reference.text}", log=job.log)
    job.notify(f"unpacking {descriptions[0].stem}")
    target = job.scratch / "extracted"
    argv = ("dpkg-source", "--extract", str(descriptions[0]), str(target))
    finished = perform(job, argv, cwd=job.scratch)
    if not finished.ok:
        raise failure(job, f"unpacking {descriptions[0].name}", finished)
    target.rename(job.into)


PLUGIN = SourceKind(
    requirements=(
        Requirement(name="apt-get", package="apt"),
        Requirement(name="dpkg-source", package="dpkg-dev"),
    ),
    syntax=_SYNTAX,
    parse=_parse,
    fetch=_fetch,
    trusted=True,
)
