"""Fixes that are carried over to other releases: upstream's by name, and patches of the user's.

The data is ``fixes.toml``. Nothing is applied here: ``fixing.py`` does.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from dbhone.dbms.base_versions import VersionRange
from dbhone.errors import UnknownName, UsageError

_FILE = "fixes.toml"
_SUFFIXES = (".patch", ".diff")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """Commits of upstream's that the trees of some versions can take."""

    name: str
    title: str
    dbms: frozenset[str]
    span: VersionRange
    why: str
    source: str
    commits: tuple[str, ...]

    def check_fits(self, dbms: str, version: str) -> None:
        """Raise UsageError if it is not for trees of this version."""
        if dbms not in self.dbms:
            raise UsageError(
                f"the fix '{self.name}' is for {' and '.join(sorted(self.dbms))}, not for {dbms}"
            )
        if not self.span.holds(version):
            raise UsageError(
                f"the fix '{self.name}' is for versions from {self.span}, not for {version}",
                hint="leave it out of this subject's 'fixes'",
            )


@cache
def all_fixes() -> dict[str, Fix]:
    """Return the fixes by name, in the file's order."""
    text = resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    found = (
        Fix(
            name=each["name"],
            title=each["title"],
            dbms=frozenset(each["dbms"]),
            span=VersionRange(since=each["since"], until=each["until"]),
            why=each["why"],
            source=each["source"],
            commits=tuple(each["commits"]),
        )
        for each in tomllib.loads(text)["fix"]
    )
    return {each.name: each for each in found}


def is_file(word: str) -> bool:
    """Return whether a word names a patch of the user's rather than a fix."""
    return word.endswith(_SUFFIXES) or "/" in word


def check_word(word: str) -> str:
    """Return a word that names a fix or a patch. Raises UnknownName for a name that is none."""
    if not is_file(word) and word not in all_fixes():
        raise UnknownName("fix", word, all_fixes())
    return word


def patch_file(word: str) -> Path:
    """Return the file that a word names. Raises UsageError if it is not there."""
    path = Path(word).expanduser()
    if not path.is_file():
        raise UsageError(f"there is no patch {path}")
    return path
