"""Where a build is made in the home, and where the build sees its own folder and its source.

Compilers know functions by the places of their files, too. So an enclosed build sees its files at
places that no home and no source tree changes: a profile that was trained in one home is good for
a build in another, and for another release.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from dbhone import process
from dbhone.account import Account, check_readable, own
from dbhone.compilation.compile_commands import COMMANDS
from dbhone.compilation.manifest import LOG
from dbhone.compilation.spec import BuildSpec
from dbhone.dbms.base import Recipe
from dbhone.files import is_open_to_all, open_to_all
from dbhone.home import Home
from dbhone.program_folders import program_folders, python_folders, searched_folders
from dbhone.sandbox import Sandbox, longest_file
from dbhone.untrusted_files import walk

COMPILER_WRAPPER = Path(__file__).with_name("compiler_wrapper.py")
RECORDING_COMPILERS = ("cc", "c++")
"""The names of the programs that a build calls as its C and its C++ compiler."""
_OBJECTS = "objects"
FOLDER_SEEN, TREE_SEEN = Path("/hone-build"), Path("/hone-source")
"""What an enclosed build sees: no machine has anything of these names."""


def counters_folder(home: Home, digest: str) -> Path:
    """Return the folder to which a build that BOLT instrumented writes its counters."""
    return home.fixed_workdir(counters_name(digest))


def counters_name(digest: str) -> str:
    """Return the name of that folder, for ``Session.fixed_workdir``."""
    return f"counters-{digest[:16]}"


def work_name(source_digest: str) -> str:
    """Return the name of the folder in which all builds of a source are made."""
    return f"build-{source_digest[:16]}"


def usual_folder_seen(home: Home, source_digest: str) -> Path:
    """Return where a build of a source sees the folder in which this home compiles it."""
    return _folder_seen(home.fixed_workdir(work_name(source_digest)) / _OBJECTS)


def _folder_seen(objects: Path) -> Path:
    return FOLDER_SEEN if process.can_enclose() else objects


@dataclass(frozen=True, slots=True)
class BuildPlaces:
    """The folders and files of one build that is being made in the folder ``work``."""

    work: Path
    tree: Path

    @property
    def objects(self) -> Path:
        """The folder in which it is compiled."""
        return self.work / _OBJECTS

    @property
    def result(self) -> Path:
        """The folder that is kept as the build."""
        return self.work / "result"

    @property
    def scratch(self) -> Path:
        """The folder for temporary files of compilers."""
        return self.work / "tmp"

    @property
    def lto_wrapper(self) -> Path:
        """The folder of the program that gcc calls for link-time optimisation of layouts."""
        return self.work / "lto"

    @property
    def log(self) -> Path:
        """The file of everything that its steps print."""
        return self.result / LOG

    @property
    def commands(self) -> Path:
        """The file in which its compilers record each call."""
        return self.result / COMMANDS

    @property
    def folder_seen(self) -> Path:
        """Where the build sees the folder in which it is compiled."""
        return _folder_seen(self.objects)

    @property
    def tree_seen(self) -> Path:
        """Where the build sees its source."""
        return TREE_SEEN if process.can_enclose() else self.tree

    def make(self, account: Account | None) -> None:
        """Make the folders, those that the build's steps write in for their account."""
        for folder in (self.objects, self.result, self.scratch):
            folder.mkdir()
        self.commands.touch()
        for path in (self.objects, self.scratch, self.commands):
            own(path, account)

    def sandbox(self, spec: BuildSpec, account: Account | None, home: Home) -> Sandbox:
        """Return what encloses the steps: a stranger's build scripts run in them."""
        required = spec.dbms.required_programs(self.tree)
        given = [self.tree, *([] if spec.profile is None else [spec.profile.folder])]
        if account is not None:
            for folder in given:
                if not is_open_to_all(folder):
                    open_to_all(folder)
            check_readable((COMPILER_WRAPPER,))
        return Sandbox(
            seen_at={self.objects: self.folder_seen, self.tree: self.tree_seen},
            writable=(self.objects, self.scratch, self.commands),
            readable=(
                *given,
                *(self.work / name for name in RECORDING_COMPILERS),
                *([self.lto_wrapper] if spec.inputs.layouts else []),
                *spec.named_files(),
                *program_folders((*required, *spec.programs()), home),
                *python_folders(home),
                *searched_folders(home),
            ),
            file_bytes=longest_file(self.work),
        )

    def as_seen(self, recipe: Recipe) -> Recipe:
        """Return a recipe that names the source where the build sees it."""
        tree, seen = str(self.tree), str(self.tree_seen)
        steps = (
            dataclasses.replace(step, argv=tuple(word.replace(tree, seen) for word in step.argv))
            for step in recipe.steps
        )
        return dataclasses.replace(recipe, steps=tuple(steps))

    def redirect_links(self, sandbox: Sandbox) -> None:
        """Let the links that lead to where the build saw its files lead to where they are."""
        for folder, _, names in walk(self.objects):
            for link in (folder / name for name in names):
                target = link.readlink() if link.is_symlink() else Path()
                real_target = sandbox.place_outside(target)
                if real_target != target:
                    link.unlink()
                    link.symlink_to(real_target)
