"""What a build is made of, and the digest of it all."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from dbhone import process
from dbhone.compilation.profile import Profile
from dbhone.compilation.toolchain import Compiler
from dbhone.compilation.transforms.base import FOLDER_PLACEHOLDER, PROFILE_PLACEHOLDER, Flags, Pass
from dbhone.compilation.variant import Variant
from dbhone.dbms.base import LIBRARIES_VARIABLE, BuildRequest, Dbms, Recipe
from dbhone.errors import MachineError, ProfileError, ToolError, UsageError, VariantError
from dbhone.files import digest_of
from dbhone.source.tree import SourceTree

FORMAT = 1
"""Grows when builds made by an older hone must not be taken for builds of this one."""
_TREE = "{tree}"
_LIBRARIES = "{libraries}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """The programs that a recipe's command lines name; see ``BuildRequest``."""

    compiler: Path
    host_compiler: Path
    cxx_compiler: Path
    host_cxx_compiler: Path
    archiver: Path
    ranlib: Path
    nm: Path


_SYMBOLIC = Tools(
    compiler=Path("{compiler}"),
    host_compiler=Path("{host}"),
    cxx_compiler=Path("{c++}"),
    host_cxx_compiler=Path("{host-c++}"),
    archiver=Path("{ar}"),
    ranlib=Path("{ranlib}"),
    nm=Path("{nm}"),
)
"""What stands for them in a digest, which must not depend on where programs are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSpec:
    """One build to make or to find.

    ``copy_number`` tells apart builds of the same recipe that are wanted twice: a control is
    the base built once more. ``profile`` is given for the USE pass and only for it. ``options``
    are build options that the user asks for.
    """

    dbms: Dbms
    tree: SourceTree
    variant: Variant
    pass_: Pass
    compiler: Compiler
    profile: Profile | None
    copy_number: int
    options: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise if these inputs cannot make a build."""
        self.variant.check(self.compiler)
        if self.dbms.needs_cxx and self.compiler.find_cxx() is None:
            name = self.compiler.cxx_name
            raise ToolError(
                f"building {self.dbms.title} needs {name}, the C++ compiler that belongs to"
                f" {self.compiler.label}, which is missing",
                hint=f"install it: apt-get install {name.replace('clang++', 'clang')}",
            )
        if self.pass_ not in self.variant.passes():
            raise VariantError(f"the variant {self.variant.name} has no {self.pass_.value} pass")
        if self.pass_ is not Pass.USE:
            return
        if self.profile is None:
            raise ProfileError(
                f"the variant {self.variant.name} is profile-guided and has not been trained",
                hint="say what to train on",
            )
        self.profile.check_fits(
            source_digest=self.tree.digest, compiler_identity=self.compiler.identity
        )

    def flags(self, build_folder: str) -> Flags:
        """Return the flags as the compiler gets them in ``build_folder``."""
        profile = str(self.profile.input_path) if self.profile else PROFILE_PLACEHOLDER
        return self.variant.flags(
            self.compiler, self.pass_, profile=profile, build_folder=build_folder
        )

    def tools(self, *, compiler: Path, cxx_compiler: Path) -> Tools:
        """Return the programs of this build; the two that are given record what they do."""
        return Tools(
            compiler=compiler,
            host_compiler=self.compiler.path,
            cxx_compiler=cxx_compiler,
            # Only a DBMS that needs it names it, and then check() has seen that it is there.
            host_cxx_compiler=self.compiler.find_cxx() or Path(self.compiler.cxx_name),
            archiver=self.compiler.find_binary_tool("ar"),
            ranlib=self.compiler.find_binary_tool("ranlib"),
            nm=self.compiler.find_binary_tool("nm"),
        )

    def recipe(self, flags: Flags, tools: Tools, jobs: int) -> Recipe:
        """Return the steps that make this build with these flags and this many jobs.

        Raises UsageError for options that the DBMS cannot have.
        """
        if self.options and not self.dbms.takes_options:
            raise UsageError(
                f"{self.dbms.title} is built without options of yours: '{self.options[0]}' means"
                " nothing",
                hint="leave the options out",
            )
        request = BuildRequest(
            tree=self.tree.path,
            version=self.dbms.version(self.tree.path),
            compiler=tools.compiler,
            host_compiler=tools.host_compiler,
            cxx_compiler=tools.cxx_compiler,
            host_cxx_compiler=tools.host_cxx_compiler,
            archiver=tools.archiver,
            ranlib=tools.ranlib,
            nm=tools.nm,
            compile_flags=flags.compile,
            link_flags=flags.link,
            jobs=jobs,
            shell=self.pass_ is not Pass.INSTRUMENT,
            guidance=flags.guidance,
            options=self.options,
            libraries=library_folder(),
        )
        return self.dbms.recipe(request)

    def digest(self) -> str:
        """Return the digest of all inputs. Where the home folder is does not matter."""
        flags = self.variant.flags(
            self.compiler,
            self.pass_,
            profile=PROFILE_PLACEHOLDER,
            build_folder=FOLDER_PLACEHOLDER,
        )
        recipe = self.recipe(flags, _SYMBOLIC, jobs=1)
        inputs: dict[str, object] = {
            "format": FORMAT,
            "dbms": self.dbms.name,
            "source": self.tree.digest,
            "steps": [[self._symbolic(word) for word in step.argv] for step in recipe.steps],
            "files": [[each.name, str(each.kept)] for each in recipe.artifacts],
            "compiler": self.compiler.identity,
            "profile": self.profile.digest if self.profile else None,
            "processor": self._processor(),
            "copy": self.copy_number,
        }
        if self.options:
            inputs["options"] = list(self.options)
        if self.dbms.needs_cxx:
            inputs["c++"] = self._cxx_identity()
        return digest_of(inputs)

    def _symbolic(self, word: str) -> str:
        libraries = library_folder()
        if libraries is not None:
            word = word.replace(str(libraries), _LIBRARIES)
        return word.replace(str(self.tree.path), _TREE)

    def _cxx_identity(self) -> str | None:
        cxx = self.compiler.find_cxx()
        text = process.output_of((str(cxx), "--version")) if cxx else None
        return text.splitlines()[0].strip() if text else None

    def _processor(self) -> str | None:
        """Return what the compiler makes of -march=native here, for builds that depend on it."""
        if not self.variant.host_specific:
            return None
        argv = (str(self.compiler.path), "-march=native", "-E", "-v", "-x", "c", "/dev/null")
        output = process.output_of(argv) or ""
        return digest_of([line for line in output.splitlines() if "cc1" in line])


def library_folder() -> Path | None:
    """Return the user's folder of libraries for old trees, None if there is none.

    Raises MachineError if what is named is no folder.
    """
    named = os.environ.get(LIBRARIES_VARIABLE)
    if not named:
        return None
    folder = Path(named).expanduser().absolute()
    if not folder.is_dir():
        raise MachineError(
            f"{LIBRARIES_VARIABLE} names {folder}, which is no folder",
            hint="set it to the folder that holds boost_1_59_0 and the like, or unset it",
        )
    return folder
