"""Copies the artifacts of a build out of the folder in which it was compiled.

A server may run as another account than hone, so all accounts can read the copies. The folder is a
stranger's: its links must not lead to private files.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from dbhone.compilation.manifest import KeptFile
from dbhone.dbms.base import Artifact
from dbhone.untrusted_files import real_path, walk

_PROGRAM = 0o755
_DATA = 0o644


def keep(artifact: Artifact, objects: Path, tree: Path, result: Path) -> KeptFile | None:
    """Copy an artifact that was made in ``objects``, of a source tree, into ``result``.

    Return None if the build did not make it there, or has put something else in its place.
    """
    source, target = real_path(objects / artifact.made), result / artifact.kept
    if artifact.tree:
        made = source.is_dir() and source.is_relative_to(objects.resolve())
    else:
        made = _may_copy(source, (objects.resolve(), tree.resolve()))
    if not made:
        return None
    target.parent.mkdir(parents=True, exist_ok=True)
    if artifact.tree:
        copy_readable(source, target, tree)
    else:
        shutil.copyfile(source, target)
        target.chmod(_PROGRAM)
    return KeptFile.of(target, result)


def copy_readable(source: Path, target: Path, *origins: Path) -> None:
    """Copy a folder so that everybody can read it.

    A link stays a link if it leads to a file or folder inside ``source``. A link to a file outside
    becomes a copy of the file, if that is in one of the folders ``origins``, from which the folder
    was made, or if everybody may read it. Other links and special files are left out.
    """
    root = source.resolve()
    roots = (root, *(origin.resolve() for origin in origins))
    for folder, _, names in walk(root):
        copy = target / folder.relative_to(root)
        copy.mkdir(exist_ok=True)
        for name in names:
            _copy_entry(folder / name, copy / name, roots)


def _copy_entry(source: Path, target: Path, roots: tuple[Path, ...]) -> None:
    if source.is_symlink():
        original = real_path(source)
        if original.is_relative_to(roots[0]) and original.exists():
            target.symlink_to(os.path.relpath(original, source.parent))
            return
        source = original
    if not _may_copy(source, roots):
        return
    shutil.copyfile(source, target)
    target.chmod(_PROGRAM if os.access(source, os.X_OK) else _DATA)


def _may_copy(path: Path, roots: tuple[Path, ...]) -> bool:
    """Return whether a path without links is an ordinary file, below a root or everybody's."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    if not stat.S_ISREG(mode):
        return False
    if any(path.is_relative_to(root) for root in roots):
        return True
    passable = all(folder.stat().st_mode & stat.S_IXOTH for folder in path.parents)
    return passable and bool(mode & stat.S_IROTH)
