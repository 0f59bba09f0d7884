"""``deb:PACKAGE[=VERSION][,…]``: binary packages of this machine's distribution, unpacked.

The packages are found through the machine's own package sources and a private package index (see
``_apt_index.py``). apt verifies them; ``archive.py`` unpacks them. Nothing is installed, no script
of a package runs, and dependencies are left out. Several packages, with commas between them, become
one tree.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from dbhone.command import Command
from dbhone.errors import HoneError, SourceError, UsageError
from dbhone.process import run
from dbhone.requirements import Requirement
from dbhone.source.archive import unpack_packages
from dbhone.source.fetch import DOWNLOAD_TIMEOUT, FetchJob, SourceReference, failure
from dbhone.source.kinds._apt_index import (
    PACKAGE,
    VERSION,
    Package,
    PackageIndex,
    search,
)
from dbhone.source.kinds._apt_sources import PackageType
from dbhone.source.kinds.base import SourceKind

_SYNTAX = "deb:PACKAGE[=VERSION][,…]"
_LAST_WORDS = 1024
"""Bytes of what a program that failed printed last."""


def _parse(text: str) -> SourceReference:
    hint = f"write it as {_SYNTAX}, for example deb:mariadb-server-core"
    packages = _packages(text.removeprefix("deb:"))
    if len({package.name for package in packages}) < len(packages):
        raise UsageError(f"'{text}' names a package twice", hint=hint)
    for package in packages:
        if not PACKAGE.fullmatch(package.name):
            raise UsageError(f"'{package.name}' cannot be the name of a package", hint=hint)
        if package.version is not None and not VERSION.fullmatch(package.version):
            raise UsageError(f"'{package.version}' cannot be the version of a package", hint=hint)
    location = ",".join(package.text for package in packages)
    return SourceReference(text=text, kind="deb", location=location)


def _packages(text: str) -> list[Package]:
    """Return the packages of a reference; neither a name nor a version can hold a comma."""
    pairs = (word.strip().partition("=") for word in text.split(","))
    return [
        Package(name=name, version=version if equals else None) for name, equals, version in pairs
    ]


def _fetch(job: FetchJob) -> str:
    packages = _packages(job.reference.location)
    index, resolved = search(
        job, PackageType.BINARY, lambda index: _with_versions(index, packages, job)
    )
    if not resolved:
        raise _missing_error(index, packages, job)
    contents = [_content(_download(index, package, job), job) for package in resolved]
    unpack_packages(contents, job.into, scratch=job.scratch)
    return f"deb:{','.join(package.text for package in resolved)}"


def _with_versions(index: PackageIndex, packages: list[Package], job: FetchJob) -> list[Package]:
    """Return each package with its version; nothing unless all are known."""
    resolved = [_with_version(index, package, job) for package in packages]
    known = [package for package in resolved if package is not None]
    return known if len(known) == len(packages) else []


def _with_version(index: PackageIndex, package: Package, job: FetchJob) -> Package | None:
    if package.version is not None:
        return package if package.version in index.versions(package.name, job) else None
    newest = next(iter(index.newest_first(package.name, job)), None)
    return None if newest is None else Package(name=package.name, version=newest)


def _missing_error(index: PackageIndex, packages: list[Package], job: FetchJob) -> HoneError:
    missing = next(package for package in packages if _with_version(index, package, job) is None)
    return index.missing_error(missing.name, missing.version, job)


def _download(index: PackageIndex, package: Package, job: FetchJob) -> Path:
    folder = job.scratch / "packages" / package.name
    folder.mkdir(parents=True)
    arguments = ("download", package.text)
    index.download(f"downloading the package {package.text}", arguments, folder, job)
    files = list(folder.glob("*.deb"))
    if len(files) != 1:
        raise SourceError(f"apt left no package of {package.text}", log=job.log)
    return files[0]


def _content(package: Path, job: FetchJob) -> Path:
    """Return the tar archive of a package's files."""
    job.notify(f"unpacking {package.name}")
    content = job.scratch / f"{package.stem}.tar"
    # Standard output goes there, and standard error, which is empty unless the program fails.
    argv = ("dpkg-deb", "--fsys-tarfile", str(package))
    finished = run(Command(argv=argv, cwd=job.scratch, log=content, timeout=DOWNLOAD_TIMEOUT))
    if not finished.ok:
        with content.open("rb") as file:
            file.seek(max(0, content.stat().st_size - _LAST_WORDS))
            said = dataclasses.replace(finished, output=file.read())
        reason = f"dpkg-deb {finished.ending()}"
        raise failure(job, f"unpacking {package.name}", said, reason=reason)
    return content


PLUGIN = SourceKind(
    requirements=(
        Requirement(name="apt-get", package="apt"),
        Requirement(name="dpkg-deb", package="dpkg"),
    ),
    syntax=_SYNTAX,
    parse=_parse,
    fetch=_fetch,
    ready_made=True,
    trusted=True,
)
