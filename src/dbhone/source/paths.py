"""Paths that users write, and links that lead out of a tree."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from dbhone.errors import UsageError


def absolute(text: str) -> Path:
    """Return a path that a user wrote as an absolute one; it need not exist."""
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError as error:
        raise UsageError(f"'{text}': there is no such user") from error


def links_out(root: Path) -> Iterator[Path]:
    """Yield the symbolic links below ``root`` that are absolute or end outside.

    What they lead to is not covered by the tree's digest. No link is followed.
    """
    real = root.resolve()
    for folder, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = Path(folder, name)
            if path.is_symlink() and _leads_out(path, real):
                yield path


def _leads_out(link: Path, root: Path) -> bool:
    # realpath, unlike Path.resolve, bears links that run in circles.
    aim = Path(os.path.realpath(link))
    return link.readlink().is_absolute() or not aim.is_relative_to(root)
