"""Source trees: whole, frozen, named by the digest of their content, and remembered.

A tree lies in ``sources/DIGEST/tree`` of the home, with ``source.json`` beside it. What a
reference meant when it was last fetched lies in ``sources/references``, a small file for each,
so that the same reference again needs no network. A fetch happens in the session's scratch and
becomes a tree by one rename; a fetch that is cut off leaves nothing.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dbhone.errors import HoneError, SourceError, disk_full
from dbhone.files import (
    digest_of,
    digest_of_tree,
    freeze,
    make_writable,
    publish,
    remove_tree,
    write_whole,
)
from dbhone.home import Home, Session
from dbhone.source.kinds.base import Fetch, Notify, SourceKind, SourceReference
from dbhone.source.paths import links_out
from dbhone.source.reference import kind_of, parse_reference

_REFERENCES = "references"
_DERIVED = "derived"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTree:
    """An immutable tree.

    ``reference`` is what the user wrote; ``resolved`` a reference that means this tree for ever
    (unless its kind is ``dir``), such as ``git:URL@COMMIT``; ``digest`` that of the content;
    ``path`` the tree's root, never to be written to. Files keep the times that they came with:
    copy them with their times.
    """

    reference: str
    resolved: str
    digest: str
    path: Path
    fetched_at: datetime


def acquire(
    text: str, session: Session, *, refresh: bool = False, notify: Callable[[str], None]
) -> SourceTree:
    """Return the tree that a reference means, fetched now or kept from before.

    ``notify`` gets lines about what is being done; it is not called when the tree is kept.
    With ``refresh`` the reference is looked at again. Raises UsageError, SourceError, ToolError
    or MachineError.
    """
    reference = parse_reference(text)
    if not refresh and not kind_of(reference.kind).always_fresh:
        kept = _recall(reference, session.home)
        if kept is not None:
            return kept
    work = session.workdir("source")
    try:
        return _fetch(reference, session.home, work, refresh=refresh, notify=notify)
    except OSError as error:
        full = disk_full(error, f"fetching {reference.text}")
        raise full or SourceError(f"cannot fetch {reference.text}: {error}") from error
    finally:
        with contextlib.suppress(OSError):
            remove_tree(work)


def recall(text: str, home: Home) -> SourceTree | None:
    """Return the tree kept for a reference, None if it would have to be fetched."""
    reference = parse_reference(text)
    return None if kind_of(reference.kind).always_fresh else _recall(reference, home)


def last_tree(text: str, home: Home) -> SourceTree | None:
    """Return the tree that a reference meant when it was last fetched here, None if it never was.

    A folder may have changed since: what follows from this is an expectation.
    """
    return _recall(parse_reference(text), home)


def kept_tree(digest: str, home: Home) -> SourceTree | None:
    """Return the tree with this digest, None if the home does not hold it."""
    folder = home.sources / digest
    if not digest or not _is_whole(folder):
        return None
    try:
        return _from_json((folder / "source.json").read_text(), home)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def derived(tree: SourceTree, inputs: tuple[str, ...], home: Home) -> SourceTree | None:
    """Return the tree that was derived from another with these inputs, None if none was."""
    try:
        digest = json.loads(_derivation(tree, inputs, home).read_text())["digest"]
    except (OSError, ValueError, KeyError):
        return None
    return kept_tree(str(digest), home)


def derive(
    tree: SourceTree,
    inputs: tuple[str, ...],
    session: Session,
    change: Callable[[Path], None],
    *,
    label: str,
) -> SourceTree:
    """Return the tree that ``change`` makes of a copy of another one, and remember it.

    ``inputs`` tell it from others that are derived from the same tree; its references are the
    other's with ``label`` after them.
    """
    work = session.workdir("derived")
    try:
        root = work / "draft" / "tree"
        shutil.copytree(tree.path, root, symlinks=True)
        make_writable(root)
        change(root)
        kept = _keep(work / "draft", session.home, tree.reference + label, tree.resolved + label)
    except OSError as error:
        full = disk_full(error, f"changing {tree.reference}")
        raise full or SourceError(f"cannot change {tree.reference}: {error}") from error
    finally:
        with contextlib.suppress(OSError):
            remove_tree(work)
    pin = _derivation(tree, inputs, session.home)
    pin.parent.mkdir(exist_ok=True)
    write_whole(pin, json.dumps({"digest": kept.digest}) + "\n")
    return kept


def _derivation(tree: SourceTree, inputs: tuple[str, ...], home: Home) -> Path:
    name = digest_of({"source": tree.digest, "inputs": list(inputs)})
    return home.sources / _DERIVED / f"{name}.json"


def _fetch(
    reference: SourceReference, home: Home, work: Path, *, refresh: bool, notify: Notify
) -> SourceTree:
    draft, scratch = work / "draft", work / "scratch"
    tree = draft / "tree"
    tree.mkdir(parents=True)
    scratch.mkdir()
    log = home.logs / f"{work.name}.log"
    job = Fetch(
        reference=reference,
        into=tree,
        work=scratch,
        keep=home.sources / reference.kind,
        log=log,
        refresh=refresh,
        notify=notify,
    )
    resolved = _run(kind_of(reference.kind), job)
    for link in links_out(tree):
        name = link.relative_to(tree)
        notify(f"the link {name} leads out of the tree; what it leads to is not part of it")
    kept = _keep(draft, home, reference.text, resolved)
    _remember(kept, reference, home)
    log.unlink(missing_ok=True)
    return kept


def _run(kind: SourceKind, job: Fetch) -> str:
    """Let the kind fetch; the log stays only if an error points to it."""
    try:
        return kind.fetch(job)
    except HoneError as error:
        if error.log is None:
            job.log.unlink(missing_ok=True)
        raise


def _keep(draft: Path, home: Home, text: str, resolved: str) -> SourceTree:
    """Freeze and publish what was fetched."""
    tree = draft / "tree"
    if not any(tree.iterdir()):
        raise SourceError(f"{text} is empty: there are no files in it")
    digest = digest_of_tree(tree)
    final = home.sources / digest
    kept = SourceTree(
        reference=text,
        resolved=resolved,
        digest=digest,
        path=final / "tree",
        fetched_at=datetime.now(UTC),
    )
    write_whole(draft / "source.json", _to_json(kept))
    if not _is_whole(final):
        remove_tree(final)
        freeze(tree)
        publish(draft, final)
    return kept


def _is_whole(folder: Path) -> bool:
    """Whether a published folder is as it was published; someone may have deleted by hand."""
    return (folder / "tree").is_dir() and (folder / "source.json").is_file()


def _remember(kept: SourceTree, reference: SourceReference, home: Home) -> None:
    for each in (reference, parse_reference(kept.resolved)):
        path = _pin(each, home)
        path.parent.mkdir(exist_ok=True)
        write_whole(path, _to_json(kept))


def _recall(reference: SourceReference, home: Home) -> SourceTree | None:
    """Return the tree kept for a reference; None if there is none, or not all of it."""
    try:
        kept = _from_json(_pin(reference, home).read_text(), home)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not _is_whole(kept.path.parent):
        return None
    return dataclasses.replace(kept, reference=reference.text)


def _pin(reference: SourceReference, home: Home) -> Path:
    meaning = dataclasses.asdict(reference)
    del meaning["text"]
    return home.sources / _REFERENCES / f"{digest_of(meaning)}.json"


def _to_json(tree: SourceTree) -> str:
    fields = {
        "reference": tree.reference,
        "resolved": tree.resolved,
        "digest": tree.digest,
        "fetched_at": tree.fetched_at.isoformat(),
    }
    return json.dumps(fields, indent=2) + "\n"


def _from_json(text: str, home: Home) -> SourceTree:
    fields = json.loads(text)
    return SourceTree(
        reference=str(fields["reference"]),
        resolved=str(fields["resolved"]),
        digest=str(fields["digest"]),
        path=home.sources / str(fields["digest"]) / "tree",
        fetched_at=datetime.fromisoformat(fields["fetched_at"]),
    )
