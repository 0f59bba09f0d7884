"""Changes what a tree needs changed before it can be built: another tree, with its own digest.

What that is, the DBMS says (``dbms/needs.toml``); here it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from dbhone.dbms.base import Edit
from dbhone.errors import SourceError
from dbhone.files import digest_of
from dbhone.home import Home, Session
from dbhone.source.tree import SourceTree, derive, derived

Notify = Callable[[str], None]


def edited(tree: SourceTree, edits: Sequence[Edit], session: Session, notify: Notify) -> SourceTree:
    """Return the tree as it can be built: itself, or one that is made of it, now or before.

    Raises SourceError if a file that is to be changed lies outside the tree.
    """
    needed = _needed(tree.path, edits)
    if not needed:
        return tree
    found = derived(tree, _inputs(needed), session.home)
    if found is not None:
        return found

    def change(root: Path) -> None:
        for each in needed:
            notify(f"changing {each.file}: {each.why}")
            _write(root, each)

    label = " with " + ", ".join(each.name for each in needed)
    return derive(tree, _inputs(needed), session, change, label=label)


def as_edited(tree: SourceTree, edits: Sequence[Edit], home: Home) -> SourceTree | None:
    """Return what ``edited`` would, None if that was not made yet."""
    needed = _needed(tree.path, edits)
    return derived(tree, _inputs(needed), home) if needed else tree


def _needed(root: Path, edits: Sequence[Edit]) -> list[Edit]:
    return [each for each in edits if _changed(root, each) is not None]


def _inputs(edits: Sequence[Edit]) -> tuple[str, ...]:
    return tuple(
        digest_of(
            {
                "file": str(each.file),
                "template": str(each.template),
                "replace": dict(each.replace),
            }
        )
        for each in edits
    )


def _changed(root: Path, edit: Edit) -> bytes | None:
    """Return what a file is to have, None if it may stay as it is."""
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
    """Return a file of the tree, which no link leads out of: it may be written to."""
    if not (root / name).resolve().is_relative_to(root.resolve()):
        raise SourceError(f"{name} leads out of the source tree")
    return root / name


def _write(root: Path, edit: Edit) -> None:
    text = _changed(root, edit)
    if text is not None:
        (root / edit.file).write_bytes(text)
