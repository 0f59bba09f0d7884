"""What a source kind is: how its references are read, and how it fetches.

A kind file holds one constant, ``PLUGIN``, a ``SourceKind``; the file's name is the word before
the colon in a reference. A kind only fills the empty folder that it is given. ``tree.py`` digests,
freezes, names and remembers the tree, in the same way for all kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dbhone.requirements import Requirement
from dbhone.source.fetch import Fetch, SourceReference


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceKind:
    """A way to get a tree.

    ``syntax`` is shown to users. ``parse`` reads a whole reference of this kind, or raises
    UsageError; it does not use the network. ``fetch`` fills ``Fetch.into`` and returns the resolved
    reference: text that ``parse`` accepts and that means the same tree for ever. It raises
    SourceError, ToolError or MachineError. A kind that is ``always_fresh`` is fetched each time,
    and its references may change their meaning; the trees of other kinds are remembered by their
    references. A kind that is ``ready_made`` brings programs, not their source. What comes by a
    ``trusted`` kind is the user's own or his distribution's; what comes by others is built and run
    in sandboxes only, unless the user says otherwise. ``requirements`` are the programs that fetch.
    ``look`` is given where the tree lies on this machine already: it returns its folder, or raises
    UsageError if there is none.
    """

    syntax: str
    parse: Callable[[str], SourceReference]
    fetch: Callable[[Fetch], str]
    always_fresh: bool = False
    ready_made: bool = False
    trusted: bool = False
    requirements: tuple[Requirement, ...] = ()
    look: Callable[[SourceReference], Path] | None = None
