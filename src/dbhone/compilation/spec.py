"""One pass of a build as it is made here: its tools, checks, recipe and digest."""

from __future__ import annotations

import dataclasses
import shutil
from dataclasses import dataclass
from pathlib import Path

from dbhone import process
from dbhone.compilation import layouts
from dbhone.compilation.bolt import check_memory
from dbhone.compilation.distribution_rules import SYSTEM_FILES, check_packaging
from dbhone.compilation.host import native_cpu_flags
from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.named_paths import library_folder, named_paths, paths_in
from dbhone.compilation.profile import Profile
from dbhone.compilation.toolchain import Compiler, program_identity
from dbhone.compilation.transforms.base import (
    FOLDER_PLACEHOLDER,
    PROFILE_PLACEHOLDER,
    CompilerFamily,
    Flags,
    Pass,
    Slot,
)
from dbhone.dbms.base import BuildRequest, Dbms, Recipe, Tools, load_dbms
from dbhone.errors import ProfileError, ToolError, UsageError, VariantError
from dbhone.files import digest_of
from dbhone.requirements import Missing, Requirement
from dbhone.source.tree import SourceTree

FORMAT = 1
"""Grows when builds made by an older hone must not be taken for builds of this one."""
_TREE = "{tree}"
_LIBRARIES = "{libraries}"
_USE_LINKER = "-fuse-ld="
_LINKER_PREFIX = "ld."
"""A compiler that is told to use the linker NAME runs the program ``ld.NAME``."""
_TOLERANT = "-Wno-error=coverage-mismatch"
"""gcc refuses a profile of other code unless it is told to leave changed functions out."""
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
    """One pass to make, or to find among the kept builds.

    ``tree``, ``dbms`` and ``compiler`` are what ``inputs`` name, found on this machine.
    ``profile`` is given for a pass that takes one, and only for it.
    """

    inputs: BuildInputs
    dbms: Dbms
    tree: SourceTree
    pass_: Pass
    compiler: Compiler
    profile: Profile | None = None

    def check(self) -> None:
        """Raise if these inputs cannot make a build."""
        variant = self.inputs.variant
        variant.check(self.compiler)
        variant.check_artifact(self.dbms)
        if self.dbms.needs_cxx and self.compiler.find_cxx() is None:
            name = self.compiler.cxx_name
            need = Requirement(name=name, package=name.replace("clang++", "clang"))
            raise ToolError(
                f"building {self.dbms.title} needs {name}, the C++ compiler that belongs to"
                f" {self.compiler.label}, which is missing",
                hint=Missing(requirements=(need,)).advice(),
            )
        if self.pass_ not in self.inputs.variant.passes() or self.pass_.post_link:
            raise VariantError(
                f"the variant {self.inputs.variant.name} has no {self.pass_.value} pass"
            )
        if self.inputs.packaging is not None:
            check_packaging(self.inputs, self.dbms, self.tree.path, self.compiler)
        self._check_linker()
        if variant.post_link:
            check_memory(self.dbms.text_bytes)
        if not self.pass_.takes_profile:
            return
        if self.profile is None:
            raise ProfileError(
                f"the variant {variant.name} is profile-guided and has not been trained",
                hint="say what to train on",
            )
        if self.inputs.profile_source is not None and not process.can_enclose():
            raise ProfileError(
                "the profile of another source fits only what is built in a sandbox, and this"
                f" machine makes none: {process.why_not_enclosed()}",
                hint="train on the source that is built: leave the other one out",
            )
        self.profile.check_fits(
            source_digest=None if self.inputs.profile_source else self.tree.digest,
            compiler_identity=self.compiler.identity,
        )

    @property
    def linker(self) -> str | None:
        """The linker that the compiler is told to call, None for its own choice."""
        return linker_of(self.inputs, self.compiler)

    def _check_linker(self) -> None:
        linker = self.linker
        if linker is None:
            return
        if linker == "lld" and self.has_gcc_lto:
            raise VariantError(
                f"the variant {self.inputs.variant.name} cannot be linked by lld, which does not"
                " read gcc's objects for link-time optimisation",
                hint="take another linker, such as mold, or leave 'linker' out",
            )
        if self._find_linker(linker) is None:
            need = Requirement(name=_LINKER_PREFIX + linker, package=linker)
            raise ToolError(
                f"the linker {linker} is not installed: there is no {need.name}",
                hint=f"{Missing(requirements=(need,)).advice()}; or name another linker",
            )
        if self.inputs.layouts and linker not in layouts.LINKERS:
            raise VariantError(
                f"the linker {linker} cannot link functions in a random order",
                hint=f"for 'layouts' take {' or '.join(layouts.LINKERS)}, or leave 'linker' out",
            )
        if self._own_linker not in (None, linker):
            raise VariantError(
                f"the variant {self.inputs.variant.name} with {self.compiler.label} links with"
                f" {self._own_linker}, not with {linker}",
                hint="leave 'linker' out",
            )

    def _find_linker(self, linker: str) -> Path | None:
        """Return the program that the compiler runs: clang its own one, if it has one."""
        name = _LINKER_PREFIX + linker
        if self.compiler.family is CompilerFamily.CLANG:
            return self.compiler.find(name)
        path = shutil.which(name)
        return None if path is None else Path(path)

    @property
    def has_gcc_lto(self) -> bool:
        """Whether gcc optimises when it links."""
        parts = self.inputs.variant.transforms
        is_gcc = self.compiler.family is CompilerFamily.GCC
        return is_gcc and any(part.slot is Slot.LTO for part in parts)

    def flags(self, build_folder: str) -> Flags:
        """Return the flags as the compiler gets them in ``build_folder``."""
        profile = str(self.profile.input_path) if self.profile else PROFILE_PLACEHOLDER
        return self._flags(profile, build_folder)

    def _flags(self, profile: str, build_folder: str) -> Flags:
        flags = self.inputs.variant.flags(
            self.compiler, self.pass_, profile=profile, build_folder=build_folder
        )
        if self.linker is not None:
            flags = flags + Flags(link=(_USE_LINKER + self.linker,))
        if self.inputs.layouts:
            flags = flags + layouts.flags()
        takes_foreign = self.pass_.takes_profile and self.inputs.profile_source is not None
        if takes_foreign and self.compiler.family is CompilerFamily.GCC:
            flags = flags + Flags(compile=(_TOLERANT,))
        return flags

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

    def programs(self) -> tuple[Path, ...]:
        """Return the compilers and what belongs to them, such as the linker."""
        tools = self.tools(compiler=self.compiler.path, cxx_compiler=self.compiler.path)
        linker = () if self.linker is None else (_LINKER_PREFIX + self.linker,)
        return (*dataclasses.astuple(tools), *map(Path, linker))

    def named_files(self) -> tuple[Path, ...]:
        """Return the files and folders of this machine that the user names for the build.

        Those are among them that a distribution's rules look at.
        """
        libraries = library_folder()
        named = (path for option in self.inputs.options for path in paths_in(option))
        system = SYSTEM_FILES if self.inputs.packaging else ()
        return (*named, *(() if libraries is None else (libraries,)), *system)

    def recipe(self, flags: Flags, tools: Tools, jobs: int) -> Recipe:
        """Return the steps that make this build with these flags and this many jobs.

        Raises UsageError for options that the DBMS cannot have.
        """
        if self.inputs.options and not self.dbms.takes_options:
            raise UsageError(
                f"{self.dbms.title} takes no build options:"
                f" '{self.inputs.options[0]}' has no effect",
                hint="leave the options out",
            )
        check_targets(self.inputs)
        request = BuildRequest(
            tree=self.tree.path,
            version=self.dbms.version(self.tree.path),
            **dataclasses.asdict(tools),
            compiler_family=self.compiler.family.value,
            compile_flags=flags.compile,
            link_flags=flags.link,
            primary_link_flags=flags.primary_link,
            jobs=jobs,
            shell=not self.pass_.trains,
            guidance=flags.guidance,
            options=self.inputs.options,
            libraries=library_folder(),
            packaging=self.inputs.packaging,
            all_targets=self.inputs.targets is not None,
        )
        return self.dbms.recipe(request)

    @property
    def _called(self) -> tuple[str, ...]:
        """The identities of the assembler and of the linker, unless the user names that one."""
        linker, own = None, self._own_linker
        if self.linker is None:
            linker = program_identity(self._find_linker(own)) if own else self.compiler.linker
        return tuple(one for one in (self.compiler.assembler, linker) if one is not None)

    @property
    def _own_linker(self) -> str | None:
        """The linker that the variant names, as one by clang with ``lto`` does, None if none."""
        flags = self.inputs.variant.flags(self.compiler, self.pass_).link
        named = (flag.removeprefix(_USE_LINKER) for flag in flags if flag.startswith(_USE_LINKER))
        return next(named, None)

    def digest(self) -> str:
        """Return the digest of all inputs. Where the home folder is does not matter."""
        recipe = self._symbolic_recipe()
        inputs = self._digest_inputs(recipe)
        words = (word for step in recipe.steps for word in step.argv)
        if named := named_paths(self.inputs.options, words):
            inputs["named"] = {
                self._symbolic(str(path)): identity for path, identity in named.items()
            }
        if called := self._called:
            inputs["called"] = list(called)
        return digest_of(inputs)

    def _symbolic_recipe(self) -> Recipe:
        flags = self._flags(PROFILE_PLACEHOLDER, FOLDER_PLACEHOLDER)
        return self.recipe(flags, _SYMBOLIC, jobs=1)

    def _digest_inputs(self, recipe: Recipe) -> dict[str, object]:
        inputs: dict[str, object] = {
            "format": FORMAT,
            "dbms": self.dbms.name,
            "source": self.tree.digest,
            "steps": [[self._symbolic(word) for word in step.argv] for step in recipe.steps],
            "files": [[artifact.name, str(artifact.kept)] for artifact in recipe.artifacts],
            "compiler": self.compiler.identity,
            "profile": self.profile.digest if self.profile else None,
            "processor": self._processor(),
            **self.inputs.digest_entries(),
        }
        if self.linker is not None:
            inputs["linker_version"] = program_identity(self._find_linker(self.linker))
        if self.dbms.needs_cxx:
            inputs["c++"] = program_identity(self.compiler.find_cxx())
        return inputs

    def _symbolic(self, word: str) -> str:
        libraries = library_folder()
        if libraries is not None:
            word = word.replace(str(libraries), _LIBRARIES)
        return word.replace(str(self.tree.path), _TREE)

    def native_cpu_flags(self) -> tuple[str, ...]:
        """Return what a processor must have for a build that is made for this one."""
        if not self.inputs.variant.host_specific:
            return ()
        return native_cpu_flags(self.compiler.path)

    def _processor(self) -> str | None:
        """Return what the compiler makes of -march=native here, for builds that depend on it."""
        if not self.inputs.variant.host_specific:
            return None
        argv = (str(self.compiler.path), "-march=native", "-E", "-v", "-x", "c", "/dev/null")
        output = process.output_of(argv) or ""
        return digest_of([line for line in output.splitlines() if "cc1" in line])


def check_targets(inputs: BuildInputs) -> None:
    """Raise UsageError if a build is to be one of all targets, and cannot be."""
    if inputs.targets is None:
        return
    dbms = load_dbms(inputs.dbms)
    if not dbms.builds_all:
        raise UsageError(
            f"{dbms.title} has no targets besides those that every build makes",
            hint="leave 'targets' out",
        )
    if inputs.packaging is not None:
        raise UsageError(
            "a distribution's rules choose themselves what they build", hint="leave 'targets' out"
        )
    if inputs.variant.profile_guided:
        raise UsageError(
            f"all targets are built to time them, and {inputs.variant.name} is trained:"
            " no training reaches clients and tools",
            hint="leave 'targets' out, or pgo and bolt",
        )


def linker_of(inputs: BuildInputs, compiler: Compiler) -> str | None:
    """Return the linker that the compiler is told to call, None for its own choice."""
    if inputs.linker is None and inputs.layouts:
        return layouts.usual_linker(compiler.family)
    return inputs.linker
