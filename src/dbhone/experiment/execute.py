"""Executes an experiment: builds, trains, proves, measures; commits as it goes, resumes.

Whatever ends it, what is finished is kept: sources, builds and profiles in the home folder,
measurements in the store. Executing a run again goes on where it ended.
"""

from __future__ import annotations

import dataclasses
import os
from functools import partial

from dbhone.errors import DriverError, HoneError, Interrupted, ServerError, UsageError
from dbhone.experiment.builds import BuildResult, BuildService
from dbhone.experiment.conditions import check_terms, terms
from dbhone.experiment.events import Listener, Stage
from dbhone.experiment.ground import Ground, make_ground
from dbhone.experiment.host_noise import disturbances
from dbhone.experiment.measuring import MeasurementPlan, Measuring
from dbhone.experiment.model import Experiment
from dbhone.experiment.prepare import Preparation, Ran, describe
from dbhone.experiment.proof import ResultDigest, Verifier, difference
from dbhone.experiment.recorder import RunRecorder
from dbhone.experiment.settings_notes import changed_settings
from dbhone.experiment.slice_notes import slice_notes
from dbhone.home import Session
from dbhone.measurement.record import Run, RunState
from dbhone.measurement.store import Store


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionContext:
    """What an execution works with. ``refresh`` looks at sources again."""

    session: Session
    store: Store
    listen: Listener
    refresh: bool = False


class Execution:
    """One session's work on one run."""

    def __init__(self, experiment: Experiment, run: Run, desk: ExecutionContext) -> None:
        self._experiment = experiment
        self._run = run
        self._store = desk.store
        self._session = desk.session
        self._workshop = BuildService(desk.session, desk.listen, refresh=desk.refresh)
        self._journal = RunRecorder(
            run,
            desk.store,
            desk.listen,
            experiment.design.budget_seconds,
            waited=lambda: self._workshop.waited,
        )
        self._ground: Ground | None = None

    def execute(self) -> None:
        """Work until the run is done. Raises what stopped it; the run's state says so too."""
        self._store.update_run(self._run.id, state=RunState.RUNNING)
        try:
            reason = self._work()
        except (KeyboardInterrupt, Interrupted):
            self._journal.close(RunState.INTERRUPTED, "interrupted by the user")
            raise
        except HoneError as error:
            self._journal.close(RunState.FAILED, error.message)
            raise
        self._journal.complete(reason)

    def _work(self) -> str:
        check_terms(self._experiment, self._session)
        preparation = Preparation(self._experiment, self._run, self._workshop, self._journal)
        products = preparation.products()
        ground = make_ground(self._experiment, products, self._workshop, self._journal)
        self._ground = ground
        self._check_settings(products, ground)
        for name, product in products.items():
            self._describe(name, product)
        sound = self._prove(products, ground.examiner())
        programme = ground.programme()
        contest = MeasurementPlan(
            run_id=self._run.id,
            design=self._experiment.design,
            passes=ground.passes(tuple(sound)),
            subjects=tuple(sound),
            base=self._experiment.base.name,
            tasks=programme.tasks,
            steps=programme.steps,
            seconds=programme.seconds,
            ordered=ground.ordered,
            awake=frozenset(os.sched_getaffinity(0)) if self._experiment.awake else frozenset(),
            allot=self._experiment.allot,
        )
        return self._measure(contest, sound)

    def _check_settings(self, products: dict[str, BuildResult], ground: Ground) -> None:
        """Refuse to go on under other settings than those that a run began with.

        A settings file may have been edited since, or a named config changed with hone.
        """
        for each in self._run.subjects:
            if not each.settings or each.name not in products:
                continue
            changed = changed_settings(each.settings, ground.ran(each.name).settings)
            if changed:
                raise UsageError(
                    f"the settings of {each.name} are no longer what they were when run"
                    f" {self._run.id} began: {', '.join(changed)}",
                    hint="begin a new run",
                )

    def _prove(
        self, products: dict[str, BuildResult], examiner: Verifier
    ) -> dict[str, BuildResult]:
        """Return the products that do what the base does; the others are broken."""
        base = self._experiment.base.name
        order = sorted(products, key=lambda name: name != base)
        evidence: ResultDigest | None = None
        broken: set[str] = set()
        for number, name in enumerate(order, 1):
            began = self._journal.began(Stage.PROVE, name, number, len(order))
            hint: str | None = None
            try:
                found = self._workshop.in_turn(partial(examiner.examine, name))
                evidence = evidence or found
                reason = difference(found, evidence)
            except (DriverError, ServerError) as error:
                reason, hint = error.told, error.hint
            if reason is None:
                self._journal.ended(Stage.PROVE, name, began)
            elif name == base:
                raise DriverError(f"the base {name} is not sound: {reason}", hint=hint)
            else:
                broken.add(name)
                self._break(name, products[name], reason)
        self._journal.tick()
        if broken and broken == set(products) - {base}:
            told = f"nothing is left to compare with {base}: all others are broken"
            raise DriverError(told, hint=f"'hone show {self._run.id}' says why")
        return {name: product for name, product in products.items() if name not in broken}

    def _describe(self, name: str, product: BuildResult, broken: str | None = None) -> None:
        """Keep what a subject is, now that its settings are known too."""
        names = [each.name for each in self._experiment.subjects]
        declaration = self._experiment.subjects[names.index(name)]
        ran = self._ground.ran(name) if self._ground else Ran()
        described = describe(declaration, product, ran, broken=broken)
        self._journal.describe(names.index(name), described)

    def _break(self, name: str, product: BuildResult, reason: str) -> None:
        self._describe(name, product, broken=reason)
        self._journal.note(f"{name} is broken and takes no part: {reason}")

    def _measure(self, contest: MeasurementPlan, products: dict[str, BuildResult]) -> str:
        for code, text in terms(self._experiment):
            self._journal.warn(code, text)
        measuring = Measuring(contest, self._workshop, self._journal)
        try:
            return measuring.run()
        finally:
            for name, reason in measuring.broken.items():
                self._break(name, products[name], reason)
            for code, text in disturbances(self._store.done(self._run.id)):
                self._journal.warn(code, text)
            for code, text in slice_notes(self._store.sliced(self._run.id)):
                self._journal.warn(code, text)
            if self._workshop.waited > 1:
                text = f"{self._workshop.waited:.0f} s were spent waiting for another hone"
                self._journal.warn("waited", text)
