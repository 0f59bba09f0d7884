"""``apt:PACKAGE[=VERSION]``: a source package of this machine's distribution.

Found through the machine's own package sources, fetched with a private apt state (see
``_apt_catalogue.py``), verified by apt, unpacked and patched by dpkg-source. Without a version
it is the newest in the suites that the machine takes packages from by itself: not in backports.
"""

from __future__ import annotations

import functools
import re

from dbhone.errors import HoneError, SourceError, UsageError
from dbhone.process import output_of
from dbhone.source.hints import nearest_of_many
from dbhone.source.kinds._apt_catalogue import Catalogue, open_catalogue
from dbhone.source.kinds.base import Fetch, SourceKind, SourceReference
from dbhone.source.pace import paced
from dbhone.source.programs import CHECK_NETWORK, failure, perform, require

_SYNTAX = "apt:PACKAGE[=VERSION]"
# Debian Policy 5.6.1 and 5.6.12.
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")
_PERCENT = re.compile(r"dlstatus:\d+:(\d+)\.")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+:~-]*")


def _parse(text: str) -> SourceReference:
    package, equals, version = text.removeprefix("apt:").partition("=")
    hint = f"write it as {_SYNTAX}, for example apt:sqlite3"
    if not _PACKAGE.fullmatch(package):
        raise UsageError(f"'{package}' cannot be the name of a source package", hint=hint)
    if equals and not _VERSION.fullmatch(version):
        raise UsageError(f"'{version}' cannot be the version of a package", hint=hint)
    return SourceReference(
        text=text, kind="apt", location=package, revision=version or None, sha256=None
    )


def _fetch(job: Fetch) -> str:
    for program, package in (("apt-get", "apt"), ("dpkg-source", "dpkg-dev")):
        require(program, package=package, why=f"it fetches {job.reference.text}")
    catalogue, version = _find(job)
    _download(catalogue, version, job)
    _extract(job)
    return f"apt:{job.reference.location}={version}"


def _find(job: Fetch) -> tuple[Catalogue, str]:
    """Return the version to take, and the catalogue that has it; look again if it is missing."""
    catalogue = open_catalogue(job, anew=job.refresh)
    version = _choose(catalogue, job)
    if version is None and not catalogue.is_new:
        catalogue = open_catalogue(job, anew=True)
        version = _choose(catalogue, job)
    if version is None:
        raise _missing(catalogue, job)
    return catalogue, version


def _choose(catalogue: Catalogue, job: Fetch) -> str | None:
    package, wanted = job.reference.location, job.reference.revision
    if wanted is not None:
        return wanted if wanted in catalogue.versions(package, job) else None
    found = catalogue.versions(package, job, automatic=True)
    if not found and not catalogue.troubles:
        # Not when a package source failed: it may be the one that should have had it.
        found = catalogue.versions(package, job)
    return _sorted(found)[-1] if found else None


def _sorted(versions: tuple[str, ...]) -> list[str]:
    """Return versions from oldest to newest, as dpkg orders them."""

    def compare(left: str, right: str) -> int:
        older = output_of(("dpkg", "--compare-versions", left, "lt", right)) is not None
        return -1 if older else 1

    return sorted(versions, key=functools.cmp_to_key(compare))


def _missing(catalogue: Catalogue, job: Fetch) -> HoneError:
    package, wanted = job.reference.location, job.reference.revision
    versions = _sorted(catalogue.versions(package, job))
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


def _download(catalogue: Catalogue, version: str, job: Fetch) -> None:
    package = f"{job.reference.location}={version}"
    doing = f"downloading the source package {package}"
    job.notify(doing)
    notify = paced(job.notify)

    def tell(line: str) -> None:
        match = _PERCENT.match(line)
        if match:
            notify(f"{doing}: {match[1]}%")

    folder = job.work / "package"
    folder.mkdir()
    options = ("-q", "-c", str(catalogue.config(job)), "-o", "APT::Status-Fd=1")
    argv = ("apt-get", *options, "--only-source", "--download-only", "source", package)
    finished = perform(job, argv, cwd=folder, on_line=tell)
    if not finished.ok:
        raise failure(job, doing, finished, hint=CHECK_NETWORK)


def _extract(job: Fetch) -> None:
    descriptions = list((job.work / "package").glob("*.dsc"))
    if len(descriptions) != 1:
        raise SourceError(f"apt left no description of {job.reference.text}", log=job.log)
    job.notify(f"unpacking {descriptions[0].stem}")
    target = job.work / "extracted"
    argv = ("dpkg-source", "--extract", str(descriptions[0]), str(target))
    finished = perform(job, argv, cwd=job.work)
    if not finished.ok:
        raise failure(job, f"unpacking {descriptions[0].name}", finished)
    target.rename(job.into)


PLUGIN = SourceKind(syntax=_SYNTAX, parse=_parse, fetch=_fetch)
