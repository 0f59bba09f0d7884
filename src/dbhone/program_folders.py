"""The files and folders that programs need to run: what a sandbox shows of them.

A program is installed below a prefix, as ``PREFIX/bin/PROGRAM``, and finds the rest of its files by
that. Some prefixes hold more than programs. ``~/.local`` has what other programs keep for the user,
hone's home among it, which is no stranger's business. Nor are the home folders of other users:
PATH may lead there when hone is run by sudo.
"""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dbhone.home import Home
from dbhone.sandbox import SCRATCH_FOLDERS, SYSTEM_FOLDERS

_PARTS = ("bin", "include", "lib", "lib32", "lib64", "libexec", "pyvenv.cfg", "*-linux-*")
"""What programs have below their prefix. The last is gcc's, such as ``x86_64-linux-gnu``."""
_WHOLE = ("pkg/tool", "lib/modules", "Cellar")
"""One of these is below the prefix of Go, of Java and of Homebrew, which have nothing else in it.
"""


def program_folders(programs: Iterable[Path | str], home: Home) -> tuple[Path, ...]:
    """Return the files and folders that programs need, where they are not the system's.

    It is the prefix of each. Of one in a user's home folder, and of one that holds hone's
    ``home``, it is those parts that belong to programs. Programs that PATH does not lead to are
    skipped.
    """
    private = _Private.of(home)
    paths = (path for program in programs for path in _ways_to(program))
    return tuple(dict.fromkeys(needed for path in paths for needed in private.needed_by(path)))


def searched_folders(home: Home) -> tuple[Path, ...]:
    """Return the folders of PATH, without those in which a home folder lies."""
    private = _Private.of(home)
    folders = (Path(name).absolute() for name in os.environ.get("PATH", "").split(":") if name)
    return tuple(folder for folder in folders if not private.lies_in(folder))


def python_folders(home: Home) -> tuple[Path, ...]:
    """Return what hone's own Python needs, and dbhone's files."""
    private = _Private.of(home)
    prefixes = (Path(sys.prefix), Path(sys.base_prefix))
    found = (path for prefix in prefixes for path in private.in_prefix(prefix, "python"))
    return (*found, Path(__file__).parent, *program_folders((sys.executable,), home))


def _ways_to(program: Path | str) -> list[Path]:
    """Return the path of a program, and of the file that it leads to; none if there is none."""
    found = shutil.which(program)
    if found is None:
        return []
    paths = [Path(found).absolute(), Path(found).resolve()]
    python = paths[-1].with_name("python")
    if (python.parent.parent / "pyvenv.cfg").is_file() and python.is_symlink():
        # The scripts of a virtual environment are run by a Python that lies elsewhere.
        paths.append(Path(os.path.normpath(python.parent / python.readlink())))
        paths.append(Path(os.path.realpath(python)))
    return paths


@dataclass(frozen=True, slots=True)
class _Private:
    """The home folders of users and of hone, of which strangers see programs only.

    ``user`` is who runs hone. The home folders of others are known by their owners.
    """

    user: Path
    hone: Path

    @classmethod
    def of(cls, home: Home) -> _Private:
        return cls(user=Path.home().resolve(), hone=home.root.resolve())

    def needed_by(self, program: Path) -> Iterator[Path]:
        """Yield what the program at this path needs."""
        folder = program.parent
        if folder.name == "bin":
            paths = self.in_prefix(folder.parent, program.name)
        else:
            paths = iter((program if self.lies_in(folder) else folder,))
        yield from (path for path in paths if not any(map(path.is_relative_to, SYSTEM_FOLDERS)))

    def in_prefix(self, prefix: Path, program: str) -> Iterator[Path]:
        """Yield what a program needs below its prefix: all, or the parts that are there."""
        real = prefix.resolve()
        is_scratch = any(Path(name).is_relative_to(real) for name in SCRATCH_FOLDERS)
        if self.user.is_relative_to(real) or _is_home(real) or is_scratch:
            yield prefix / "bin"
        elif self.lies_in(real) or (self._is_in_home(real) and not _is_whole(real)):
            shared = f"share/{glob.escape(program)}*"
            found = (path for part in (*_PARTS, shared) for path in sorted(prefix.glob(part)))
            yield from (path for path in found if not self.lies_in(path))
        else:
            yield prefix

    def lies_in(self, folder: Path) -> bool:
        """Return whether one of them is in a folder, which must not be seen whole then."""
        real = folder.resolve()
        held = self.user.is_relative_to(real) or self.hone.is_relative_to(real)
        return held or _is_home(real)

    def _is_in_home(self, real: Path) -> bool:
        return real.is_relative_to(self.user) or any(map(_is_home, real.parents))


def _is_home(folder: Path) -> bool:
    """Return whether a folder is the home folder of its owner."""
    try:
        home = pwd.getpwuid(folder.stat().st_uid).pw_dir
    except (OSError, KeyError):
        return False
    return home != "/" and Path(home).resolve() == folder


def _is_whole(prefix: Path) -> bool:
    return any((prefix / mark).exists() for mark in _WHOLE)
