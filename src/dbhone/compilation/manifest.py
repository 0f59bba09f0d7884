"""What is known of finished builds: every input, what came out, and which builds there are."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from dbhone.compilation.compile_commands import COMMANDS, CompileCommand, read_commands
from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.transforms.base import CompilerFamily, Pass
from dbhone.compilation.variant import USUAL
from dbhone.files import digest_of_file, digest_of_tree, tree_size, write_whole
from dbhone.home import Home
from dbhone.source.elf import read_compiler

FILE = "manifest.json"
LOG = "build.log"
LAYOUTS = "layouts"
"""The folder of a build's other layouts, each under its number."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class KeptFile(_Record):
    """A file of a build: its path in the build's folder, its size and SHA-256.

    Of a folder that is kept whole, the size of all its files and the digest of the tree.
    """

    path: str
    bytes: int
    sha256: str
    tree: bool = False

    @classmethod
    def of(cls, path: Path, folder: Path) -> KeptFile:
        """Return what is kept at ``path`` in the build's ``folder``: a file, or a whole folder."""
        name = str(path.relative_to(folder))
        if path.is_dir():
            return cls(path=name, bytes=tree_size(path), sha256=digest_of_tree(path), tree=True)
        return cls(path=name, bytes=path.stat().st_size, sha256=digest_of_file(path))

    def is_in(self, folder: Path) -> bool:
        """Whether the build in ``folder`` still has it; of a tree, whether it is there at all."""
        path = folder / self.path
        if self.tree:
            return path.is_dir()
        return path.is_file() and path.stat().st_size == self.bytes


class TrainedProfile(_Record):
    """The profile that a build took, and how it was trained.

    ``instrumented_seconds`` is the wall time of the build that was trained.
    ``training_rounds`` is the number of iterations, under the key that manifests in homes have.
    """

    digest: str
    functions: int
    functions_executed: int
    trained_on: tuple[str, ...]
    training_seconds: float
    training_rounds: int = 1
    instrumented_seconds: float = 0.0

    @property
    def coverage(self) -> float:
        """The share of the profile's functions that the training executed."""
        return self.functions_executed / self.functions if self.functions else 0.0


class ProfileUse(TrainedProfile):
    """How a profile-guided build took its profile: units are compile commands.

    ``functions_changed`` are those that are not as they were when the profile was trained, on
    another source: the compiler left their counts out.
    """

    units: int
    units_without_profile: int
    functions_changed: int = 0


class PostLinkRecord(_Record):
    """What a post-link optimiser did to the primary artifact.

    ``tool`` is its name and version, ``seconds`` the time that it took. ``functions`` are all that
    it could read, in an instrumented build those that count. Of these ``profiled`` were reached by
    the training, and ``moved`` have their blocks in another order now. ``unmovable`` were reached
    and had to stay as they were; ``skipped`` are the names of those that it was told to leave
    alone. ``text_bytes`` is the code of what was linked, ``hot_bytes`` what the training reached
    of it, in its new place. ``taken_before`` and ``taken_after`` are the taken branches of the
    training, in the old layout and in the new one. ``profile`` is None in an instrumented build.
    """

    tool: str
    arguments: tuple[str, ...]
    seconds: float
    functions: int
    profiled: int = 0
    moved: int = 0
    unmovable: int = 0
    skipped: tuple[str, ...] = ()
    text_bytes: int
    hot_bytes: int = 0
    taken_before: int = 0
    taken_after: int = 0
    profile: TrainedProfile | None = None


