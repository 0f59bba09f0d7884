"""Copies the artifacts of a build out of the folder in which it was compiled.

A server may run as another account than hone, so all accounts can read the copies.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from dbhone.compilation.manifest import KeptFile
from dbhone.dbms.base import Artifact
from dbhone.files import digest_of_file, digest_of_tree, tree_size
from dbhone.untrusted_files import walk

_FOLDER = 0o755
_PROGRAM = 0o755
_DATA = 0o644


def is_made(artifact: Artifact, objects: Path) -> bool:
    """Return whether the build made this artifact."""
    path = objects / artifact.made
    return path.is_dir() if artifact.tree else path.is_file()


def keep(artifact: Artifact, objects: Path, result: Path) -> KeptFile:
    """Copy an artifact from the folder ``objects`` into the folder ``result``."""
    source, target = objects / artifact.made, result / artifact.kept
    target.parent.mkdir(parents=True, exist_ok=True)
    if artifact.tree:
        copy_tree(source, target)
        size, digest = tree_size(target), digest_of_tree(target)
    else:
        shutil.copyfile(source, target)
        target.chmod(_PROGRAM)
        size, digest = target.stat().st_size, digest_of_file(target)
    return KeptFile(path=str(artifact.kept), bytes=size, sha256=digest, tree=artifact.tree)


def open_to_all(root: Path) -> None:
    """Let every account enter the folders below ``root`` and read the files."""
    for folder, _, names in walk(root):
        folder.chmod(_FOLDER)
        for path in (folder / name for name in names):
            if not path.is_symlink():
                path.chmod(stat.S_IMODE(path.stat().st_mode) | 0o444)


def copy_tree(source: Path, target: Path) -> None:
    """Copy a folder so that everybody can read it.

    A link stays a link if it leads to a file or folder inside ``source``. A link to a file outside
    becomes a copy of the file. Other links are left out.
    """
    root = source.resolve()
    for folder, _, names in walk(root):
        copy = target / folder.relative_to(root)
        copy.mkdir(exist_ok=True)
        for name in names:
            _copy_entry(folder / name, copy / name, root)


def _copy_entry(source: Path, target: Path, root: Path) -> None:
    if source.is_symlink():
        original = Path(os.path.realpath(source))  # unlike resolve, bears links that run in circles
        if original.is_relative_to(root) and original.exists():
            target.symlink_to(os.path.relpath(original, source.parent))
            return
        if not original.is_file():
            return
    shutil.copyfile(source, target)
    target.chmod(_PROGRAM if os.access(source, os.X_OK) else _DATA)
