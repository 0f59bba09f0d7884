"""OpenSSL, of which older trees of MySQL's kind want version 1 and newer ones take any."""

from __future__ import annotations

import re
from pathlib import Path

from dbhone.dbms._script import text_of
from dbhone.dbms.base import LIBRARIES_VARIABLE, BuildRequest
from dbhone.errors import SourceError

OPTION = "WITH_SSL"
_TOP = Path("CMakeLists.txt")
_SCRIPT = Path("cmake/ssl.cmake")
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
    if any(option.startswith(f"-D{OPTION}=") for option in request.options):
        return ()
    if _brings_its_own(request.tree):
        return (f"-D{OPTION}=bundled",)
    if not _knows_only_one(request.tree) or _is_one(_MACHINE):
        return (f"-D{OPTION}=system",)
    for folder in sorted(request.libraries.glob("openssl*")) if request.libraries else ():
        if _is_one(folder):
            return (f"-D{OPTION}={folder}",)
    raise SourceError(
        f"version {request.version} takes OpenSSL 1 only, which this machine does not have",
        hint=f"install OpenSSL 1.1.1 to a folder openssl-1.1.1 in the folder that"
        f' {LIBRARIES_VARIABLE} names, or give options = ["-D{OPTION}=/path/to/it"]',
    )


def ssl_programs(tree: Path) -> tuple[str, ...]:
    """Return the programs that a tree calls to take an OpenSSL that is not the machine's."""
    foreign = _knows_only_one(tree) and not _brings_its_own(tree) and not _is_one(_MACHINE)
    return ("patchelf",) if foreign and "PATCHELF_EXECUTABLE" in text_of(tree / _TOP) else ()


def _brings_its_own(tree: Path) -> bool:
    """Return whether the tree's own library can be asked for: MyRocks' has it and takes others."""
    return (tree / _BUNDLE).is_file() and '"bundled"' in text_of(tree / _SCRIPT)


def _knows_only_one(tree: Path) -> bool:
    text = text_of(tree / _SCRIPT)
    return bool(_WANTS_ONE.search(text)) and not _TAKES_THREE.search(text)


def _is_one(prefix: Path) -> bool:
    return bool(_ONE.search(text_of(prefix / _HEADER)))
