"""What steps of a plan will cost: whether they are done already, and else about how long they take.

Nothing is fetched, built or started here: the home folder tells what was made before.
"""

from __future__ import annotations

import contextlib
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from dbhone.compilation import builder, kept_builds
from dbhone.compilation.bolt import find_usable_bolt
from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import Build, Manifest, all_builds
from dbhone.compilation.post_link import PostLinkSpec
from dbhone.compilation.profile import Profile, find_profile
from dbhone.compilation.spec import BuildSpec
from dbhone.compilation.toolchain import Compiler, find_compiler, installed
from dbhone.compilation.transforms.base import Pass, Slot
from dbhone.dbms.base import Phase, load_dbms
from dbhone.dbms.base_settings import RequestedSetting
from dbhone.errors import HoneError, SourceError, ToolError
from dbhone.experiment.declaration.levers import levers_refusal
from dbhone.experiment.declaration.model import Experiment, SubjectDeclaration
from dbhone.experiment.plan.data_costs import DataEstimator
from dbhone.experiment.plan.plan import (
    Compile,
    Cost,
    DataCost,
    PlanStep,
    PostLink,
    TakeReadyMade,
    Train,
)
from dbhone.experiment.target.target import training_inputs
from dbhone.home import Home
from dbhone.instance import ready_made
from dbhone.source.derive import find_unpacked, for_build
from dbhone.source.tree import SourceTree, last_tree, recall, unchanged_tree
from dbhone.workload.workload import Workload

_TIMES_AS_LONG = {"o1": 0.75, "o3": 1.3, "lto": 1.25}
_INSTRUMENTED = 1.2
_POST_LINK = 0.08
_BY_RULES = 3.0
"""A distribution's rules build all that is not the server, too."""
_ALL_TARGETS = 1.5
"""Clients, tools and plugins take about half as long as the server; a guess before the first."""
_LAYOUT, _LTO_AGAIN = 0.003, 0.5
"""The shares of a build's time that linking a layout takes, and link-time optimisation for all."""
_READY_MADE_SECONDS = 5.0


