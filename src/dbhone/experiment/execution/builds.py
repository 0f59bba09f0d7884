"""Performs the steps of a plan that make builds.

They fetch, take what is ready-made, compile, train, and change what was linked.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from dbhone.compilation import builder, kept_builds, post_link, profile
from dbhone.compilation.bolt import find_usable_bolt
from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import Build
from dbhone.compilation.places import counters_name
from dbhone.compilation.profile import Profile
from dbhone.compilation.profile_counts import counters_of_build
from dbhone.compilation.spec import BuildSpec
from dbhone.compilation.toolchain import Compiler, find_compiler
from dbhone.compilation.transforms.base import Pass
from dbhone.dbms.base import load_dbms
from dbhone.errors import ProfileError, UntrustedFileError, UsageError
from dbhone.experiment.declaration.model import SubjectDeclaration, Training
from dbhone.experiment.execution.recorder import StepReporter
from dbhone.experiment.plan.estimates import BuildEstimator
from dbhone.experiment.plan.events import (
    Detail,
    Listener,
    Note,
    WaitBegan,
    WaitEnded,
)
from dbhone.experiment.plan.plan import (
    DONE,
    Compile,
    Fetch,
    PlanStep,
    PostLink,
    TakeReadyMade,
    Train,
)
from dbhone.experiment.plan.planning import plan_builds
from dbhone.experiment.target.target import BuildResult, TrainingJob, training_inputs
from dbhone.experiment.target.targets import target_class
from dbhone.host_lock import hold_host_lock, waiting_line
from dbhone.instance import ready_made
from dbhone.session import Session
from dbhone.source.derive import for_build, unpack_server
from dbhone.source.recognise import naming_ready_made_servers
from dbhone.source.tree import SourceTree, acquire, recall

StepResult: TypeAlias = BuildResult | Profile
"""What the steps that make builds make of trees."""


class BuildService:
    """Performs steps for one session, one heavy thing at a time, and keeps their results.

    With ``refresh`` it looks whether sources have changed. ``jobs`` compile commands run at once,
    as many as is usual (``builder.py``) if it is None.
    """

    def __init__(
        self,
        session: Session,
        listen: Listener,
        *,
        refresh: bool = False,
        jobs: int | None = None,
    ) -> None:
        self.session = session
        self.listen = listen
        self._refresh = refresh
        self._jobs = jobs
        self._results: dict[str, StepResult] = {}
        self._trees: dict[str, SourceTree] = {}
        self._compilers: dict[str, Compiler] = {}
        self._waited = 0.0
        self._waits_since: float | None = None
        self._waiting_was_told = False
        self._waiting_is_shown = False

    def make_builds(self, *subjects: SubjectDeclaration) -> dict[str, BuildResult]:
        """Return the subjects' builds by name, and make those that are not kept.

        The listener is told of each step.
        """
        plan = plan_builds(subjects, BuildEstimator(self.session.home))
        self._perform_all(plan.steps)
        return {name: self.build(makes) for name, makes in plan.builds.items()}

    def fetch(self, reference: str) -> SourceTree:
        """Return a source's tree, before a plan is made; the listener is told of this step."""
        step = Fetch(label=reference, subjects=(), makes=reference, cost=DONE, reference=reference)
        self._perform_all((step,))
        return self.tree(reference)

    def _perform_all(self, steps: Sequence[PlanStep]) -> None:
        """Perform steps and tell of each, but not of fetching what is there."""
        told = [
            step
            for step in steps
            if not isinstance(step, Fetch) or step.reference not in self._trees
        ]
        reporter = StepReporter(self.listen, told, clock=lambda: time.monotonic() - self.waited)
        for step in told:
            with reporter.step(step, step.cost.seconds) as report:
                report.reused = self.perform(step)

    def perform(self, step: PlanStep) -> bool:
        """Perform a step whose needs were made. Return whether its result existed before."""
        match step:
            case Fetch():
                kept = not self._refresh and recall(step.reference, self.session.home) is not None
                self.tree(step.reference)
                return kept
            case TakeReadyMade():
                result = self._take_ready_made(step.inputs)
            case Compile():
                result = self.compile(step.inputs, step.pass_, self._profile(step))
            case PostLink():
                linked = self.build(step.needs[0])
                result = self.optimise(step.inputs, linked, step.pass_, self._profile(step))
            case Train():
                return self._train(step)
            case _:
                raise TypeError(f"{type(step).__name__} makes no build")
        self._results[step.makes] = result
        return result.reused

    def build(self, makes: str) -> BuildResult:
        """Return the build that a performed step made."""
        result = self._results[makes]
        assert isinstance(result, BuildResult)
        return result

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Let no other hone on this machine work until the block is left."""
        self._waits_since = time.monotonic()
        with hold_host_lock(self.session.home, self._waiting) as waited:
            self._waited += waited
            self._waits_since = None
            if self._waiting_is_shown:
                self._waiting_is_shown = False
                self.listen(WaitEnded())
            yield

    @property
    def waited(self) -> float:
        """The seconds waited for other hones so far, including a wait that still lasts."""
        if self._waits_since is None:
            return self._waited
        return self._waited + time.monotonic() - self._waits_since

    def _waiting(self, other: str) -> None:
        if not self._waiting_was_told:
            self.listen(Note(text=waiting_line(other)))
        self._waiting_was_told = True
        self._waiting_is_shown = True
        self.listen(WaitBegan(other=other))

    def tree(self, reference: str) -> SourceTree:
        """Return the source tree; it is fetched at most once in a session."""
        if reference not in self._trees:
            self._trees[reference] = acquire(
                reference, self.session, refresh=self._refresh, notify=self.detail
            )
        return self._trees[reference]

    def use_tree(self, reference: str, tree: SourceTree) -> None:
        """Take ``tree`` for what ``reference`` means in this session."""
        self._trees[reference] = tree

    def compiler(self, name: str) -> Compiler:
        """Return the compiler; it is looked for at most once in a session."""
        if name not in self._compilers:
            self._compilers[name] = find_compiler(name)
        return self._compilers[name]

    def ready_made_server(self, source: str) -> BuildResult:
        """Return the ready-made server that a source brings, whichever DBMS it is."""
        tree = self._unpacked(source)
        known = ready_made.find(self.session.home, tree)
        if known is not None:
            return BuildResult(build=known, tree=tree, reused=True)
        with self.exclusive():
            build = ready_made.find(self.session.home, tree)
            build = build or ready_made.adopt(tree, self.session)
        return BuildResult(build=build, tree=tree, reused=False)

    def _unpacked(self, source: str) -> SourceTree:
        """Return the tree with the ready-made server that a source brings."""
        return unpack_server(self.tree(source), self.session, self.detail)

    def _take_ready_made(self, inputs: BuildInputs) -> BuildResult:
        result = self.ready_made_server(inputs.source)
        manifest = result.build.manifest
        if manifest.dbms != inputs.dbms:
            raise UsageError(
                f"the server in {inputs.source} is {load_dbms(manifest.dbms).title}"
                f" {manifest.version}, not {load_dbms(inputs.dbms).title}"
            )
        return result

    def spec(self, inputs: BuildInputs, pass_: Pass, profile: Profile | None) -> BuildSpec:
        """Return what one pass of a build is made of.

        Raises SourceError for a tree of another DBMS, or one that cannot be built as it is.
        """
        return BuildSpec(
            inputs=inputs,
            dbms=load_dbms(inputs.dbms),
            tree=self.tree_to_take(inputs),
            pass_=pass_,
            compiler=self.compiler(inputs.compiler),
            profile=profile,
        )

    def tree_to_take(self, inputs: BuildInputs) -> SourceTree:
        """Return the tree that becomes a build: the source's, or one that is derived from it.

        It has what it needs here and the fixes that are asked for, or its server unpacked.
        """
        if inputs.variant.ready_made:
            return self._unpacked(inputs.source)
        tree, dbms = self.tree(inputs.source), load_dbms(inputs.dbms)
        with naming_ready_made_servers(tree.path):
            version = dbms.version(tree.path)
        dbms.check_source(tree.path)
        return for_build(tree, dbms, version, inputs.fixes).make(self.session, self.detail)

    def compile(self, inputs: BuildInputs, pass_: Pass, profile: Profile | None) -> BuildResult:
        """Return the build of one pass, making it unless it exists."""
        spec = self.spec(inputs, pass_, profile)
        known = kept_builds.find(self.session.home, spec.digest())
        if known is not None:
            return BuildResult(build=known, tree=spec.tree, reused=True)
        with self.exclusive():
            build = builder.make(spec, self.session, self.detail, jobs=self._jobs)
        return BuildResult(build=build, tree=spec.tree, reused=False)

    def optimise(
        self, inputs: BuildInputs, linked: BuildResult, pass_: Pass, profile: Profile | None
    ) -> BuildResult:
        """Return what a post-link pass makes of a linked build, making it unless it exists."""
        spec = post_link.PostLinkSpec(
            inputs=inputs,
            compiler=self.compiler(inputs.compiler),
            linked=linked.build,
            pass_=pass_,
            bolt=find_usable_bolt(),
            profile=profile,
        )
        known = kept_builds.find(self.session.home, spec.digest())
        build = known
        if build is None:
            with self.exclusive():
                build = post_link.make(spec, self.session, self.detail)
        return BuildResult(
            build=build, tree=linked.tree, reused=known is not None, linked=linked.build
        )

    def _profile(self, step: Compile | PostLink) -> Profile | None:
        return self._profile_of(step.needs[-1]) if step.pass_.takes_profile else None

    def _profile_of(self, makes: str) -> Profile:
        result = self._results[makes]
        assert isinstance(result, Profile)
        return result

    def _train(self, step: Train) -> bool:
        """Train an instrumented build, and keep the profile. Return whether there was one."""
        instrumented = self.build(step.needs[0])
        check_trainable(step.training, instrumented.tree.path)
        inputs = training_inputs(step.training)
        find = partial(profile.find_profile, self.session.home, instrumented.build, inputs)
        known = find()
        if known is not None:
            self._results[step.makes] = known
            return True
        with self.exclusive():  # Another hone may have trained it meanwhile.
            self._results[step.makes] = find() or self._make_profile(step, instrumented, inputs)
        return False

    @contextlib.contextmanager
    def _counters_folder(self, build: Build) -> Iterator[Path]:
        """Yield an empty folder for a build's counters: the one that it insists on, if any."""
        if build.manifest.post_link is None:
            yield self.session.workdir("counters")
            return
        with self.session.fixed_workdir(counters_name(build.digest)) as folder:
            yield folder

    def _make_profile(self, step: Train, instrumented: BuildResult, inputs: object) -> Profile:
        build, compiler = instrumented.build, self.compiler(step.inputs.compiler)
        earlier = self._profile_of(step.needs[1]).input_path if len(step.needs) > 1 else None
        with self._counters_folder(build) as folder:
            counters = counters_of_build(build, compiler, folder, self.session, earlier)
            job = TrainingJob(
                build=build,
                plain=instrumented.linked or build,
                training=step.training,
                counters=counters,
            )
            target = target_class(step.training.workload)
            began, clock = time.time(), time.monotonic()
            try:
                iterations = target.train(job, self.session, self.detail)
                return profile.collect(
                    build,
                    counters,
                    inputs,
                    self.session,
                    began=began,
                    trained_on=step.training.trained_on,
                    seconds=time.monotonic() - clock,
                    iterations=iterations,
                )
            except UntrustedFileError as error:
                raise ProfileError(
                    f"what was trained wrote no counters: {error.message}"
                ) from error

    def detail(self, text: str) -> None:
        """Tell what is being done within a step."""
        self.listen(Detail(text=text))


def check_trainable(training: Training, tree: Path) -> None:
    """Raise UsageError for a set to train on that this version of the DBMS does not have."""
    sets = training.workload.chosen
    known = training.workload.driver.sets(sets, tree)
    missing = ", ".join(name for name in sets if name not in known)
    if missing:
        raise UsageError(
            f"this version has no sets {missing}: nothing can be trained on them",
            hint="name others to train on",
        )
