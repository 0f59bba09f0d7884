"""Writes and reads package files: a tar that is the same to the byte, compressed, and sealed.

Entries are sorted by name, belong to user and group 0, and have one time. The compressed tar is one
frame of Zstandard (RFC 8878). A last, skippable frame holds the SHA-256 of all before it: any byte
that was altered by accident shows. tar and zstd pass over that frame.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import zstandard

from dbhone.errors import PackageError
from dbhone.units import listed, size

_LEVEL = 12
_SEAL_MAGIC = (0x184D2A50).to_bytes(4, "little")
_SEAL_BYTES = 8 + hashlib.sha256().digest_size
MOST_BYTES = 2 << 30
"""Bytes of the tar of a package, which are in memory when it is written and read."""
_NAMED = 3
"""How many files are named of a package that is too large."""
_ROOT = re.compile(r"(?:(?:opt/)?\w[\w.+~=-]*)?")
"""The folder of a package, which an image has in ``opt``; the layout of an image has none."""
_LAYOUT = b"blobs/"
"""How the tar of an image's layout begins, which has no folder of its own."""
_MODES = {"program": 0o755, "file": 0o644, "link": 0o777}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file of a package, or a link to ``link``. ``name`` is its path in the package."""

    name: str
    data: bytes = b""
    executable: bool = False
    link: str = ""

    @property
    def content(self) -> bytes:
        """What its digest is of: the data, or where a link leads."""
        return self.link.encode() if self.link else self.data

    @property
    def digest(self) -> str:
        """The SHA-256 of its content."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def kind(self) -> str:
        """Whether it is a ``link``, a ``program`` or a ``file``."""
        if self.link:
            return "link"
        return "program" if self.executable else "file"


def json_bytes(values: Any) -> bytes:
    """Return values in the one form that hone's packages have them in."""
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()


def pack(entries: Iterable[Entry], root: str, moment: int) -> bytes:
    """Return a package file: all entries in the folder ``root``, with the time ``moment``.

    ``moment`` is in seconds since the epoch. Raises PackageError for more than can be read again.
    """
    entries = tuple(entries)
    tar = tar_of(entries, root, moment)
    if len(tar) > MOST_BYTES:
        largest = sorted(entries, key=lambda entry: -len(entry.data))[:_NAMED]
        names = listed([f"{entry.name} ({size(len(entry.data))})" for entry in largest])
        raise PackageError(
            f"the package is too large: it has {size(len(tar))}, and may have {size(MOST_BYTES)}",
            hint=f"the largest files are {names}",
        )
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    compressed = compressor.compress(tar)
    return compressed + _seal(compressed)


def unpack(file: bytes) -> tuple[str, int, tuple[Entry, ...]]:
    """Return the folder, the time and the entries of a package file; an image has no folder.

    Raises PackageError for a file that is none, or that any byte of was altered.
    """
    compressed, seal = file[:-_SEAL_BYTES], file[-_SEAL_BYTES:]
    if seal[:4] != _SEAL_MAGIC or not compressed:
        raise PackageError(
            "this is not a package of hone's, or its end is missing",
            hint="'hone package' makes packages",
        )
    if seal != _seal(compressed):
        raise PackageError("the package is damaged: its seal does not match its contents")
    tar = _decompressed(compressed)
    return read_tar(tar, depth=0 if tar.startswith(_LAYOUT) else 1)


def read_tar(tar: bytes, *, depth: int) -> tuple[str, int, tuple[Entry, ...]]:
    """Return the folder, ``depth`` names deep, the time and the entries of a tar of hone's.

    Raises PackageError for another tar.
    """
    root, moment, entries = _entries(tar, depth)
    # What a reader of tar passes over, such as padding, must be as hone writes it.
    if tar_of(entries, root, moment) != tar:
        raise PackageError("the package is not in hone's own form")
    return root, moment, entries


def tar_of(entries: Iterable[Entry], root: str, moment: int) -> bytes:
    """Return the tar of entries in the folder ``root``, uncompressed; it may be empty."""
    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for entry in sorted(entries, key=lambda entry: entry.name):
            info = tarfile.TarInfo(f"{root}/{entry.name}" if root else entry.name)
            info.mode, info.mtime = _MODES[entry.kind], moment
            if entry.link:
                info.type, info.linkname = tarfile.SYMTYPE, entry.link
            else:
                info.size = len(entry.data)
            tar.addfile(info, io.BytesIO(entry.data))
    return text.getvalue()


def _seal(compressed: bytes) -> bytes:
    digest = hashlib.sha256(compressed).digest()
    return _SEAL_MAGIC + len(digest).to_bytes(4, "little") + digest


def _decompressed(compressed: bytes) -> bytes:
    """Return the content of the one frame that ``pack`` writes; it tells its length."""
    try:
        length = zstandard.frame_content_size(compressed)
        if length > MOST_BYTES:
            raise PackageError("the package is too large to be one of hone's")
        return zstandard.ZstdDecompressor().decompress(compressed, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise PackageError(f"the package is damaged: {error}") from error


def _entries(tar: bytes, depth: int) -> tuple[str, int, tuple[Entry, ...]]:
    entries, roots, moments = [], set(), set()
    try:
        with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as reader:
            for info in reader:
                path = PurePosixPath(info.name)
                roots.add("/".join(path.parts[:depth]))
                moments.add(int(info.mtime))
                entries.append(_entry(reader, info, "/".join(path.parts[depth:])))
    except (tarfile.TarError, ArithmeticError, IndexError, RecursionError, ValueError) as error:
        raise PackageError(f"the package is damaged: {error}") from error
    root = roots.pop() if len(roots) == 1 else ""
    if not _ROOT.fullmatch(root) or len(moments) != 1:
        raise PackageError("the package is not in hone's own form")
    return root, moments.pop(), tuple(entries)


def _entry(reader: tarfile.TarFile, info: tarfile.TarInfo, name: str) -> Entry:
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or name.startswith("/"):
        raise PackageError("the package holds a file that would leave its folder")
    if info.issym():
        if info.linkname.startswith("/") or ".." in PurePosixPath(info.linkname).parts:
            raise PackageError("the package holds a link that would leave its folder")
        return Entry(name=name, link=info.linkname)
    # Of a sparse file the holes would be read, too, which cost nothing in the tar.
    file = reader.extractfile(info) if info.isreg() and not info.issparse() else None
    if file is None:
        raise PackageError(f"the package holds {name}, which is not an ordinary file")
    return Entry(name=name, data=file.read(), executable=info.mode == _MODES["program"])