class Manifest(_Record):
    """Everything that went into a build, and what came out.

    ``inputs`` are what the user decided, ``source`` is the exact source that was built. ``folder``
    is where it was compiled. Nothing is known of the compiler of a ready-made server, nor where it
    was compiled; ``libraries`` are the folders of libraries that it brings along. ``added_flags``
    are the flags that the recipe added to the variant's, because the tree needs them. ``unmovable``
    are functions that a post-link optimiser must leave alone. ``native_cpu_flags`` are what the
    processor had that the build was made for, as Linux names it, if it was made for one and the
    compiler says so. ``post_link`` says what one did; ``seconds`` then includes its own. They never
    include the linking of other layouts, which is a phase of its own.
    """

    digest: str
    inputs: BuildInputs
    version: str
    source: str
    source_digest: str
    pass_: Pass
    family: CompilerFamily | None
    compiler: str
    compiler_identity: str
    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    steps: tuple[tuple[str, ...], ...]
    folder: str = ""
    profile: ProfileUse | None
    seconds: float
    phase_seconds: dict[str, float]
    compile_commands: int
    files: dict[str, KeptFile]
    primary: str
    libraries: tuple[str, ...] = ()
    added_flags: tuple[str, ...] = ()
    unmovable: tuple[str, ...] = ()
    native_cpu_flags: tuple[str, ...] = ()
    post_link: PostLinkRecord | None = None
    built_at: datetime

    @property
    def dbms(self) -> str:
        """The name of the DBMS."""
        return self.inputs.dbms

    @property
    def variant(self) -> str:
        """The variant's full name."""
        return self.inputs.variant.name

    @property
    def is_usual_base(self) -> bool:
        """Whether it is what others of its source are compared with: ready-made, or plain."""
        inputs = self.inputs
        return inputs.variant.ready_made or (self.variant == USUAL and not inputs.fixes)

    @property
    def note(self) -> str:
        """What tells it from the finished build of its variant, for people; empty for that."""
        return self.inputs.variant.note(self.pass_)

    @property
    def cpu_flags(self) -> frozenset[str]:
        """What a processor must have that runs it, as Linux names it, as far as that is known."""
        return self.inputs.variant.cpu_flags.union(self.native_cpu_flags)

    @property
    def compiling_pass(self) -> Pass:
        """The pass that compiled it; a post-link pass begins with a build that was linked."""
        if not self.pass_.post_link:
            return self.pass_
        return Pass.PLAIN if self.profile is None else Pass.USE

    @property
    def pass_seconds(self) -> float:
        """The seconds of its own pass; a post-link pass begins with a build that was made."""
        return self.post_link.seconds if self.post_link else self.seconds

    @property
    def trained(self) -> tuple[TrainedProfile, ...]:
        """The profiles that it took, in order."""
        after = self.post_link.profile if self.post_link else None
        return tuple(profile for profile in (self.profile, after) if profile is not None)


class Build:
    """A finished build in its folder."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest

    @property
    def digest(self) -> str:
        """The digest of all inputs, which is also the folder's name."""
        return self.manifest.digest

    @property
    def label(self) -> str:
        """Variant and compiler, for people."""
        if self.manifest.family is None:
            return self.manifest.variant
        return f"{self.manifest.variant} ({self.manifest.compiler})"

    def path(self, artifact: str) -> Path:
        """Return where a file of the build is. Raises KeyError for one that it does not have."""
        return self.folder / self.manifest.files[artifact].path

    @property
    def layouts(self) -> tuple[Build, ...]:
        """The build with its code in the other layouts in which it was linked, if any."""
        numbers = range(1, self.manifest.inputs.layouts + 1)
        return tuple(Build(self.folder / LAYOUTS / str(one), self.manifest) for one in numbers)

    @property
    def shown_compiler(self) -> str:
        """What compiled it, as far as that is known: a ready-made one says so in its own file."""
        manifest = self.manifest
        if manifest.family is not None:
            return manifest.compiler
        return read_compiler(self.path(manifest.primary)) or manifest.compiler

    @property
    def shown_flags(self) -> tuple[str, ...]:
        """Everything that tells this build from others of its tree and compiler, for people.

        What is given to the compiler and to the linker stands there once.
        """
        manifest = self.manifest
        flags = (
            *manifest.compile_flags,
            *manifest.added_flags,
            *manifest.link_flags,
            *(manifest.post_link.arguments if manifest.post_link else ()),
            *manifest.inputs.options,
        )
        return tuple(dict.fromkeys(flags))

    @property
    def binary_bytes(self) -> int:
        """The size of the file that is optimised and measured."""
        return self.manifest.files[self.manifest.primary].bytes

    @property
    def log(self) -> Path:
        """The full log."""
        return self.folder / LOG

    def commands(self) -> tuple[CompileCommand, ...]:
        """Return every call of the compiler, in the order in which they ended."""
        return read_commands(self.folder / COMMANDS)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest into the build's folder."""
    write_whole(folder / FILE, manifest.model_dump_json(indent=2) + "\n")


def read_build(folder: Path) -> Build | None:
    """Return the build in ``folder``, None if it is absent, damaged or from another format."""
    try:
        text = (folder / FILE).read_text(encoding="utf-8")
        manifest = Manifest.model_validate_json(text)
    except (OSError, ValueError):
        return None
    whole = all(kept.is_in(folder) for kept in manifest.files.values())
    return Build(folder, manifest) if whole else None


def all_builds(home: Home) -> tuple[Build, ...]:
    """Return all finished builds, oldest first."""
    if not home.builds.is_dir():
        return ()
    builds = filter(None, map(read_build, home.builds.iterdir()))
    return tuple(sorted(builds, key=lambda build: build.manifest.built_at))
