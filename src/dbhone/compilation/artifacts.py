"""Takes what a build keeps out of the folder in which it was made.

A server may run as another account than hone, so whatever is kept can be read by everybody.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from dbhone.compilation.manifest import KeptFile
from dbhone.dbms.base import Artifact
from dbhone.files import digest_of_file, digest_of_tree, tree_size

_FOLDER = 0o755
_PROGRAM = 0o755
_DATA = 0o644


def is_made(artifact: Artifact, objects: Path) -> bool:
    """Return whether the build made this artifact."""
    made = objects / artifact.made
    return made.is_dir() if artifact.tree else made.is_file()


def keep(artifact: Artifact, objects: Path, result: Path) -> KeptFile:
    """Copy an artifact from the folder ``objects`` into the folder ``result``."""
    made, kept = objects / artifact.made, result / artifact.kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    if artifact.tree:
        copy_tree(made, kept)
        size, digest = tree_size(kept), digest_of_tree(kept)
    else:
        shutil.copyfile(made, kept)
        kept.chmod(_PROGRAM)
        size, digest = kept.stat().st_size, digest_of_file(kept)
    return KeptFile(path=str(artifact.kept), bytes=size, sha256=digest, tree=artifact.tree)


def open_to_all(root: Path) -> None:
    """Let every account enter the folders below ``root`` and read the files."""
    for folder, _, names in os.walk(root):
        Path(folder).chmod(_FOLDER)
        for name in names:
            path = Path(folder) / name
            if not path.is_symlink():
                path.chmod(stat.S_IMODE(path.stat().st_mode) | 0o444)


def copy_tree(made: Path, kept: Path) -> None:
    """Copy a folder for everybody to read; links stay links inside it, others become files."""
    root = made.resolve()
    for folder, folders, names in os.walk(root):
        here = Path(folder)
        there = kept / here.relative_to(root)
        there.mkdir(exist_ok=True)
        for name in (*names, *(each for each in folders if (here / each).is_symlink())):
            _copy_entry(here / name, there / name, root)


def _copy_entry(made: Path, kept: Path, root: Path) -> None:
    """Copy a file; a link stays a link, relative, unless what it leads to is outside."""
    if made.is_symlink():
        target = Path(os.path.realpath(made))  # which bears links that run in circles
        if target.is_relative_to(root) and target.exists():
            kept.symlink_to(os.path.relpath(target, made.parent))
            return
        if not target.is_file():
            return  # it leads to nothing that could be kept
    shutil.copyfile(made, kept)
    kept.chmod(_PROGRAM if os.access(made, os.X_OK) else _DATA)
