"""The files and folders of this machine that a user names for a build, beside its source.

They are inputs of the build. Of a file the content counts. Of a folder, which may hold all of
boost, the names, sizes and times of its files do, since reading it would take long. What belongs to
the distribution counts as little as the headers and libraries that a build finds there by itself.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from dbhone.dbms.base import LIBRARIES_VARIABLE
from dbhone.errors import MachineError
from dbhone.files import absolute_path, digest_of, digest_of_file
from dbhone.untrusted_files import walk

_PATH = re.compile(r"(?:^|[=:])(/[^=:]+)")
"""A path in an option, such as ``-DWITH_SSL=/opt/ssl``."""
_SYSTEM = re.compile(
    r"/+|/tmp/*"
    r"|/(?:usr(?!/+local(?:/|$))|etc|var|run|dev|proc|sys|s?bin|lib(?:x?32|64)?)(?:/.*)?"
)


def paths_in(option: str) -> tuple[Path, ...]:
    """Return the paths that a build option names, whether there is anything or not."""
    return tuple(map(Path, _PATH.findall(option)))


def is_of_system(path: Path) -> bool:
    """Return whether a path belongs to the distribution, or to what changes all the time."""
    return _SYSTEM.fullmatch(str(path)) is not None


def named_paths(options: Iterable[str], words: Iterable[str]) -> dict[Path, str]:
    """Return what options name, and what of the user's libraries is in the words of a recipe.

    With each path is what tells its content from what was there before, or may be there later.
    """
    named = {path for option in options for path in paths_in(option)}
    named = {path for path in named if not is_of_system(path)}
    libraries = library_folder()
    if libraries is not None:
        inside = re.compile(re.escape(str(libraries)) + r"(?:/[^=:;\s]+)?(?![^/=:;\s])")
        named |= {Path(found) for word in words for found in inside.findall(word)}
    return {path: _identity(path) for path in sorted(named) if path.is_file() or path.is_dir()}


def library_folder() -> Path | None:
    """Return the user's folder of libraries for old trees, None if there is none.

    Raises MachineError if what is named is not a folder.
    """
    named = os.environ.get(LIBRARIES_VARIABLE)
    if not named:
        return None
    folder = absolute_path(named)
    if not folder.is_dir():
        raise MachineError(
            f"{LIBRARIES_VARIABLE} names {folder}, which is not a folder",
            hint="set it to the folder that holds boost_1_59_0 and the like, or unset it",
        )
    return folder


@functools.cache
def _identity(path: Path) -> str:
    """Return the identity of a path; hone looks once, since boost has many files."""
    if path.is_file():
        return digest_of_file(path)
    files = ((each.relative_to(path), each.lstat()) for each in _all_within(path))
    known = [
        (str(name), status.st_size, status.st_mtime_ns)
        for name, status in files
        if not stat.S_ISDIR(status.st_mode)
    ]
    return digest_of(sorted(known))


def _all_within(path: Path) -> Iterator[Path]:
    """Yield a path and, of a folder, all in it that can be reached."""
    yield path
    if path.is_dir():
        with contextlib.suppress(OSError):
            for folder, _, names in walk(path.resolve()):
                inner = path / folder.relative_to(path.resolve())
                yield from (inner, *(inner / name for name in names))
