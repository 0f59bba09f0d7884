"""Source trees of MySQL's kind: whose they are, of which version, and under which licence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from dbhone.dbms.base import Licence
from dbhone.errors import SourceError
from dbhone.files import text_if_there

_FILES = ("MYSQL_VERSION", "VERSION")
"""Where a tree says its version; the first since 8.0.27 or so, because C++20 has a <version>."""
_PARTS = ("MAJOR", "MINOR", "PATCH")
_FIELD = re.compile(r"^(MYSQL_VERSION_\w+|SERVER_MATURITY)=(.*)$", re.MULTILINE)
_PERCONA_EXTRA = re.compile(r"-(?:rel)?\d+(?:\.\d+)*")
_PERCONA_FOLDER = "build-ps"
_MYROCKS = Path("storage/rocksdb")


class Vendor(StrEnum):
    """Whose server a tree is; the values are the names that hone's files use."""

    MYSQL = "mysql"
    PERCONA = "percona"
    MYROCKS = "myrocks"
    MARIADB = "mariadb"


_TITLES = {
    Vendor.MYSQL: "MySQL",
    Vendor.PERCONA: "Percona Server",
    Vendor.MYROCKS: "Facebook's MySQL with MyRocks",
    Vendor.MARIADB: "MariaDB",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a tree says of itself: ``version`` is such as 8.0.39, with Percona's number after it."""

    vendor: Vendor
    version: str


def identify(tree: Path) -> Identity | None:
    """Return whose tree this is, None if it is not of MySQL's kind."""
    for name in _FILES:
        said = _FIELD.findall(text_if_there(tree / name))
        fields: dict[str, str] = {key: value.strip() for key, value in said}
        parts = [fields.get(f"MYSQL_VERSION_{part}", "") for part in _PARTS]
        if all(part.isdigit() for part in parts):
            extra = fields.get("MYSQL_VERSION_EXTRA", "")
            vendor = _vendor(tree, extra, matured="SERVER_MATURITY" in fields)
            return Identity(vendor=vendor, version=".".join(parts) + extra)
    return None


def _vendor(tree: Path, extra: str, *, matured: bool) -> Vendor:
    if matured:
        return Vendor.MARIADB
    # Percona Server has Facebook's engine too.
    if _PERCONA_EXTRA.fullmatch(extra) or (tree / _PERCONA_FOLDER).is_dir():
        return Vendor.PERCONA
    return Vendor.MYROCKS if (tree / _MYROCKS).is_dir() else Vendor.MYSQL


def version_of(tree: Path, vendor: Vendor) -> str:
    """Return the version of a tree of this vendor's; raise SourceError if it is not one."""
    found = identify(tree)
    if found is None:
        raise SourceError(
            f"this is not {_TITLES[vendor]}'s source tree: {' and '.join(_FILES)} do not say so",
            hint=f"give the whole source tree of {_TITLES[vendor]}",
        )
    if found.vendor is not vendor:
        raise SourceError(
            f"this is the source tree of {_TITLES[found.vendor]} {found.version},"
            f" not of {_TITLES[vendor]}",
            hint=f'say dbms = "{found.vendor}"',
        )
    return found.version


def gpl_2(*files: str) -> Licence:
    """Return the GNU General Public Licence, version 2, for a tree that has it in these files."""
    return Licence(
        name="GPL-2.0-only",
        files=files,
        duty="The GNU General Public Licence, version 2, asks whoever passes the programs on to"
        " pass on the complete source, too, or to offer it in writing for three years.",
    )
