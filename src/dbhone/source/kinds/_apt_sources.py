"""The machine's package sources, rewritten so that they offer packages of one type. Pure.

Both formats of sources.list(5) are read. Each pair of address and suite becomes a file of its
own, so that each message of apt about a file is about one suite. All options (Signed-By, Trusted,
Architectures and so on) stay as the machine's owner wrote them; none is added.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


class PackageType(Enum):
    """Binary packages or source packages."""

    BINARY = "deb"
    SOURCE = "deb-src"

    @property
    def offered_by(self) -> frozenset[str]:
        """The types of entries that offer it; binary entries are taken to offer sources, too."""
        return frozenset({self.value, PackageType.BINARY.value})


_NO = frozenset({"no", "false", "without", "off", "disable", "0"})
# They choose the files that apt fetches; the choice for binary packages does not fit sources.
_DROPPED = frozenset(
    {"types", "uris", "suites", "enabled", "targets", "targets-add", "targets-remove"}
)
_LINE = re.compile(
    r"(?P<type>deb|deb-src)\s+(?:\[(?P<options>[^\]]*)\]\s*)?(?P<uri>\S+)\s+(?P<suite>\S+)"
    r"(?P<components>[^#]*)"
)
_FIELD = re.compile(r"([^:\s][^:]*):[ \t]*(.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEntry:
    """One suite at one address, as one file for ``sources.list.d``."""

    suffix: str
    content: str


def read_list(text: str, type: PackageType) -> tuple[SourceEntry, ...]:
    """Return the entries of a file in the one-line format."""
    matches = (_LINE.match(line.strip()) for line in text.splitlines())
    return tuple(
        _from_line(match, type)
        for match in matches
        if match and match["type"] in type.offered_by and _is_fetched(match["uri"])
    )


def read_sources(text: str, type: PackageType) -> tuple[SourceEntry, ...]:
    """Return the entries of a file in the deb822 format."""
    entries = (_from_stanza(stanza, type) for stanza in _stanzas(text))
    return tuple(itertools.chain.from_iterable(entries))


def _from_line(match: re.Match[str], type: PackageType) -> SourceEntry:
    options = f"[{match['options'].strip()}]" if match["options"] else ""
    words = (type.value, options, match["uri"], match["suite"], *match["components"].split())
    return SourceEntry(suffix="list", content=" ".join(word for word in words if word) + "\n")


def _stanzas(text: str) -> Iterator[dict[str, str]]:
    """Yield each stanza's fields; names are as written, continuation lines are kept."""
    fields: dict[str, str] = {}
    name = ""
    for line in [*text.splitlines(), ""]:
        if line.startswith("#"):
            continue
        if not line.strip():
            if fields:
                yield fields
            fields, name = {}, ""
        elif line[0] in " \t" and name:
            fields[name] += f"\n{line}"
        elif match := _FIELD.fullmatch(line):
            name = match[1].strip()
            fields[name] = match[2]


def _from_stanza(fields: dict[str, str], type: PackageType) -> Iterator[SourceEntry]:
    known = {name.lower(): value for name, value in fields.items()}
    if not type.offered_by & set(known.get("types", "").split()):
        return
    if known.get("enabled", "yes").strip().lower() in _NO:
        return
    kept = [f"{name}: {value}" for name, value in fields.items() if name.lower() not in _DROPPED]
    for uri, suite in itertools.product(
        known.get("uris", "").split(), known.get("suites", "").split()
    ):
        if _is_fetched(uri):
            lines = (f"Types: {type.value}", f"URIs: {uri}", f"Suites: {suite}", *kept)
            yield SourceEntry(suffix="sources", content="\n".join(lines) + "\n")


def _is_fetched(uri: str) -> bool:
    """Return whether apt can fetch from there without a user who inserts discs."""
    return not uri.lower().startswith("cdrom:")
