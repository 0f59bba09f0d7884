"""Makes archives in memory, as package registries wrap servers in them."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return a zip file whose members have lost their execute bits."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 2, 3, 4, 6)), content)
    return buffer.getvalue()


def tarred(files: Mapping[str, bytes], *, linked: Mapping[str, str] | None = None) -> bytes:
    """Return a tar; ``linked`` are symbolic links and what they lead to."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for name, target in (linked or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
    return buffer.getvalue()
