"""What a source kind is: how its references are read, and how it fetches.

A kind file holds one constant, ``PLUGIN``, a ``SourceKind``; the file's name is the word before
the colon in a reference. A kind only fills the empty folder that it is given. ``tree.py`` digests,
freezes, names and remembers the tree, in the same way for all kinds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dbhone import registry
from dbhone.errors import UsageError
from dbhone.requirements import Requirement
from dbhone.source.fetch import FetchJob, SourceReference


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceKind:
    """A way to get a tree.

    ``syntax`` is shown to users. ``parse`` reads a whole reference of this kind, or raises
    UsageError; it does not use the network. ``fetch`` fills ``FetchJob.into`` and returns the
    resolved reference: text that ``parse`` accepts and that means the same tree for ever. It raises
    SourceError, ToolError or MachineError. A kind that is ``always_fresh`` is fetched each time,
    and its references may change their meaning; the trees of other kinds are remembered by their
    references. A kind that is ``ready_made`` brings programs, not their source. What comes by a
    ``trusted`` kind is the user's own or the distribution's; what comes by others is built and run
    in sandboxes only, unless the user says otherwise. ``requirements`` are the programs that fetch.
    ``look`` is given where the tree lies on this machine already: it returns its folder, or raises
    UsageError if there is none. ``tags`` returns the names of a repository's tags; its reference
    has no revision. ``absolute`` is given where a reference may have a path, which is looked for in
    a folder: it returns the reference with the whole path.
    """

    syntax: str
    parse: Callable[[str], SourceReference]
    fetch: Callable[[FetchJob], str]
    always_fresh: bool = False
    ready_made: bool = False
    trusted: bool = False
    requirements: tuple[Requirement, ...] = ()
    look: Callable[[SourceReference], Path] | None = None
    tags: Callable[[str], tuple[str, ...]] | None = None
    absolute: Callable[[str, Path], str] | None = None


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


def absolute_reference(text: str, folder: Path) -> str:
    """Return a reference that means the same wherever hone is started.

    A path in it is looked for in ``folder``. A word that is no reference is returned as it is.
    """
    name = text.partition(":")[0]
    absolute = kind_of(name).absolute if name in registry.names(_DRAWER) else None
    return text if absolute is None else absolute(text, folder)


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
