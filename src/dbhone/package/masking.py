"""Replaces the paths of this machine that compilers write into programs, mostly of source files.

What stands in their place is ``/dbhone`` with as many slashes as make it equally long, so that no
offset moves and no code changes. The path of hone's home is replaced wherever it stands. A folder
that the user named for the build, such as boost's, is replaced only in the names of source files:
he may also have named a place that the programs need, such as a data directory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dbhone.compilation.manifest import Build
from dbhone.compilation.named_paths import is_of_system
from dbhone.compilation.places import FOLDER_SEEN, TREE_SEEN
from dbhone.home import Home
from dbhone.untrusted_files import real_path

_INSTEAD = b"/dbhone"
_NAMED = re.compile(r"(?:^|[\s:=,;\"'(]|-[IL]|-isystem)(/[^\s:=,;\"')]+)")
"""A path in a word of a command line."""
_OF_SOURCE = rb"(?=/[\w./+-]*\.(?:h|hh|hpp|hxx|ipp|tpp|tcc|inl|inc|def|c|cc|cpp|cxx|y|yy)(?![\w.]))"
"""What follows a folder in the name of a source file."""


@dataclass(frozen=True, slots=True)
class PrivatePaths:
    """The paths of this machine that may stand in the programs of a build."""

    _pattern: re.Pattern[bytes]

    @classmethod
    def of_build(cls, build: Build, home: Home) -> PrivatePaths:
        """Return the paths of a build that was made in a home."""
        return cls.of(home.root, _named(build))

    @classmethod
    def of(cls, home: Path, named: Iterable[Path] = ()) -> PrivatePaths:
        """Return the path of a home, also without links, and those that were named for a build."""
        # Of another folder whose name begins with the home's nothing is replaced.
        of_home = (
            re.escape(os.fsencode(path)) + rb"(?![\w.+-])"
            for path in dict.fromkeys((home, real_path(home)))
        )
        deepest_first = sorted(named, key=lambda path: len(path.parts), reverse=True)
        of_named = (
            rb"(?<![\w./+-])" + re.escape(os.fsencode(path)) + _OF_SOURCE for path in deepest_first
        )
        return cls(re.compile(b"|".join((*of_home, *of_named))))

    def are_in(self, data: bytes) -> bool:
        """Return whether one of them stands in a file's bytes."""
        return self._pattern.search(data) is not None

    def masked(self, data: bytes) -> bytes:
        """Return a file's bytes with another path, equally long, for each of them."""
        return self._pattern.sub(_instead, data)


def _instead(found: re.Match[bytes]) -> bytes:
    return _INSTEAD[: len(found[0])].ljust(len(found[0]), b"/")


def _named(build: Build) -> Iterator[Path]:
    """Yield what was named for a build, and to where a link of these leads; not the system's."""
    manifest = build.manifest
    words = [*manifest.inputs.options, *(word for step in manifest.steps for word in step)]
    paths = {Path(found) for word in words for found in _NAMED.findall(word)}
    compiler = Path(manifest.inputs.compiler)
    if compiler.is_absolute():
        paths.add(compiler.parent.parent)
    for path in {*paths, *map(real_path, paths)}:
        enclosed = any(path.is_relative_to(seen) for seen in (FOLDER_SEEN, TREE_SEEN))
        if not enclosed and not is_of_system(path):
            yield path
