"""Opens a tree whose server lies in an archive of it: another tree, with a digest of its own.

``maven:`` and ``npm:`` bring nothing but servers, and open their archives when they fetch. The
other kinds bring sources too, whose archives belong to them; so theirs are opened only where a
server is wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dbhone.home import Home, Session
from dbhone.source.kinds.base import Fetch
from dbhone.source.nested import has_archives, open_server
from dbhone.source.ready import find_server, require_server
from dbhone.source.reference import parse_reference
from dbhone.source.tree import SourceTree, derive, derived

_INPUTS = ("the server inside",)

Notify = Callable[[str], None]


def opened(tree: SourceTree, session: Session, notify: Notify) -> SourceTree:
    """Return the tree in which the server lies open: the tree itself, or one made of it.

    It is made now or kept from before. Raises SourceError if there is no server for this machine,
    neither open nor in an archive, and what ``unpack`` raises.
    """
    found = as_opened(tree, session.home)
    if found is not tree or find_server(tree.path) is not None:
        return found
    if not has_archives(tree.path):
        require_server(tree.path, tree.reference)
    work = session.workdir("opened")
    job = Fetch(
        reference=parse_reference(tree.reference),
        into=work / "tree",
        work=work,
        keep=work / "keep",
        log=session.home.logs / f"{work.name}.log",
        refresh=False,
        notify=notify,
    )

    def change(root: Path) -> None:
        open_server(root, job)
        require_server(root, tree.reference)

    made = derive(tree, _INPUTS, session, change, label=" (unpacked)")
    job.log.unlink(missing_ok=True)
    return made


def as_opened(tree: SourceTree, home: Home) -> SourceTree:
    """Return what ``tree`` was opened to before, the tree itself if it was not."""
    return derived(tree, _INPUTS, home) or tree
