"""Derives trees from trees: edited for a build, with fixes, or with a server unpacked.

A derived tree has its own digest. The tree that it is made of stays as it is. What one tree was
derived to is remembered in ``sources/derived`` of the home, by the tree's digest and the inputs.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dbhone.dbms.base import Dbms, Edit
from dbhone.errors import SourceError, disk_full
from dbhone.files import copy_tree, digest_of, make_writable, write_whole
from dbhone.home import Home
from dbhone.session import Notify, Session
from dbhone.source.fixes import apply_fix, fix_inputs
from dbhone.source.ready_made import (
    find_server,
    has_archives,
    require_server,
    unpack_inner_server,
)
from dbhone.source.tree import SourceTree, kept_tree, publish_tree
from dbhone.untrusted_files import is_inside, remove_tree

_DERIVED = "derived"


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """A change to a copy of a tree.

    ``inputs`` distinguish it from other changes of the same tree; without any, nothing is changed.
    ``label`` says in reports what is changed. ``change`` is given the copy.
    """

    tree: SourceTree
    inputs: tuple[str, ...]
    label: str
    change: Callable[[Path, Session, Notify], None]

    def find(self, home: Home) -> SourceTree | None:
        """Return the derived tree, None if it was not derived yet."""
        if not self.inputs:
            return self.tree
        try:
            digest = json.loads(self._record(home).read_text())["digest"]
        except (OSError, ValueError, KeyError):
            return None
        return kept_tree(str(digest), home)

    def make(self, session: Session, notify: Notify) -> SourceTree:
        """Return the tree, derived now or before. Raises what ``change`` raises."""
        known = self.find(session.home)
        if known is not None:
            return known
        scratch = session.workdir("derived")
        try:
            derived = self._derive(scratch / "draft", session, notify)
        except OSError as error:
            full = disk_full(error, f"changing {self.tree.reference}")
            raise full or SourceError(f"cannot change {self.tree.reference}: {error}") from error
        finally:
            with contextlib.suppress(OSError):
                remove_tree(scratch)
        record = self._record(session.home)
        record.parent.mkdir(exist_ok=True)
        write_whole(record, json.dumps({"digest": derived.digest}) + "\n")
        return derived

    def _derive(self, draft: Path, session: Session, notify: Notify) -> SourceTree:
        copy = draft / "tree"
        copy_tree(self.tree.path, copy)
        make_writable(copy)
        self.change(copy, session, notify)
        return publish_tree(
            draft,
            session.home,
            reference=self.tree.reference,
            resolved=self.tree.resolved,
            change=self.tree.change + self.label,
            origin=self.tree.digest,
        )

    def _record(self, home: Home) -> Path:
        name = digest_of({"source": self.tree.digest, "inputs": list(self.inputs)})
        return home.sources / _DERIVED / f"{name}.json"


def for_build(
    tree: SourceTree, dbms: Dbms, version: str, fixes: tuple[str, ...] = ()
) -> Derivation:
    """Return what makes of a tree the one that is built: the edits that it needs, then fixes.

    The DBMS declares the edits. ``fixes`` are names of fixes, and paths of patches. Raises
    SourceError if a file to be edited lies outside the tree, and UsageError for a fix that is not
    for this version. Making the tree raises MachineError where there is no clone to take a fix
    from, and SourceError with the log for a fix that the clone lacks or that does not apply.
    """
    edits = [edit for edit in dbms.edits(version) if _edited(tree.path, edit) is not None]

    def change(root: Path, session: Session, notify: Notify) -> None:
        for edit in edits:
            notify(f"changing {edit.file}: {edit.why}")
            text = _edited(root, edit)
            if text is not None:
                (root / edit.file).write_bytes(text)
        for fix in fixes:
            notify(f"applying {fix}")
            apply_fix(fix, root, session)

    of_fixes = (fix_inputs(fix, dbms=dbms.name, version=version) for fix in fixes)
    return Derivation(
        tree=tree,
        inputs=(*map(_edit_input, edits), *(part for parts in of_fixes for part in parts)),
        label=" with " + ", ".join((*(edit.name for edit in edits), *fixes)),
        change=change,
    )


def unpack_server(tree: SourceTree, session: Session, notify: Notify) -> SourceTree:
    """Return the tree with its server unpacked: the tree itself, or one derived from it.

    ``maven:`` and ``npm:`` bring nothing but servers, and unpack their archives when they fetch.
    The archives of other kinds may belong to the source, so they are unpacked only here, where a
    server is needed. Raises SourceError if there is no server for this machine, neither unpacked
    nor in an archive, and what ``unpack`` raises.
    """
    unpacked = find_unpacked(tree, session.home)
    if unpacked is not tree or find_server(tree.path) is not None:
        return unpacked
    if not has_archives(tree.path):
        require_server(tree.path, tree.reference)
    return _unpacking(tree).make(session, notify)


def find_unpacked(tree: SourceTree, home: Home) -> SourceTree:
    """Return the tree that ``unpack_server`` derived before, else the tree itself."""
    return _unpacking(tree).find(home) or tree


def _unpacking(tree: SourceTree) -> Derivation:
    def change(root: Path, session: Session, notify: Notify) -> None:
        unpack_inner_server(root, session.workdir("opened"), notify)
        require_server(root, tree.reference)

    return Derivation(tree=tree, inputs=("the server inside",), label=" (unpacked)", change=change)


def _edit_input(edit: Edit) -> str:
    return digest_of(
        {
            "file": str(edit.file),
            "template": str(edit.template),
            "replace": dict(edit.replace),
        }
    )


def _edited(root: Path, edit: Edit) -> bytes | None:
    """Return the new content of a file, None if it may stay as it is."""
    file = _inside(root, edit.file)
    if file.is_file():
        before = text = file.read_bytes()
    elif edit.template is not None and _inside(root, edit.template).is_file():
        before, text = None, (root / edit.template).read_bytes()
    else:
        return None
    for old, new in edit.replace.items():
        text = text.replace(old.encode(), new.encode())
    return None if text == before else text


def _inside(root: Path, name: Path) -> Path:
    """Return a file of the tree that may be written to: no link on its way leads out."""
    if not is_inside(root, root / name):
        raise SourceError(f"{name} leads out of the source tree")
    return root / name
