"""Boost, which MySQL's trees of 5.7 and newer want in one version each and no other."""

from __future__ import annotations

import re
from pathlib import Path

from dbhone.dbms._script import text_of
from dbhone.dbms.base import LIBRARIES_VARIABLE, BuildRequest
from dbhone.errors import SourceError

OPTION = "WITH_BOOST"
_WANTED = re.compile(r'SET\s*\(\s*BOOST_PACKAGE_NAME\s+"?(boost_\d+_\d+_\d+)"?', re.IGNORECASE)
_BUNDLES = (Path("extra/boost"), Path("boost"))
_SCRIPT = Path("cmake/boost.cmake")
_MARK = Path("boost/version.hpp")
_SYSTEM = Path("/usr/include")
_NUMBER = re.compile(r"^#define\s+BOOST_VERSION\s+(\d+)", re.MULTILINE)


def required_version(tree: Path) -> str | None:
    """Return the version that a tree wants, such as ``boost_1_77_0``; None if it wants none."""
    match = _WANTED.search(text_of(tree / _SCRIPT))
    return match[1] if match else None


def boost_options(request: BuildRequest) -> tuple[str, ...]:
    """Return the options that tell a tree where its boost is; none where it knows or needs none.

    It is looked for in the tree, in the user's folder of libraries and among the machine's
    headers, and is never downloaded. Raises SourceError, before anything is built, if the
    version that the tree wants is nowhere.
    """
    name = required_version(request.tree)
    if name is None:
        return ()
    if OPTION not in text_of(request.tree / _SCRIPT):
        return ()  # it takes the one that it brings
    off = "-DDOWNLOAD_BOOST=OFF"
    if any(option.startswith(f"-D{OPTION}=") for option in request.options):
        return (off,)
    folders = [request.tree / bundle / name for bundle in _BUNDLES]
    if request.libraries is not None:
        folders.append(request.libraries / name)
    for folder in folders:
        if (folder / _MARK).is_file():
            return (off, f"-D{OPTION}={folder}")
    if _system_has(name):
        return (off,)
    raise SourceError(
        f"version {request.version} needs the headers of {name}, which its tree does not bring",
        hint=f"unpack {name} into a folder and set {LIBRARIES_VARIABLE} to that folder, or"
        f' give options = ["-D{OPTION}=/path/to/{name}"]',
    )


def _system_has(name: str) -> bool:
    """Return whether the machine's own headers are of the version called ``name``."""
    match = _NUMBER.search(text_of(_SYSTEM / _MARK))
    _, major, minor, patch = name.split("_")
    return match is not None and int(match[1]) == int(major) * 100_000 + int(minor) * 100 + int(
        patch
    )
