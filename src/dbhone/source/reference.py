"""Source references: the text that says where a tree comes from, ``KIND:REST``."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from dbhone import registry
from dbhone.errors import UsageError
from dbhone.source.fetch import SourceReference
from dbhone.source.kinds.base import SourceKind

_DRAWER = "dbhone.source.kinds"
_WHAT = "source kind"


def parse_reference(text: str) -> SourceReference:
    """Return the parsed reference. Nothing is fetched or started.

    Raises UnknownName for an unknown kind, and UsageError for a malformed reference.
    """
    stripped = text.strip()
    name, colon, rest = stripped.partition(":")
    if not stripped.isprintable():
        raise UsageError(f"a source reference is one line of plain text, not {text!r}")
    if not colon:
        raise UsageError(f"'{text}' is not a source reference", hint=_hint_for(stripped))
    kind = kind_of(name)
    if not rest:
        raise UsageError(f"'{text}' names no source", hint=f"write it as {kind.syntax}")
    return kind.parse(stripped)


def folder_of(text: str) -> Path | None:
    """Return the folder on this machine that a reference names, None if it is fetched.

    Raises UsageError if there is no such folder.
    """
    reference = parse_reference(text)
    look = kind_of(reference.kind).look
    return None if look is None else look(reference)


def kind_of(name: str) -> SourceKind:
    """Return the plugin for the word before the colon. Raises UnknownName."""
    return registry.load(_DRAWER, name, SourceKind, what=_WHAT)


def known_syntax() -> tuple[str, ...]:
    """Return how references of each kind are written, for help texts."""
    return tuple(kind.syntax for kind in source_kinds().values())


def source_kinds() -> Mapping[str, SourceKind]:
    """Return all kinds, by the word before the colon."""
    return registry.load_all(_DRAWER, SourceKind, what=_WHAT)


def _hint_for(text: str) -> str:
    with contextlib.suppress(OSError, RuntimeError):  # too long a name, or an unknown user's home
        if text and Path(text).expanduser().exists():
            return f"for a local folder write dir:{text}"
    return f"write it as {', '.join(known_syntax())}"
