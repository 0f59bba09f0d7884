"""Versions out of a repository's tags: what a history of many releases is made of.

Tags are read as projects write them: ``mysql-8.0.36``, ``REL_15_1``, ``version-3.40.1``,
``v8.1.1``, ``Percona-Server-8.0.30-22``. Those of releases that were not final yet are skipped, and
so are those of another product in the repository, as ``mysql-cluster-8.0.36`` is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from dbhone.errors import UsageError
from dbhone.source.kinds.base import kind_of
from dbhone.source.known_versions import KnownVersion
from dbhone.versions import age, numbers

_TAG = re.compile(r"(?P<product>[A-Za-z][A-Za-z-]*?)?[-_]?(?P<version>\d+(?:[._]\d+)+(?:-\d+)?)")
_RANGE = re.compile(r"(?P<first>[\w.-]*?)\.\.(?P<last>[\w.-]*)")
SYNTAX = "git:URL"


def tagged_versions(
    dbms: str, repository: str, words: tuple[str, ...] = (), every: int = 1
) -> tuple[KnownVersion, ...]:
    """Return those releases that are meant, out of a repository's tags, the oldest first.

    ``repository`` is a reference without a revision. ``words`` are versions, tags, or ranges such
    as ``8.0.11..8.0.36``, of which both ends are part; none are all. Of what they mean the first,
    the last, and of those between them each ``every``-th are taken. Asks the repository. Raises
    UsageError if it has none of a word's releases, SourceError if it cannot be read.
    """
    kind = kind_of(repository.partition(":")[0])
    if kind.tags is None:
        raise UsageError(f"'{repository}' has no tags", hint=f"name a repository: {SYNTAX}")
    tags = _by_version(kind.tags(repository))
    meant: dict[str, str] = {}
    for word in words or ("..",):
        chosen = [version for version in tags if _is_meant(word, version)]
        if not chosen:
            raise UsageError(f"{repository} has no release {word}", hint=_some(tags))
        meant |= {version: tags[version] for version in chosen}
    names = sorted(meant, key=age)
    taken = dict.fromkeys((*names[::every], names[-1]))
    return tuple(
        KnownVersion(
            dbms=dbms,
            name=name,
            source=f"{repository}@{meant[name]}",
            variant=None,
            note="",
            usual=True,
            of_user=True,
        )
        for name in taken
    )


def _by_version(tags: Iterable[str]) -> dict[str, str]:
    """Return the tag of each release, the shortest of several: a project's own, not a branch's."""
    matches = list(filter(None, map(_TAG.fullmatch, sorted(tags, key=len))))
    products = Counter(match["product"] for match in matches)
    own = max(products, key=products.__getitem__, default=None)
    found: dict[str, str] = {}
    for match in matches:
        if own is None or not (match["product"] or "").startswith(f"{own}-"):
            found.setdefault(_release(match[0]), match[0])
    return dict(sorted(found.items(), key=lambda item: age(item[0])))


def _is_meant(word: str, version: str) -> bool:
    """Return whether a release lies in a range; a single word is the release itself."""
    match = _RANGE.fullmatch(word)
    if match is None:
        return version == _release(word)
    first, last = _release(match["first"]), _release(match["last"])
    if any(end and not numbers(end) for end in (first, last)):
        return False
    here, most = numbers(version), numbers(last)
    # 8.0 as the last one means all of 8.0.
    return numbers(first) <= here and (not most or here[: len(most)] <= most)


def _release(word: str) -> str:
    """Return the version that a word means, which may be a tag."""
    match = _TAG.fullmatch(word)
    return word if match is None else match["version"].replace("_", ".")


def _some(tags: Iterable[str]) -> str:
    names = list(tags)
    if not names:
        return "none of its tags is a release's"
    return f"it has {len(names)}, from {names[0]} to {names[-1]}"
