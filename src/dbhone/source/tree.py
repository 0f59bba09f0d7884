"""Source trees: whole, frozen, named by the digest of their content, and remembered.

A tree lies in ``sources/DIGEST/tree`` of the home, with ``source.json`` beside it. A small file in
``sources/references`` says which tree a reference meant when it was last fetched, so that the same
reference needs no network again. A fetch happens in the session's scratch and becomes a tree by
one rename. A fetch that is cut off leaves nothing.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter

from dbhone.errors import HoneError, MachineError, SourceError, disk_full
from dbhone.files import digest_of, digest_of_tree, freeze, open_to_all, publish, write_whole
from dbhone.home import Home
from dbhone.process import why_not_enclosed
from dbhone.requirements import require
from dbhone.sandbox import is_waived
from dbhone.session import Notify, Session
from dbhone.source.archive import links_out
from dbhone.source.fetch import FetchJob, SourceReference
from dbhone.source.kinds.base import SourceKind, kind_of, parse_reference
from dbhone.source.local_folder import walk_source
from dbhone.untrusted_files import remove_tree

_REFERENCES = "references"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTree:
    """An immutable tree.

    ``reference`` is what the user wrote; ``resolved`` a reference that means this tree for ever
    (unless its kind is ``dir``), such as ``git:URL@COMMIT``; ``digest`` that of the content;
    ``path`` the tree's root, which is read-only: a build compiles elsewhere; ``fetched_at`` is when
    its fetch began. Files have the times of modification that they came with, which ``make``
    compares; a copy must keep them.

    A tree that was derived from another has that one's references. ``change`` says what was done
    to it, and ``origin`` is the digest of the other; both are empty of a tree that was fetched.
    """

    reference: str
    resolved: str
    digest: str
    path: Path
    fetched_at: datetime
    change: str = ""
    origin: str = ""

    @property
    def label(self) -> str:
        """What it is called in reports."""
        return self.resolved + self.change


def acquire(text: str, session: Session, *, refresh: bool = False, notify: Notify) -> SourceTree:
    """Return the tree that a reference means, fetched now or kept from before.

    ``notify`` gets lines about what is being done; it is not called for a tree that is kept.
    With ``refresh`` the tree is fetched again. Raises UsageError, SourceError, ToolError or
    MachineError, as for a stranger's tree on a machine that cannot make sandboxes.
    """
    reference = parse_reference(text)
    check_trust(reference)
    if not refresh and not kind_of(reference.kind).always_fresh:
        kept = _recall(reference, session.home)
        if kept is not None:
            return kept
    require(kind_of(reference.kind).requirements, f"fetching {reference.text}")
    scratch = session.workdir("source")
    try:
        return _fetch(reference, session.home, scratch, refresh=refresh, notify=notify)
    except OSError as error:
        full = disk_full(error, f"fetching {reference.text}")
        raise full or SourceError(f"cannot fetch {reference.text}: {error}") from error
    finally:
        with contextlib.suppress(OSError):
            remove_tree(scratch)


def check_trust(reference: SourceReference) -> None:
    """Raise MachineError if a stranger's programs would run here with nothing to shut them in.

    They may if they come by a trusted kind, or if the user has said --trust.
    """
    if kind_of(reference.kind).trusted or is_waived():
        return
    reason = why_not_enclosed()
    if reason is not None:
        raise MachineError(
            f"what {reference.text} brings must run in a sandbox, which this machine cannot make:"
            f" {reason}",
            hint="'hone doctor' says what to install; 'hone --trust …' runs it without one,"
            " with all rights of its account",
        )


def recall(text: str, home: Home) -> SourceTree | None:
    """Return the tree kept for a reference, None if it would have to be fetched."""
    reference = parse_reference(text)
    return None if kind_of(reference.kind).always_fresh else _recall(reference, home)


def last_tree(text: str, home: Home) -> SourceTree | None:
    """Return the tree that a reference meant when it was last fetched here, None if it never was.

    A folder may have changed since then, so the tree only predicts what a fetch would give.
    """
    return _recall(parse_reference(text), home)


def unchanged_tree(text: str, home: Home) -> SourceTree | None:
    """Return the tree that a reference means, None if it must be fetched or may have changed.

    A folder has not changed if nothing in it has since hone began to copy it, by the times of its
    inodes.
    """
    reference = parse_reference(text)
    tree, look = _recall(reference, home), kind_of(reference.kind).look
    if tree is None or not kind_of(reference.kind).always_fresh or look is None:
        return tree
    folder, moment = look(reference), tree.fetched_at.timestamp()
    try:
        changed = any(path.lstat().st_ctime >= moment for path in _content(folder))
    except OSError:
        return None
    return None if changed else tree


def _content(folder: Path) -> Iterator[Path]:
    """Yield a source's folder and all in it that belongs to the source."""
    for inner, _, files in walk_source(folder, lambda _: None):
        yield inner
        yield from (inner / name for name in files)


