"""What a source kind is: how its references are read, and how it fetches.

A kind file holds one constant, ``PLUGIN``, a ``SourceKind``; the file's name is the word before
the colon in a reference. A kind only fills the empty folder that it is given. Digesting,
freezing, naming and remembering are done by ``tree.py``, the same for all kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Notify = Callable[[str], None]
"""Gets a line that says what is being done, for the user to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReference:
    """What a user wrote, understood.

    ``text`` is as written; ``kind`` names the plugin; ``location`` is the package, URL or folder;
    ``revision`` a version, tag, branch or commit; ``sha256`` what a file must have, in lower case.
    """

    text: str
    kind: str
    location: str
    revision: str | None
    sha256: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """One fetch to be done.

    ``into`` is an empty folder that shall become the tree; ``work`` an empty folder for anything
    else, removed afterwards; ``keep`` a folder of the kind's own that stays between fetches and
    may not exist yet. Programs write to ``log``. With ``refresh`` nothing kept may be trusted to
    be recent.
    """

    reference: SourceReference
    into: Path
    work: Path
    keep: Path
    log: Path
    refresh: bool
    notify: Notify


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceKind:
    """A way to get a tree.

    ``syntax`` is shown to users. ``parse`` understands a whole reference of this kind, or raises
    UsageError; it looks at no network. ``fetch`` fills ``Fetch.into`` and returns the resolved
    reference: text that ``parse`` understands and that means the same tree for ever. It raises
    SourceError, ToolError or MachineError. What is ``always_fresh`` is looked at again each time,
    and promises nothing for ever; anything else is remembered by its reference. What is
    ``ready_made`` brings programs, not their source.
    """

    syntax: str
    parse: Callable[[str], SourceReference]
    fetch: Callable[[Fetch], str]
    always_fresh: bool = False
    ready_made: bool = False
