"""What is known of builds before they are made: what is done already, and likely seconds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

from dbhone.compilation import builder
from dbhone.compilation.build_index import all_builds
from dbhone.compilation.manifest import Build, Manifest
from dbhone.compilation.spec import BuildSpec
from dbhone.compilation.toolchain import Compiler, find_compiler
from dbhone.compilation.transforms.base import Pass
from dbhone.errors import HoneError, SourceError
from dbhone.experiment.builds import load_dbms
from dbhone.experiment.model import Experiment, SubjectDeclaration
from dbhone.experiment.plan import BuildOutlook, Plan, make_plan
from dbhone.home import Home
from dbhone.instance import prebuilt
from dbhone.measurement.record import READY_MADE
from dbhone.source.editing import as_edited
from dbhone.source.opening import as_opened
from dbhone.source.tree import SourceTree, last_tree, recall

_COST = {"o1": 0.75, "o3": 1.3, "lto": 1.25}
_INSTRUMENTED = 1.2
_ADOPTION = 5.0


class BuildEstimator:
    """Answers the planner's questions from what the home folder holds."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._compilers: dict[str, Compiler | None] = {}

    def plan(self, experiment: Experiment) -> Plan:
        """Return what a run of the experiment would do now."""
        return make_plan(experiment, self.build, self.is_kept)

    def is_kept(self, reference: str) -> bool:
        """Return whether the source needs no fetching."""
        return recall(reference, self._home) is not None

    def version(self, subject: SubjectDeclaration) -> str:
        """Return the version of a subject's DBMS, empty where its source tells it only later."""
        tree = recall(subject.source, self._home)
        if tree is None:
            return ""
        if subject.variant.ready_made:
            adopted = self._adopted(tree)
            return adopted.manifest.version if adopted is not None else ""
        return _version_of(subject.dbms, tree)

    def build(self, subject: SubjectDeclaration, pass_: Pass) -> BuildOutlook:
        """Return the outlook of one pass of a subject's build."""
        if subject.variant.ready_made:
            return self._ready_made(subject)
        compiler = self._compiler(subject.compiler)
        flags = subject.variant.flags(compiler, pass_) if compiler else subject.variant.name
        copy, options = subject.copy_number, " ".join((*subject.options, *subject.fixes))
        identity = f"{subject.dbms} {subject.source} {subject.compiler} {flags} {options} {copy}"
        builds = all_builds(self._home)
        like = [each for each in builds if self._is_like(each, subject, pass_, compiler)]
        if compiler is not None and self._is_there(subject, pass_, compiler, like):
            return BuildOutlook(identity=identity, expected=0.0, done=True)
        version = self._last_version(subject)
        if not like:
            guess = _guess(subject, pass_, version, [each.manifest for each in builds])
            return BuildOutlook(identity=identity, expected=guess, done=False, guessed=True)
        expected = statistics.median(_as_of(version, each.manifest) for each in like)
        return BuildOutlook(identity=identity, expected=expected, done=False)

    def _last_version(self, subject: SubjectDeclaration) -> str:
        """Return the version that a source had when it was last fetched, empty if it never was."""
        tree = last_tree(subject.source, self._home)
        return "" if tree is None else _version_of(subject.dbms, tree)

    def _last_edited(self, subject: SubjectDeclaration) -> SourceTree | None:
        """Return what is built of the tree that a source had when it was last fetched."""
        tree = last_tree(subject.source, self._home)
        if tree is None:
            return None
        edits = load_dbms(subject.dbms).edits(_version_of(subject.dbms, tree))
        try:
            return as_edited(tree, edits, self._home)
        except HoneError:
            return None  # whoever builds it will be told

    def _is_there(
        self,
        subject: SubjectDeclaration,
        pass_: Pass,
        compiler: Compiler,
        like: Sequence[Build],
    ) -> bool:
        """Return whether nothing of this pass needs to be built, as far as can be told.

        What a profile makes of the last pass is known once there is a profile: a build of the same
        tree counts as there while the instrumented one is.
        """
        tree = self._last_edited(subject)
        if tree is None or subject.fixes or not like:
            return False
        if pass_ is not Pass.USE:
            return self._is_made(subject, pass_, compiler, tree)
        return self._is_made(subject, Pass.INSTRUMENT, compiler, tree) and any(
            each.manifest.source_digest == tree.digest
            and each.manifest.copy_number == subject.copy_number
            and builder.find(self._home, each.manifest.digest) is not None
            for each in like
        )

    def _is_made(
        self, subject: SubjectDeclaration, pass_: Pass, compiler: Compiler, tree: SourceTree
    ) -> bool:
        """Return whether there is a build of just this, without a profile."""
        spec = BuildSpec(
            dbms=load_dbms(subject.dbms),
            tree=tree,
            variant=subject.variant,
            pass_=pass_,
            compiler=compiler,
            profile=None,
            copy_number=subject.copy_number,
            options=subject.options,
        )
        try:
            return builder.find(self._home, spec.digest()) is not None
        except HoneError:
            return False  # whoever builds it will be told

    def _ready_made(self, subject: SubjectDeclaration) -> BuildOutlook:
        tree = last_tree(subject.source, self._home)
        done = tree is not None and self._adopted(tree) is not None
        return BuildOutlook(identity=subject.source, expected=0.0 if done else _ADOPTION, done=done)

    def _adopted(self, tree: SourceTree) -> Build | None:
        return prebuilt.find(self._home, as_opened(tree, self._home))

    def _compiler(self, name: str) -> Compiler | None:
        if name not in self._compilers:
            try:
                self._compilers[name] = find_compiler(name)
            except HoneError:
                self._compilers[name] = None
        return self._compilers[name]

    def _is_like(
        self, build: Build, subject: SubjectDeclaration, pass_: Pass, compiler: Compiler | None
    ) -> bool:
        manifest = build.manifest
        return (
            compiler is not None
            and manifest.dbms == subject.dbms
            and manifest.pass_ is pass_
            and manifest.compiler_identity == compiler.identity
            and manifest.options == subject.options
            and (
                manifest.variant == subject.variant.name
                or manifest.compile_flags == subject.variant.flags(compiler, pass_).compile
            )
        )


def _version_of(dbms: str, tree: SourceTree) -> str:
    try:
        return load_dbms(dbms).version(tree.path)
    except SourceError:
        return ""  # whoever builds it will be told


def _guess(
    subject: SubjectDeclaration, pass_: Pass, version: str, made: Iterable[Manifest]
) -> float:
    """Return about how long a build takes whose like was never made here.

    Builds of the same DBMS by other means tell how fast this machine is; without any, its cores.
    """
    plain = [
        _as_of(version, each) / _effort(each.variant, each.pass_)
        for each in made
        if each.dbms == subject.dbms and each.variant != READY_MADE
    ]
    usual = load_dbms(subject.dbms).seconds_of(version) * 2 / builder.available_cores()
    return (statistics.median(plain) if plain else usual) * _effort(subject.variant.name, pass_)


def _as_of(version: str, made: Manifest) -> float:
    """Return the seconds that a build took, as they would be for another version."""
    dbms = load_dbms(made.dbms)
    return made.seconds * dbms.seconds_of(version or made.version) / dbms.seconds_of(made.version)


def _effort(variant: str, pass_: Pass) -> float:
    """Return how much longer such a build takes than the plain one of the usual level."""
    words = math.prod(_COST.get(word, 1.0) for word in variant.split("+"))
    return words * (_INSTRUMENTED if pass_ is Pass.INSTRUMENT else 1.0)
