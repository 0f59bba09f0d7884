"""Derives trees from trees: edited for a build, with fixes, or with a server unpacked.

A derived tree has its own digest. The tree that it is made of stays as it is. What one tree was
derived to is remembered in ``sources/derived`` of the home, by the tree's digest and the inputs.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from dbhone.dbms.base import Edit
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
_UNPACKED = ("the server inside",)


def apply_edits(
    tree: SourceTree, edits: Sequence[Edit], session: Session, notify: Notify
) -> SourceTree:
    """Return the tree with those edits that it needs: the tree itself, or one derived from it.

    The DBMS declares the edits. Raises SourceError if a file to be edited lies outside the tree.
    """
    needed = _needed(tree.path, edits)
    if not needed:
        return tree

    def change(root: Path) -> None:
        for edit in needed:
            notify(f"changing {edit.file}: {edit.why}")
            text = _edited(root, edit)
            if text is not None:
                (root / edit.file).write_bytes(text)

    label = " with " + ", ".join(edit.name for edit in needed)
    return _derive(tree, _edit_inputs(needed), session, change, label=label)


def find_edited(tree: SourceTree, edits: Sequence[Edit], home: Home) -> SourceTree | None:
    """Return what ``apply_edits`` would return, None if that was not derived yet."""
    needed = _needed(tree.path, edits)
    return _find(tree, _edit_inputs(needed), home) if needed else tree


def apply_fixes(
    tree: SourceTree,
    fixes: tuple[str, ...],
    session: Session,
    notify: Notify,
    *,
    dbms: str,
    version: str,
) -> SourceTree:
    """Return the tree with fixes, derived now or before.

    ``fixes`` are names of fixes, and paths of patches. Raises UsageError for a fix that is not for
    this version, MachineError where there is no clone to take a fix from, and SourceError with the
    log for a fix that the clone lacks or that does not apply.
    """
    inputs = _fixing_inputs(fixes, dbms, version)

    def change(root: Path) -> None:
        for fix in fixes:
            notify(f"applying {fix}")
            apply_fix(fix, root, session)

    return _derive(tree, inputs, session, change, label=" with " + ", ".join(fixes))


def find_fixed(
    tree: SourceTree, fixes: tuple[str, ...], home: Home, *, dbms: str, version: str
) -> SourceTree | None:
    """Return what ``apply_fixes`` would return, None if that was not derived yet.

    Raises what ``apply_fixes`` raises before it changes anything.
    """
    return _find(tree, _fixing_inputs(fixes, dbms, version), home) if fixes else tree


def _fixing_inputs(fixes: tuple[str, ...], dbms: str, version: str) -> tuple[str, ...]:
    return tuple(part for fix in fixes for part in fix_inputs(fix, dbms=dbms, version=version))


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
    scratch = session.workdir("opened")

    def change(root: Path) -> None:
        unpack_inner_server(root, scratch, notify)
        require_server(root, tree.reference)

    return _derive(tree, _UNPACKED, session, change, label=" (unpacked)")


def find_unpacked(tree: SourceTree, home: Home) -> SourceTree:
    """Return the tree that ``unpack_server`` derived before, else the tree itself."""
    return _find(tree, _UNPACKED, home) or tree


def _find(tree: SourceTree, inputs: tuple[str, ...], home: Home) -> SourceTree | None:
    """Return the tree that was derived from another with these inputs, None if none was."""
    try:
        digest = json.loads(_record(tree, inputs, home).read_text())["digest"]
    except (OSError, ValueError, KeyError):
        return None
    return kept_tree(str(digest), home)


def _derive(
    tree: SourceTree,
    inputs: tuple[str, ...],
    session: Session,
    change: Callable[[Path], None],
    *,
    label: str,
) -> SourceTree:
    """Return the tree that ``change`` makes of a copy of ``tree``, derived now or before.

    ``inputs`` distinguish it from other trees that are derived from the same one. ``label`` says
    what is changed.
    """
    known = _find(tree, inputs, session.home)
    if known is not None:
        return known
    scratch = session.workdir("derived")
    draft = scratch / "draft"
    try:
        copy_tree(tree.path, draft / "tree")
        make_writable(draft / "tree")
        change(draft / "tree")
        derived = publish_tree(
            draft,
            session.home,
            reference=tree.reference,
            resolved=tree.resolved,
            change=tree.change + label,
            origin=tree.digest,
        )
    except OSError as error:
        full = disk_full(error, f"changing {tree.reference}")
        raise full or SourceError(f"cannot change {tree.reference}: {error}") from error
    finally:
        with contextlib.suppress(OSError):
            remove_tree(scratch)
    record = _record(tree, inputs, session.home)
    record.parent.mkdir(exist_ok=True)
    write_whole(record, json.dumps({"digest": derived.digest}) + "\n")
    return derived


def _record(tree: SourceTree, inputs: tuple[str, ...], home: Home) -> Path:
    name = digest_of({"source": tree.digest, "inputs": list(inputs)})
    return home.sources / _DERIVED / f"{name}.json"


def _needed(root: Path, edits: Sequence[Edit]) -> list[Edit]:
    return [edit for edit in edits if _edited(root, edit) is not None]


def _edit_inputs(edits: Sequence[Edit]) -> tuple[str, ...]:
    return tuple(
        digest_of(
            {
                "file": str(edit.file),
                "template": str(edit.template),
                "replace": dict(edit.replace),
            }
        )
        for edit in edits
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
