"""``dir:PATH``: a folder on this machine, which is copied and never written to.

Everything is copied, with times and modes, except ``.git``, folders in which somebody builds, and
sockets and pipes, which hold no source. Links are copied as links.
"""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

from dbhone.errors import SourceError, UsageError, disk_full
from dbhone.files import absolute_path, copy_tree
from dbhone.session import Notify
from dbhone.source.fetch import FetchJob, SourceReference
from dbhone.source.kinds.base import SourceKind
from dbhone.source.local_folder import walk_source


def _parse(text: str) -> SourceReference:
    path = absolute_path(text.removeprefix("dir:"))
    return SourceReference(text=text, kind="dir", location=str(path))


def _absolute(text: str, folder: Path) -> str:
    return f"dir:{absolute_path(text.removeprefix('dir:'), folder)}"


def _fetch(job: FetchJob) -> str:
    root = _look(job.reference)
    if job.into.resolve().is_relative_to(root.resolve()):
        raise UsageError(
            f"{root} holds dbhone's own home folder, so it cannot be copied into it",
            hint="choose another home with --home or DBHONE_HOME",
        )
    job.notify(f"copying {root}")
    copy_source(root, job.into, job.notify)
    return f"dir:{root}"


def _look(reference: SourceReference) -> Path:
    root = Path(reference.location)
    try:
        mode = root.stat().st_mode
    except OSError as error:
        raise UsageError(
            f"cannot read the source folder {root}: {error.strerror}",
            hint="give the folder that holds the source tree",
        ) from error
    if not stat.S_ISDIR(mode):
        raise UsageError(
            f"{root} is not a folder", hint="give the folder that holds the source tree"
        )
    return root


def copy_source(root: Path, into: Path, notify: Notify) -> None:
    """Copy the content of the folder ``root`` into the empty folder ``into``.

    ``notify`` gets a line for each file or folder that is left out. Raises SourceError, naming the
    file, if one cannot be read, and MachineError when the disk is full.
    """

    def copy(source: Path, target: Path) -> None:
        if stat.S_ISREG(source.lstat().st_mode):
            shutil.copy2(source, target)
        else:
            notify(f"left out {source}: not a file, folder or link")

    try:
        copy_tree(root, into, copy=copy, content=walk_source(root, notify))
    except OSError as error:
        full = disk_full(error, "copying a source")
        raise full or SourceError(
            f"cannot copy {error.filename or root}: {error.strerror}"
        ) from error


PLUGIN = SourceKind(
    syntax="dir:PATH",
    parse=_parse,
    fetch=_fetch,
    always_fresh=True,
    trusted=True,
    look=_look,
    absolute=_absolute,
)
