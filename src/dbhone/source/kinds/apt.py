"""``apt:PACKAGE[=VERSION]``: a source package of this machine's distribution.

Found through the machine's own package sources, fetched with a private apt state (see
``_apt_catalogue.py``), verified by apt, unpacked and patched by dpkg-source. Without a version
it is the newest in the suites that the machine takes packages from by itself: not in backports.

A package that distributions keep a series of, such as ``postgresql-15`` and ``postgresql-17``,
may be named without its number: ``apt:postgresql`` is the newest that there is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dbhone.errors import HoneError, SourceError, UsageError, nearest_of_many
from dbhone.files import remove_tree
from dbhone.source.fetch import Fetch, SourceReference, failure, perform, require
from dbhone.source.kinds._apt_catalogue import (
    PACKAGE,
    VERSION,
    Catalogue,
    find,
    sorted_versions,
)
from dbhone.source.kinds._apt_sources import PackageType
from dbhone.source.kinds.base import SourceKind

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
    return SourceReference(
        text=text, kind="apt", location=package, revision=version or None, sha256=None
    )


def _fetch(job: Fetch) -> str:
    for program, package in (("apt-get", "apt"), ("dpkg-source", "dpkg-dev")):
        require(program, package=package, why=f"it fetches {job.reference.text}")
    catalogue, candidates = find(job, PackageType.SOURCE, lambda each: _candidates(each, job))
    if not candidates:
        raise _missing(catalogue, job)
    chosen = _download_first(catalogue, candidates, job)
    _extract(job)
    return f"apt:{chosen.package}={chosen.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    package: str
    version: str


def _candidates(catalogue: Catalogue, job: Fetch) -> list[_Candidate]:
    package, wanted = job.reference.location, job.reference.revision
    if wanted is not None:
        known = wanted in catalogue.versions(package, job)
        return [_Candidate(package=package, version=wanted)] if known else []
    return _newest_first(catalogue, package, job) or _of_series(catalogue, package, job)


def _newest_first(catalogue: Catalogue, package: str, job: Fetch) -> list[_Candidate]:
    found = catalogue.newest_first(package, job)
    return [_Candidate(package=package, version=each) for each in found]


def _of_series(catalogue: Catalogue, package: str, job: Fetch) -> list[_Candidate]:
    """Return the packages with the highest number behind the name, such as postgresql-17."""
    numbers = {
        match[1]
        for name in catalogue.names(job)
        if name.startswith(package) and (match := _SERIES.fullmatch(name[len(package) :]))
    }
    for number in reversed(sorted_versions(tuple(numbers))):
        found = _newest_first(catalogue, f"{package}-{number}", job)
        if found:
            return found
    return []


def _download_first(catalogue: Catalogue, candidates: list[_Candidate], job: Fetch) -> _Candidate:
    """Download the first that the package source really has.

    A mirror may list a version whose files it has not got yet, or has no longer; the version
    that it had before is then the newest that can be had.
    """
    for each, others in zip(candidates, range(len(candidates) - 1, -1, -1), strict=True):
        try:
            _download(catalogue, f"{each.package}={each.version}", job)
        except SourceError as error:
            if not others or not _ABSENT.search(error.message):
                raise
            job.notify(f"{each.package} {each.version} is listed but not there")
            continue
        return each
    raise AssertionError("unreachable: there is a candidate")


def _missing(catalogue: Catalogue, job: Fetch) -> HoneError:
    package, wanted = job.reference.location, job.reference.revision
    versions = sorted_versions(catalogue.versions(package, job))
    if versions and wanted is not None:
        return SourceError(
            f"there is no version {wanted} of the source package {package}",
            hint=f"there is: {', '.join(versions)}",
        )
    message = f"this machine's package sources have no source package {package}"
    if catalogue.troubles:
        hint = f"not every package source could be read: {'; '.join(catalogue.troubles[:2])}"
        return SourceError(message, hint=hint, log=job.log)
    source = catalogue.source_of(package, job)
    if source is not None:
        return SourceError(message, hint=f"it is made from the source package: apt:{source}")
    return SourceError(message, hint=nearest_of_many(package, catalogue.names(job)))


def _download(catalogue: Catalogue, package: str, job: Fetch) -> None:
    folder = job.scratch / "package"
    if folder.exists():
        remove_tree(folder)
    folder.mkdir()
    words = ("--only-source", "--download-only", "source", package)
    catalogue.download(f"downloading the source package {package}", words, folder, job)


def _extract(job: Fetch) -> None:
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


PLUGIN = SourceKind(syntax=_SYNTAX, parse=_parse, fetch=_fetch)