def kept_tree(digest: str, home: Home) -> SourceTree | None:
    """Return the tree with this digest, None if the home does not hold it."""
    folder = home.sources / digest
    if not digest or not _is_whole(folder):
        return None
    try:
        return _from_json((folder / "source.json").read_text(), home)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def require_kept(digest: str, home: Home, label: str) -> SourceTree:
    """Return the tree with this digest, of which a build was made that calls it by its ``label``.

    Raises SourceError if the home no longer holds it.
    """
    tree = kept_tree(digest, home)
    if tree is None:
        raise SourceError(
            f"the source tree of this build, {label}, is no longer kept",
            hint="'hone build' with the same source and variant brings it again",
        )
    return tree


def publish_tree(
    draft: Path,
    home: Home,
    *,
    reference: str,
    resolved: str,
    fetched_at: datetime | None = None,
    change: str = "",
    origin: str = "",
) -> SourceTree:
    """Freeze the folder ``tree`` in ``draft``, and publish it by its digest.

    The other words are those of SourceTree; ``fetched_at`` is now if it is None. ``draft`` is used
    up. Raises SourceError if the tree is empty.
    """
    tree = draft / "tree"
    if not any(tree.iterdir()):
        raise SourceError(f"{reference} is empty: there are no files in it")
    digest = digest_of_tree(tree)
    final = home.sources / digest
    published = SourceTree(
        reference=reference,
        resolved=resolved,
        digest=digest,
        path=final / "tree",
        fetched_at=fetched_at or datetime.now(UTC),
        change=change,
        origin=origin,
    )
    write_whole(draft / "source.json", _to_json(published))
    if not _is_whole(final):
        remove_tree(final)
        open_to_all(tree)
        freeze(tree)
        publish(draft, final)
    return published


def _fetch(
    reference: SourceReference, home: Home, scratch: Path, *, refresh: bool, notify: Notify
) -> SourceTree:
    began = datetime.now(UTC)
    draft, work = scratch / "draft", scratch / "scratch"
    tree = draft / "tree"
    tree.mkdir(parents=True)
    work.mkdir()
    log = home.logs / f"{scratch.name}.log"
    job = FetchJob(
        reference=reference,
        into=tree,
        scratch=work,
        cache=home.sources / reference.kind,
        log=log,
        refresh=refresh,
        notify=notify,
    )
    resolved = _run(kind_of(reference.kind), job)
    for link in links_out(tree):
        name = link.relative_to(tree)
        notify(f"the link {name} leads out of the tree; what it leads to is not part of it")
    published = publish_tree(
        draft, home, reference=reference.text, resolved=resolved, fetched_at=began
    )
    _remember(published, reference, home)
    log.unlink(missing_ok=True)
    return published


def _run(kind: SourceKind, job: FetchJob) -> str:
    """Let the kind fetch. The log stays only if an error points to it."""
    try:
        return kind.fetch(job)
    except HoneError as error:
        if error.log is None:
            job.log.unlink(missing_ok=True)
        raise


def _is_whole(folder: Path) -> bool:
    """Return whether a published folder is complete; a user may have deleted parts by hand."""
    return (folder / "tree").is_dir() and (folder / "source.json").is_file()


def _remember(tree: SourceTree, reference: SourceReference, home: Home) -> None:
    for meaning in (reference, parse_reference(tree.resolved)):
        path = _pin(meaning, home)
        path.parent.mkdir(exist_ok=True)
        write_whole(path, _to_json(tree))


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


_JSON = TypeAdapter(SourceTree)


def _to_json(tree: SourceTree) -> str:
    return _JSON.dump_json(tree, indent=2, exclude={"path"}).decode() + "\n"


def _from_json(text: str, home: Home) -> SourceTree:
    fields = json.loads(text)
    return _JSON.validate_python({**fields, "path": home.sources / fields["digest"] / "tree"})
