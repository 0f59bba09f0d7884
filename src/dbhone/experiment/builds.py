"""Makes what an experiment needs before anything is measured: trees, builds, profiles.

The loop of a profile-guided build is here: compile instrumented, train, compile again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dbhone import registry
from dbhone.compilation import builder, profile
from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import Build
from dbhone.compilation.profile import Profile
from dbhone.compilation.spec import BuildSpec
from dbhone.compilation.toolchain import Compiler, find_compiler
from dbhone.compilation.transforms.base import Pass
from dbhone.dbms.base import DRAWER, Dbms
from dbhone.errors import SourceError, UsageError
from dbhone.experiment.events import Detail, Listener, Note
from dbhone.experiment.model import Training
from dbhone.experiment.training import TrainingJob, train
from dbhone.home import Session
from dbhone.host_lock import hold_host_lock
from dbhone.instance import prebuilt
from dbhone.measurement.record import READY_MADE
from dbhone.source.editing import edited
from dbhone.source.fixing import WantedFixes, fixed
from dbhone.source.opening import as_opened, opened
from dbhone.source.ready import find_server
from dbhone.source.tree import SourceTree, acquire
from dbhone.workload import suite as suites
from dbhone.workload.drive import load_driver

T = TypeVar("T")

_SAY_READY_MADE = (
    f'say so: variant = "{READY_MADE}" in an experiment, --variant {READY_MADE} with hone build,'
    f" #{READY_MADE} behind the source with hone compare"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildResult:
    """A finished build with the tree that it came from. ``reused`` builds existed before."""

    build: Build
    tree: SourceTree
    reused: bool


class BuildService:
    """Fetches, builds and trains for one session, one heavy thing at a time."""

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
        self._trees: dict[str, SourceTree] = {}
        self._compilers: dict[str, Compiler] = {}
        self._waited = 0.0
        self._waits_since: float | None = None
        self._told = False

    def in_turn(self, work: Callable[[], T]) -> T:
        """Do some work while no other hone on this machine works."""
        self._waits_since = time.monotonic()
        with hold_host_lock(self._waiting) as waited:
            self._waited += waited
            self._waits_since = None
            return work()

    @property
    def waited(self) -> float:
        """The seconds that were waited for other hones so far, also if that is not over."""
        if self._waits_since is None:
            return self._waited
        return self._waited + time.monotonic() - self._waits_since

    def _waiting(self, other: str) -> None:
        if not self._told:
            self.listen(Note(text=f"{other} is building or measuring here: taking turns"))
        self._told = True

    def tree(self, reference: str) -> SourceTree:
        """Return the source tree; fetched at most once in a session."""
        if reference not in self._trees:
            self._trees[reference] = acquire(
                reference, self.session, refresh=self._refresh, notify=self._detail
            )
        return self._trees[reference]

    def compiler(self, name: str) -> Compiler:
        """Return the compiler, looked for at most once in a session."""
        if name not in self._compilers:
            self._compilers[name] = find_compiler(name)
        return self._compilers[name]

    def keep_to(self, reference: str, tree: SourceTree) -> None:
        """Take ``tree`` for what ``reference`` means in this session."""
        self._trees[reference] = tree

    def produce(self, inputs: BuildInputs, training: Training | None) -> BuildResult:
        """Return the build of these inputs; ``training`` is for profile-guided variants only."""
        if inputs.variant.ready_made:
            return self._ready_made(inputs)
        last = inputs.variant.passes()[-1]
        if last is Pass.PLAIN:
            return self._build(inputs, last, None)
        assert training is not None
        kept = self._train(inputs, training)
        return self._build(inputs, last, kept)

    def spec(self, inputs: BuildInputs, pass_: Pass, kept: Profile | None) -> BuildSpec:
        """Return what one pass of the wanted build is made of."""
        return BuildSpec(
            inputs=inputs,
            dbms=load_dbms(inputs.dbms),
            tree=self._fixed(inputs),
            pass_=pass_,
            compiler=self.compiler(inputs.compiler),
            profile=kept,
        )

    def _fixed(self, inputs: BuildInputs) -> SourceTree:
        """Return the source tree with what it needs here, and with the fixes that are wanted.

        Raises SourceError if it is not one of the wanted DBMS.
        """
        tree, dbms = self.tree(inputs.source), load_dbms(inputs.dbms)
        with _advising(tree.path):
            version = dbms.version(tree.path)
        tree = edited(tree, dbms.edits(version), self.session, self._detail)
        if not inputs.fixes:
            return tree
        wanted = WantedFixes(words=inputs.fixes, dbms=inputs.dbms, version=version)
        return fixed(tree, wanted, self.session, self._detail)

    def _build(self, inputs: BuildInputs, pass_: Pass, kept: Profile | None) -> BuildResult:
        spec = self.spec(inputs, pass_, kept)
        found = builder.find(self.session.home, spec.digest())
        if found is not None:
            return BuildResult(build=found, tree=spec.tree, reused=True)
        made = self.in_turn(
            lambda: builder.make(spec, self.session, self._phase(pass_), jobs=self._jobs)
        )
        return BuildResult(build=made, tree=spec.tree, reused=False)

    def adopt(self, source: str) -> BuildResult:
        """Return the ready-made server that a source brings, whichever DBMS it is."""
        tree = as_opened(self.tree(source), self.session.home)
        found = prebuilt.find(self.session.home, tree)
        if found is not None:
            return BuildResult(build=found, tree=tree, reused=True)
        whole = opened(tree, self.session, self._detail)
        build = self.in_turn(lambda: prebuilt.adopt(whole, self.session))
        return BuildResult(build=build, tree=whole, reused=False)

    def _ready_made(self, inputs: BuildInputs) -> BuildResult:
        product = self.adopt(inputs.source)
        manifest = product.build.manifest
        if manifest.dbms != inputs.dbms:
            raise UsageError(
                f"the server in {inputs.source} is {load_dbms(manifest.dbms).title}"
                f" {manifest.version}, not {load_dbms(inputs.dbms).title}"
            )
        return product

    def _phase(self, pass_: Pass) -> Callable[[str], None]:
        prefix = "instrumented build: " if pass_ is Pass.INSTRUMENT else ""
        return lambda text: self._detail(prefix + text)

    def _detail(self, text: str) -> None:
        self.listen(Detail(text=text))

    def _train(self, inputs: BuildInputs, training: Training) -> Profile:
        instrumented = self._build(inputs, Pass.INSTRUMENT, None).build
        lesson = TrainingJob(
            build=instrumented,
            compiler=self.compiler(inputs.compiler),
            dbms=load_dbms(inputs.dbms),
            driver=load_driver(suites.load(training.suite).driver),
            training=training,
        )
        kept = profile.find(self.session, lesson.key)
        if kept is not None:
            return kept
        return self.in_turn(lambda: train(lesson, self.session, self._detail))


def load_dbms(name: str) -> Dbms:
    """Return what dbhone knows of a DBMS."""
    return registry.load(DRAWER, name, Dbms, what="DBMS")


def recognise(tree: Path) -> str:
    """Return the name of the DBMS whose source tree this is.

    Raises SourceError if it is none that hone knows.
    """
    known = registry.load_all(DRAWER, Dbms, what="DBMS")
    for name, dbms in known.items():
        with contextlib.suppress(SourceError):
            dbms.version(tree)
            return name
    titles = ", ".join(each.title for each in known.values())
    with _advising(tree):
        raise SourceError(f"this is not the source tree of a DBMS that hone knows ({titles})")


@contextlib.contextmanager
def _advising(tree: Path) -> Iterator[None]:
    """Let an error that a tree is no source say what to do if it holds a ready-made server."""
    try:
        yield
    except SourceError as error:
        found = find_server(tree)
        if found is None:
            raise
        raise SourceError(
            f"{error.message}; it holds a ready-made server, {found.program.relative_to(tree)}",
            hint=_SAY_READY_MADE,
        ) from error
