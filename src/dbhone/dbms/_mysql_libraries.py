"""Libraries of which trees of MySQL's kind want one version: OpenSSL by the older ones, boost."""

from __future__ import annotations

import re
from pathlib import Path

from dbhone.dbms._cmake import is_given
from dbhone.dbms.base import LIBRARIES_VARIABLE, BuildRequest
from dbhone.errors import SourceError
from dbhone.files import text_if_there

SSL_OPTION = "WITH_SSL"
_TOP = Path("CMakeLists.txt")
_SSL_SCRIPT = Path("cmake/ssl.cmake")
_WANTS_ONE = re.compile(r'OPENSSL_MAJOR_VERSION\s+STREQUAL\s+"1"')
_TAKES_THREE = re.compile(r'OPENSSL_MAJOR_VERSION\s+STREQUAL\s+"3"')
_BUNDLE = Path("extra/yassl/CMakeLists.txt")
_HEADER = Path("include/openssl/opensslv.h")
_ONE = re.compile(r"^#\s*define\s+OPENSSL_VERSION_NUMBER\s+0x1", re.MULTILINE)
_MACHINE = Path("/usr")


def ssl_options(request: BuildRequest) -> tuple[str, ...]:
    """Return the options that say which library for TLS a tree takes.

    Its own where it brings one (yaSSL, until 5.7.27); else the machine's, or for a tree that
    knows OpenSSL 1 alone one in the user's folder of libraries. Raises SourceError, before
    anything is built, if there is none that the tree takes.
    """
    if is_given(SSL_OPTION, request.options):
        return ()
    if _brings_its_own(request.tree):
        return (f"-D{SSL_OPTION}=bundled",)
    if not _knows_only_one(request.tree) or _is_one(_MACHINE):
        return (f"-D{SSL_OPTION}=system",)
    for folder in sorted(request.libraries.glob("openssl*")) if request.libraries else ():
        if _is_one(folder):
            return (f"-D{SSL_OPTION}={folder}",)
    raise SourceError(
        f"version {request.version} takes OpenSSL 1 only, which this machine does not have",
        hint=f"install OpenSSL 1.1.1 to a folder openssl-1.1.1 in the folder that"
        f' {LIBRARIES_VARIABLE} names, or give options = ["-D{SSL_OPTION}=/path/to/it"]',
    )


def ssl_programs(tree: Path) -> tuple[str, ...]:
    """Return the programs that a tree calls to take an OpenSSL that is not the machine's."""
    foreign = _knows_only_one(tree) and not _brings_its_own(tree) and not _is_one(_MACHINE)
    return ("patchelf",) if foreign and "PATCHELF_EXECUTABLE" in text_if_there(tree / _TOP) else ()


def _brings_its_own(tree: Path) -> bool:
    """Return whether the tree's own library can be asked for: MyRocks' has it and takes others."""
    return (tree / _BUNDLE).is_file() and '"bundled"' in text_if_there(tree / _SSL_SCRIPT)


def _knows_only_one(tree: Path) -> bool:
    text = text_if_there(tree / _SSL_SCRIPT)
    return bool(_WANTS_ONE.search(text)) and not _TAKES_THREE.search(text)


def _is_one(prefix: Path) -> bool:
    return bool(_ONE.search(text_if_there(prefix / _HEADER)))


BOOST_OPTION = "WITH_BOOST"
_WANTED = re.compile(r'SET\s*\(\s*BOOST_PACKAGE_NAME\s+"?(boost_\d+_\d+_\d+)"?', re.IGNORECASE)
_BUNDLES = (Path("extra/boost"), Path("boost"))
_BOOST_SCRIPT = Path("cmake/boost.cmake")
_MARK = Path("boost/version.hpp")
_SYSTEM = Path("/usr/include")
_NUMBER = re.compile(r"^#define\s+BOOST_VERSION\s+(\d+)", re.MULTILINE)


def required_version(tree: Path) -> str | None:
    """Return the version that a tree wants, such as ``boost_1_77_0``; None if it wants none."""
    match = _WANTED.search(text_if_there(tree / _BOOST_SCRIPT))
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
    if BOOST_OPTION not in text_if_there(request.tree / _BOOST_SCRIPT):
        return ()  # it takes the one that it brings
    off = "-DDOWNLOAD_BOOST=OFF"
    if is_given(BOOST_OPTION, request.options):
        return (off,)
    folders = [request.tree / bundle / name for bundle in _BUNDLES]
    if request.libraries is not None:
        folders.append(request.libraries / name)
    for folder in folders:
        if (folder / _MARK).is_file():
            return (off, f"-D{BOOST_OPTION}={folder}")
    if _system_has(name):
        return (off,)
    raise SourceError(
        f"version {request.version} needs the headers of {name}, which its tree does not bring",
        hint=f"unpack {name} into a folder and set {LIBRARIES_VARIABLE} to that folder, or"
        f' give options = ["-D{BOOST_OPTION}=/path/to/{name}"]',
    )


def _system_has(name: str) -> bool:
    """Return whether the machine's own headers are of the version called ``name``."""
    match = _NUMBER.search(text_if_there(_SYSTEM / _MARK))
    _, major, minor, patch = name.split("_")
    return match is not None and int(match[1]) == int(major) * 100_000 + int(minor) * 100 + int(
        patch
    )