class BuildEstimator:
    """Answers the planner's questions from what the home folder holds and what this machine has."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._compilers: dict[str, Compiler | None] = {}
        self._trees: dict[str, SourceTree | None] = {}
        self._data = DataEstimator(home)

    @cached_property
    def _builds(self) -> tuple[Build, ...]:
        """All builds of the home."""
        return tuple(all_builds(self._home))

    def is_kept(self, reference: str) -> bool:
        """Return whether the source needs no fetching."""
        return recall(reference, self._home) is not None

    def version(self, inputs: BuildInputs) -> str:
        """Return the version of the DBMS, empty where its source tells it only later."""
        tree = recall(inputs.source, self._home)
        if tree is None:
            return ""
        if inputs.variant.ready_made:
            build = self._ready_made(tree)
            return build.manifest.version if build is not None else ""
        return _version_of(inputs.dbms, tree)

    def data(
        self,
        inputs: BuildInputs,
        settings: Sequence[RequestedSetting],
        workload: Workload,
    ) -> DataCost | None:
        """Return what a server's loaded data costs, None of an embedded DBMS."""
        if not workload.suite.server_sizes:
            return None
        tree = recall(inputs.source, self._home)
        return self._data.cost(
            inputs.dbms,
            self.version(inputs),
            settings,
            workload,
            source=inputs.source if tree is None else tree.digest,
        )

    def absence(self, experiment: Experiment, subject: SubjectDeclaration) -> HoneError | None:
        """Return the error that tells why a subject cannot take part here, None if it can.

        Its compiler is looked for and its levers are tried; its variant is not.
        """
        inputs = subject.inputs
        if not inputs.variant.ready_made and not installed(inputs.compiler):
            reason = f"the compiler {inputs.compiler} is not installed"
            return ToolError(reason, hint="'hone doctor' says what to do")
        if not subject.levers:
            return None
        return levers_refusal(experiment, subject)

    def identity(self, inputs: BuildInputs, pass_: Pass) -> str:
        """Return what is the same for two passes of builds that are one and the same build.

        The instrumented builds of two variants are one build if their flags are the same.
        """
        compiler = None if inputs.variant.ready_made else self._compiler(inputs.compiler)
        flags = inputs.variant.flags(compiler, pass_) if compiler else inputs.variant.name
        return f"build {inputs.model_dump_json(exclude={'variant'})} {flags}"

    def kept(self, steps: Iterable[PlanStep]) -> int:
        """Return how many of the first of these steps, which make a build, have their results here.

        A training is known by the instrumented build, and what is compiled next by the profile:
        no step can be looked up before the results of those before it are.
        """
        results: dict[str, Build | Profile] = {}
        with contextlib.suppress(HoneError):  # the build will tell the user
            for step in steps:
                result = self._kept_result(step, results)
                if result is None:
                    break
                results[step.makes] = result
        return len(results)

    def cost(self, inputs: BuildInputs, pass_: Pass) -> Cost:
        """Return what it costs to make one pass of a build."""
        if inputs.variant.ready_made:
            return Cost(seconds=_READY_MADE_SECONDS)
        compiler = self._compiler(inputs.compiler)
        builds = self._builds
        like = [build for build in builds if _is_like(build, inputs, pass_, compiler)]
        version = self._last_version(inputs)
        seconds = (
            statistics.median(_seconds_as_of(version, build.manifest) for build in like)
            if like
            else _guess(inputs, pass_, version, [build.manifest for build in builds])
        )
        linking = _share_of_layouts(inputs, [build.manifest for build in like])
        return Cost(seconds=seconds * (1 + linking), guessed=not like)

    def _last_version(self, inputs: BuildInputs) -> str:
        """Return the version that a source had when it was last fetched, empty if it never was."""
        tree = last_tree(inputs.source, self._home)
        return "" if tree is None else _version_of(inputs.dbms, tree)

    def _last_edited(self, inputs: BuildInputs) -> SourceTree | None:
        """Return the tree that is built of what a source has, if it was fetched before."""
        tree = self._unchanged_tree(inputs.source)
        if tree is None:
            return None
        dbms, version = load_dbms(inputs.dbms), _version_of(inputs.dbms, tree)
        try:
            return for_build(tree, dbms, version, inputs.fixes).find(self._home)
        except HoneError:
            return None  # the build will tell the user

    def _unchanged_tree(self, source: str) -> SourceTree | None:
        """Return the tree of a source that has not changed since it was fetched; it looks once."""
        if source not in self._trees:
            self._trees[source] = unchanged_tree(source, self._home)
        return self._trees[source]

    def _kept_result(
        self, step: PlanStep, results: Mapping[str, Build | Profile]
    ) -> Build | Profile | None:
        """Return the result of a step if it is here; ``results`` are those of earlier steps."""
        needed = [results[name] for name in step.needs if name in results]
        build = next((one for one in needed if isinstance(one, Build)), None)
        profile = next((one for one in needed if isinstance(one, Profile)), None)
        match step:
            case TakeReadyMade(inputs=inputs):
                tree = self._unchanged_tree(inputs.source)
                return None if tree is None else self._ready_made(tree)
            case Compile(inputs=inputs, pass_=pass_) | PostLink(inputs=inputs, pass_=pass_):
                return self._kept_build(inputs, pass_, profile, build)
            case Train(training=training) if build is not None:
                return find_profile(self._home, build, training_inputs(training))
        return None

    def _kept_build(
        self, inputs: BuildInputs, pass_: Pass, profile: Profile | None, linked: Build | None
    ) -> Build | None:
        """Return what a pass made before of this profile, or of what was linked."""
        compiler, tree = self._compiler(inputs.compiler), self._last_edited(inputs)
        if compiler is None or tree is None:
            return None
        if linked is not None:
            changed = PostLinkSpec(
                inputs=inputs,
                compiler=compiler,
                linked=linked,
                pass_=pass_,
                bolt=find_usable_bolt(),
                profile=profile,
            )
            return kept_builds.find(self._home, changed.digest())
        spec = BuildSpec(
            inputs=inputs,
            dbms=load_dbms(inputs.dbms),
            tree=tree,
            pass_=pass_,
            compiler=compiler,
            profile=profile,
        )
        return kept_builds.find(self._home, spec.digest())

    def _ready_made(self, tree: SourceTree) -> Build | None:
        return ready_made.find(self._home, find_unpacked(tree, self._home))

    def _compiler(self, name: str) -> Compiler | None:
        if name not in self._compilers:
            try:
                self._compilers[name] = find_compiler(name)
            except HoneError:
                self._compilers[name] = None
        return self._compilers[name]


