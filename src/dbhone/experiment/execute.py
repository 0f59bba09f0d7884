"""Executes an experiment: builds, trains, proves, measures; commits as it goes, resumes.

Whatever ends it, what is finished is kept: sources, builds and profiles in the home folder,
measurements in the store. Executing a run again goes on where it ended.
"""

from __future__ import annotations

import dataclasses

from dbhone import __version__
from dbhone.errors import DriverError, HoneError, Interrupted, UsageError
from dbhone.experiment.disturbance import disturbances
from dbhone.experiment.events import Listener, Stage
from dbhone.experiment.journal import Journal
from dbhone.experiment.measuring import Contest, Measuring
from dbhone.experiment.model import Experiment
from dbhone.experiment.preparation import Preparation, describe
from dbhone.experiment.production import Product, Workshop
from dbhone.experiment.proof import Evidence, difference, examine
from dbhone.experiment.rehearsal import Rehearsal
from dbhone.home import Session, is_alive
from dbhone.measurement.machine import read_machine
from dbhone.measurement.record import Run, RunState
from dbhone.measurement.store import NewRun, Store
from dbhone.workload import suite as suites
from dbhone.workload.drive import load_driver
from dbhone.workload.suite import Task


def begin(experiment: Experiment, session: Session, store: Store) -> Run:
    """Keep a new run of the experiment, about to be executed by this session."""
    return store.create_run(
        NewRun(
            title=experiment.title,
            experiment=experiment.text,
            experiment_name=experiment.name,
            session=session.id,
            suite=experiment.suite,
            size=experiment.size,
            design=experiment.design,
            machine=read_machine(session.home.root),
            hone_version=__version__,
        )
    )


def take_over(run: Run, session: Session, store: Store) -> None:
    """Make this session the one that executes a run that was cut off.

    Raises UsageError if the run is complete, is being executed, or began on another machine.
    """
    if run.state is RunState.DONE:
        raise UsageError(
            f"run {run.id} is complete", hint=f"'hone report {run.id}' shows what it found"
        )
    here = read_machine(session.home.root)
    if here.fingerprint != run.machine.fingerprint:
        raise UsageError(
            f"run {run.id} began on another machine or kernel ({run.machine.cpu_model},"
            f" {run.machine.kernel})",
            hint="only what was measured on one host can be compared: begin a new run",
        )
    taken = is_alive(session.home, run.session) or not store.claim_run(
        run.id, session=session.id, instead_of=run.session
    )
    if taken:
        raise UsageError(f"run {run.id} is being executed by another hone")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What an execution works with. ``refresh`` looks at sources again."""

    session: Session
    store: Store
    listen: Listener
    refresh: bool = False


class Execution:
    """One session's work on one run."""

    def __init__(self, experiment: Experiment, run: Run, desk: Desk) -> None:
        self._experiment = experiment
        self._run = run
        self._store = desk.store
        self._session = desk.session
        self._workshop = Workshop(desk.session, desk.listen, refresh=desk.refresh)
        self._journal = Journal(run, desk.store, desk.listen, experiment.design.budget_seconds)
        self._suite = suites.load(experiment.suite)
        self._driver = load_driver(self._suite.driver)

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
        preparation = Preparation(self._experiment, self._run, self._workshop, self._journal)
        products = preparation.products()
        tasks = self._tasks(products)
        sound = self._prove(products, tuple(tasks))
        base = self._experiment.base.name
        rehearsal = Rehearsal(self._experiment, self._suite, self._driver, self._workshop)
        steps, seconds = rehearsal.run(sound[base].build, tuple(tasks.values()), self._journal)
        contest = Contest(
            run_id=self._run.id,
            design=self._experiment.design,
            driver=self._driver,
            builds={name: product.build for name, product in sound.items()},
            base=base,
            tasks=tasks,
            steps=steps,
            seconds=seconds,
        )
        return self._measure(contest, sound)

    def _tasks(self, products: dict[str, Product]) -> dict[str, Task]:
        """Return the sets that are driven: those asked for, as far as all versions have them."""
        trees = {product.tree.path for product in products.values()}
        common = frozenset.intersection(*(frozenset(self._driver.sets(tree)) for tree in trees))
        asked = self._experiment.sets or tuple(self._suite.sets)
        missing = ", ".join(name for name in asked if name not in common)
        if missing:
            text = f"this version has no sets {missing}: they were left out"
            self._journal.warn("sets-missing", text)
        present = [name for name in asked if name in common]
        if not present:
            raise UsageError(f"this version has none of the sets: {missing}")
        return {name: self._task(name, self._experiment.size) for name in present}

    def _task(self, name: str, size: str) -> Task:
        return Task(set=name, size=self._suite.sets[name].sizes[size])

    def _prove(self, products: dict[str, Product], sets: tuple[str, ...]) -> dict[str, Product]:
        """Return the products that do what the base does; the others are broken."""
        proofs = tuple(self._task(name, self._suite.sizes()[0]) for name in sets)
        base = self._experiment.base.name
        order = sorted(products, key=lambda name: name != base)
        evidence: Evidence | None = None
        broken: set[str] = set()
        for number, name in enumerate(order, 1):
            began = self._journal.began(Stage.PROVE, name, number, len(order))
            try:
                found = self._examine(products[name], proofs)
                evidence = evidence or found
                reason = difference(found, evidence)
            except DriverError as error:
                reason = error.message
            if reason is None:
                self._journal.ended(Stage.PROVE, name, began)
            elif name == base:
                raise DriverError(f"the base {name} is not sound: {reason}")
            else:
                broken.add(name)
                self._break(name, products[name], reason)
        self._journal.tick()
        return {name: product for name, product in products.items() if name not in broken}

    def _examine(self, product: Product, proofs: tuple[Task, ...]) -> Evidence:
        return self._workshop.in_turn(
            lambda: examine(product.build, self._driver, proofs, self._session)
        )

    def _break(self, name: str, product: Product, reason: str) -> None:
        names = [each.name for each in self._experiment.subjects]
        declaration = self._experiment.subjects[names.index(name)]
        self._journal.describe(names.index(name), describe(declaration, product, broken=reason))
        text = f"{name} is broken and takes no part: {reason}"
        self._journal.warn("broken", text, subject=name)
        self._journal.note(text)

    def _measure(self, contest: Contest, products: dict[str, Product]) -> str:
        measuring = Measuring(contest, self._workshop, self._journal)
        try:
            return measuring.run()
        finally:
            for name, reason in measuring.broken.items():
                self._break(name, products[name], reason)
            for code, text in disturbances(self._store.done(self._run.id)):
                self._journal.warn(code, text)
            if self._workshop.waited > 1:
                text = f"{self._workshop.waited:.0f} s were spent waiting for another hone"
                self._journal.warn("waited", text)
