"""Tiny ELF files that say what they need. Nothing in them can run."""

from __future__ import annotations

import struct
from pathlib import Path

_NEEDED, _STRTAB, _STRSZ, _RPATH, _RUNPATH = 1, 5, 10, 15, 29
_EXEC, _DYN = 2, 3
_LOAD, _DYNAMIC = 1, 2
_HEADER, _SEGMENT = 64, 56
OTHER_MACHINE = 22
"""IBM S/390, on which these tests do not run; or else they skip what needs another machine."""


def elf(
    *needed: str,
    rpath: str = "",
    runpath: str = "",
    machine: int | None = None,
    type: int = _DYN,
) -> bytes:
    """Return a 64-bit ELF file, for this machine unless another is given by its number."""
    texts = [(_NEEDED, name) for name in needed]
    texts += [(tag, text) for tag, text in ((_RPATH, rpath), (_RUNPATH, runpath)) if text]
    strings = b"\0"
    entries: list[tuple[int, int]] = []
    for tag, text in texts:
        entries.append((tag, len(strings)))
        strings += text.encode() + b"\0"
    dynamic_at = _HEADER + 2 * _SEGMENT
    strings_at = dynamic_at + 16 * (len(entries) + 3)
    entries += [(_STRTAB, strings_at), (_STRSZ, len(strings)), (0, 0)]
    dynamic = b"".join(struct.pack("=QQ", *entry) for entry in entries)
    whole = strings_at + len(strings)
    with Path("/proc/self/exe").open("rb") as file:
        ours = file.read(20)
    number = struct.unpack("=H", ours[18:20])[0] if machine is None else machine
    header = ours[:16] + struct.pack(
        "=HHIQQQIHHHHHH", type, number, 1, 0, _HEADER, 0, 0, _HEADER, _SEGMENT, 2, 64, 0, 0
    )
    load = struct.pack("=IIQQQQQQ", _LOAD, 5, 0, 0, 0, whole, whole, 4096)
    segment = struct.pack(
        "=IIQQQQQQ", _DYNAMIC, 4, dynamic_at, dynamic_at, 0, len(dynamic), len(dynamic), 8
    )
    return header + load + segment + dynamic + strings
