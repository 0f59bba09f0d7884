"""What belongs to a source that lies in a folder on this machine.

All but git's own, and the folders inside it in which somebody builds it: every ``make`` there would
make it another source, of many gigabytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from dbhone.session import Notify
from dbhone.untrusted_files import walk

_GIT = ".git"


def walk_source(root: Path, notify: Notify) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Yield each folder of a source, as ``walk`` does.

    ``notify`` gets a line for each folder that is left out because somebody builds in it.
    """
    for folder, folders, files in walk(root):
        if folder != root and _holds_build(folder, files):
            notify(f"left out {folder}: somebody builds there")
            folders.clear()
            continue
        folders[:] = [name for name in folders if name != _GIT]
        yield folder, folders, [name for name in files if name != _GIT]


def _holds_build(folder: Path, files: Collection[str]) -> bool:
    """Return whether CMake, PostgreSQL's configure or Meson was called in a folder."""
    return (
        "CMakeCache.txt" in files
        or ("config.status" in files and (folder / "src" / "Makefile.global").is_file())
        or (folder / "meson-private" / "coredata.dat").is_file()
    )
