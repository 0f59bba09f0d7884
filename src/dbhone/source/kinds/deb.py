"""``deb:PACKAGE[=VERSION][,…]``: binary packages of this machine's distribution, unpacked.

Found through the machine's own package sources, fetched with a private apt state (see
``_apt_catalogue.py``), verified by apt, unpacked by our own hand. Nothing is installed, no script
of a package runs, and what a package depends on does not come along: several packages are named
with commas between them, and become one tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dbhone.errors import HoneError, SourceError, UsageError, nearest_of_many
from dbhone.process import Command, run
from dbhone.source.archive import unpack_packages
from dbhone.source.fetch import DOWNLOAD_TIMEOUT, Fetch, SourceReference, require
from dbhone.source.kinds._apt_catalogue import (
    PACKAGE,
    VERSION,
    Catalogue,
    find,
    sorted_versions,
)
from dbhone.source.kinds._apt_sources import PackageType
from dbhone.source.kinds.base import SourceKind

_SYNTAX = "deb:PACKAGE[=VERSION][,…]"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Package:
    """A binary package; without a version the newest is meant."""

    name: str
    version: str | None

    @property
    def text(self) -> str:
        return self.name if self.version is None else f"{self.name}={self.version}"


def _parse(text: str) -> SourceReference:
    hint = f"write it as {_SYNTAX}, for example deb:mariadb-server-core"
    packages = _packages(text.removeprefix("deb:"))
    if len({each.name for each in packages}) < len(packages):
        raise UsageError(f"'{text}' names a package twice", hint=hint)
    for each in packages:
        if not PACKAGE.fullmatch(each.name):
            raise UsageError(f"'{each.name}' cannot be the name of a package", hint=hint)
        if each.version is not None and not VERSION.fullmatch(each.version):
            raise UsageError(f"'{each.version}' cannot be the version of a package", hint=hint)
    location = ",".join(each.text for each in packages)
    return SourceReference(text=text, kind="deb", location=location, revision=None, sha256=None)


def _packages(text: str) -> list[_Package]:
    """Return the packages of a reference; neither a name nor a version can hold a comma."""
    pairs = (word.strip().partition("=") for word in text.split(","))
    return [
        _Package(name=name, version=version if equals else None) for name, equals, version in pairs
    ]


def _fetch(job: Fetch) -> str:
    for program, package in (("apt-get", "apt"), ("dpkg-deb", "dpkg")):
        require(program, package=package, why=f"it fetches {job.reference.text}")
    wanted = _packages(job.reference.location)
    catalogue, chosen = find(job, PackageType.BINARY, lambda each: _choose(each, wanted, job))
    if not chosen:
        raise _missing(catalogue, wanted, job)
    unpack_packages([_content(_download(catalogue, each, job), job) for each in chosen], job)
    return f"deb:{','.join(each.text for each in chosen)}"


def _choose(catalogue: Catalogue, wanted: list[_Package], job: Fetch) -> list[_Package]:
    """Return each package with its version; nothing unless all are known."""
    chosen = [_chosen(catalogue, each, job) for each in wanted]
    found = [each for each in chosen if each is not None]
    return found if len(found) == len(wanted) else []


def _chosen(catalogue: Catalogue, wanted: _Package, job: Fetch) -> _Package | None:
    if wanted.version is not None:
        return wanted if wanted.version in catalogue.versions(wanted.name, job) else None
    newest = next(iter(catalogue.newest_first(wanted.name, job)), None)
    return None if newest is None else _Package(name=wanted.name, version=newest)


def _missing(catalogue: Catalogue, wanted: list[_Package], job: Fetch) -> HoneError:
    lacking = next(each for each in wanted if _chosen(catalogue, each, job) is None)
    versions = sorted_versions(catalogue.versions(lacking.name, job))
    if versions and lacking.version is not None:
        return SourceError(
            f"there is no version {lacking.version} of the package {lacking.name}",
            hint=f"there is: {', '.join(versions)}",
        )
    message = f"this machine's package sources have no package {lacking.name}"
    if catalogue.troubles:
        hint = f"not every package source could be read: {'; '.join(catalogue.troubles[:2])}"
        return SourceError(message, hint=hint, log=job.log)
    return SourceError(message, hint=nearest_of_many(lacking.name, catalogue.names(job)))


def _download(catalogue: Catalogue, package: _Package, job: Fetch) -> Path:
    folder = job.scratch / "packages" / package.name
    folder.mkdir(parents=True)
    words = ("download", package.text)
    catalogue.download(f"downloading the package {package.text}", words, folder, job)
    found = list(folder.glob("*.deb"))
    if len(found) != 1:
        raise SourceError(f"apt left no package of {package.text}", log=job.log)
    return found[0]


def _content(package: Path, job: Fetch) -> Path:
    """Return the tar archive of a package's files."""
    job.notify(f"unpacking {package.name}")
    content = job.scratch / f"{package.stem}.tar"
    # Its standard output; of what it complains to there is nothing if it does not fail.
    argv = ("dpkg-deb", "--fsys-tarfile", str(package))
    finished = run(Command(argv=argv, cwd=job.scratch, log=content, timeout=DOWNLOAD_TIMEOUT))
    if not finished.ok:
        raise SourceError(f"unpacking {package.name} failed: dpkg-deb {finished.ending()}")
    return content


PLUGIN = SourceKind(syntax=_SYNTAX, parse=_parse, fetch=_fetch, ready_made=True)
