"""OpenSSL, of which older trees of MySQL's kind want version 1 and newer ones take any."""

from __future__ import annotations

import re
from pathlib import Path

from dbhone.dbms.base import LIBRARIES_VARIABLE, BuildRequest
from dbhone.errors import SourceError

OPTION = "WITH_SSL"
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
    if any(each.startswith(f"-D{OPTION}=") for each in request.options):
        return ()
    if (request.tree / _BUNDLE).is_file():
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


def _knows_only_one(tree: Path) -> bool:
    script = tree / _SCRIPT
    text = script.read_text(encoding="utf-8", errors="replace") if script.is_file() else ""
    return bool(_WANTS_ONE.search(text)) and not _TAKES_THREE.search(text)


def _is_one(prefix: Path) -> bool:
    header = prefix / _HEADER
    return header.is_file() and bool(
        _ONE.search(header.read_text(encoding="utf-8", errors="replace"))
    )