def _is_like(build: Build, inputs: BuildInputs, pass_: Pass, compiler: Compiler | None) -> bool:
    manifest = build.manifest
    return (
        compiler is not None
        and manifest.dbms == inputs.dbms
        and manifest.pass_ is pass_
        and manifest.compiler_identity == compiler.identity
        and manifest.inputs.options == inputs.options
        and manifest.inputs.packaging == inputs.packaging
        and manifest.inputs.targets == inputs.targets
        and (
            manifest.variant == inputs.variant.name
            or _flags(manifest.inputs, compiler, pass_) == _flags(inputs, compiler, pass_)
            or pass_.post_link
        )
    )


def _flags(inputs: BuildInputs, compiler: Compiler, pass_: Pass) -> tuple[str, ...]:
    """Return the compile options of a pass, without those that name folders of one build."""
    return inputs.variant.flags(compiler, pass_).compile


def _version_of(dbms: str, tree: SourceTree) -> str:
    try:
        return load_dbms(dbms).version(tree.path)
    except SourceError:
        return ""  # the build will tell the user


def _guess(inputs: BuildInputs, pass_: Pass, version: str, manifests: Iterable[Manifest]) -> float:
    """Return about how long a build takes whose like was never made here, in seconds.

    Builds of the same DBMS by other means tell how fast this machine is; without any, how many
    compile commands it runs at once.
    """
    plain = [
        _seconds_as_of(version, manifest) / _effort(manifest.inputs, manifest.pass_)
        for manifest in manifests
        if manifest.dbms == inputs.dbms and not manifest.inputs.variant.ready_made
    ]
    dbms = load_dbms(inputs.dbms)
    usual = dbms.seconds_of(version) * 2 / builder.usual_jobs(dbms)
    return (statistics.median(plain) if plain else usual) * _effort(inputs, pass_)


def _share_of_layouts(inputs: BuildInputs, like: Iterable[Manifest]) -> float:
    """Return how long it takes to link a build's layouts, as a share of the time of the build.

    Builds like it that have layouts tell how long one takes.
    """
    if not inputs.layouts:
        return 0.0
    known = [
        manifest.phase_seconds[Phase.LAYOUTS] / manifest.seconds / manifest.inputs.layouts
        for manifest in like
        if manifest.inputs.layouts
    ]
    if known:
        return inputs.layouts * statistics.median(known)
    has_lto = any(part.slot is Slot.LTO for part in inputs.variant.transforms)
    return inputs.layouts * _LAYOUT + (_LTO_AGAIN if has_lto else 0.0)


def _seconds_as_of(version: str, manifest: Manifest) -> float:
    """Return the seconds that a build took, as they would be for another version."""
    dbms = load_dbms(manifest.dbms)
    own = dbms.seconds_of(manifest.version)
    return manifest.pass_seconds * dbms.seconds_of(version or manifest.version) / own


def _effort(inputs: BuildInputs, pass_: Pass) -> float:
    """Return how much longer such a build takes than the plain one of the usual level."""
    if pass_.post_link:
        return _POST_LINK
    words = math.prod(_TIMES_AS_LONG.get(word, 1.0) for word in inputs.variant.name.split("+"))
    trains = _INSTRUMENTED if pass_.trains else 1.0
    scope = (_BY_RULES if inputs.packaging else 1.0) * (_ALL_TARGETS if inputs.targets else 1.0)
    return words * trains * scope
