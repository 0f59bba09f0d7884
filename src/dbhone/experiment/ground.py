"""What an experiment's kind of DBMS needs to be proved and measured: the one place that asks.

Everything else in this folder works alike for embedded systems and for servers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from dbhone.compilation.manifest import Build
from dbhone.dbms.base_server import Installation, ServerDbms
from dbhone.errors import UsageError
from dbhone.experiment.arena import Arena, ColdServerArena, EmbeddedArena, ServerArena
from dbhone.experiment.builds import BuildResult, BuildService, load_dbms
from dbhone.experiment.calibration import Calibration
from dbhone.experiment.events import Detail
from dbhone.experiment.frozen_passes import FrozenPasses
from dbhone.experiment.levers import pull, settings_with, uses_huge_pages
from dbhone.experiment.model import Experiment
from dbhone.experiment.observe import Observing
from dbhone.experiment.passes import FreshPasses, Passes
from dbhone.experiment.plan import DRIVER_STARTS, SERVER_STARTS
from dbhone.experiment.prepare import Ran
from dbhone.experiment.proof import EmbeddedVerifier, ServerVerifier, Verifier
from dbhone.experiment.recorder import RunRecorder
from dbhone.experiment.servers import Servers, ServerSpec, ServerWorkload, installation_of
from dbhone.experiment.settings_notes import Setup, settings_notes
from dbhone.experiment.slicing import frozen_sets, slice_seconds
from dbhone.instance.memory import check_memory
from dbhone.instance.programs import title_of
from dbhone.measurement.record import Step
from dbhone.workload import suite as suites
from dbhone.workload import work
from dbhone.workload.drive import load_driver
from dbhone.workload.drivers.base import Driver, EmbeddedDriver, ServerDriver
from dbhone.workload.work import Scale, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """What is measured: the tasks by set, their steps, and about how many seconds each takes."""

    tasks: dict[str, Task]
    steps: tuple[Step, ...]
    seconds: dict[str, float]


class Ground(ABC):
    """How the products of an experiment are proved and measured."""

    ordered: bool
    """Whether the sets of a block are run in the suite's order, each on what the last left."""

    def ran(self, subject: str) -> Ran:
        """Return how a subject's server runs."""
        del subject
        return Ran()

    @abstractmethod
    def examiner(self) -> Verifier:
        """Return who proves that the products do the same."""

    @abstractmethod
    def programme(self) -> Schedule:
        """Return what is measured. May run every set once on the base."""

    @abstractmethod
    def passes(self, subjects: tuple[str, ...]) -> Passes:
        """Return how and where these subjects are measured."""


def make_ground(
    experiment: Experiment,
    products: Mapping[str, BuildResult],
    workshop: BuildService,
    journal: RunRecorder,
) -> Ground:
    """Return the ground for the experiment's suite.

    Raises UsageError if the DBMS's version has none of the sets, ToolError if the driver is
    missing, MachineError if the servers would not fit into memory.
    """
    driver = load_driver(suites.load(experiment.suite).driver)
    make = _ServerGround if isinstance(driver, ServerDriver) else _EmbeddedGround
    return make(experiment, products, workshop, journal)


class _Grounded(Ground):
    def __init__(
        self,
        experiment: Experiment,
        products: Mapping[str, BuildResult],
        workshop: BuildService,
        journal: RunRecorder,
    ) -> None:
        self._experiment = experiment
        self._products = dict(products)
        self._workshop = workshop
        self._journal = journal
        self._suite = suites.load(experiment.suite)
        self.ordered = self._suite.ordered
        self._driver: Driver = load_driver(self._suite.driver)
        self._prepare()

    def _prepare(self) -> None:
        """Make sure that it can be done at all."""

    def _sets(self) -> tuple[str, ...]:
        """Return the sets that are driven: those asked for, as far as all versions have them."""
        asked = self._suite.measured()
        if self._experiment.sets is not None:
            asked = tuple(name for name in asked if name in self._experiment.sets)
        trees = {product.tree.path for product in self._products.values()}
        common = frozenset.intersection(
            *(frozenset(self._driver.sets(asked, tree)) for tree in trees)
        )
        missing = ", ".join(name for name in asked if name not in common)
        if missing:
            text = f"this version has no sets {missing}: they were left out"
            self._journal.warn("sets-missing", text)
        present = tuple(name for name in asked if name in common)
        if not present:
            raise UsageError(f"this version has none of the sets: {missing}")
        return present

    def _tasks(self, scale: Scale) -> dict[str, Task]:
        tasks = work.tasks(self._suite, self._sets(), scale)
        return {task.set: task for task in tasks}

    def _seed(self) -> int | None:
        """Return the design's seed if it decides on what data each block is measured."""
        return self._experiment.design.seed if self._suite.fresh_loads else None

    def _builds(self) -> dict[str, Build]:
        return {name: product.build for name, product in self._products.items()}


class _EmbeddedGround(_Grounded):
    def examiner(self) -> Verifier:
        smallest = Scale(size=self._suite.sizes()[0])
        tasks = tuple(self._tasks(smallest).values())
        return EmbeddedVerifier(self._workshop.session, self._embedded(), tasks, self._builds())

    def programme(self) -> Schedule:
        tasks = self._tasks(self._experiment.scale)
        base = self._experiment.base.name
        rehearsal = Calibration(self._experiment, self._suite, self._workshop, self._arena((base,)))
        steps, seconds = rehearsal.run(base, tuple(tasks.values()), self._journal)
        return Schedule(tasks=tasks, steps=steps, seconds=seconds)

    def passes(self, subjects: tuple[str, ...]) -> Passes:
        return FreshPasses(self._arena(subjects))

    def _arena(self, subjects: tuple[str, ...]) -> Arena:
        builds = {name: build for name, build in self._builds().items() if name in subjects}
        return EmbeddedArena(self._workshop.session, self._embedded(), builds, self._seed())

    def _embedded(self) -> EmbeddedDriver:
        assert isinstance(self._driver, EmbeddedDriver)
        return self._driver


class _ServerGround(_Grounded):
    def _prepare(self) -> None:
        assert isinstance(self._driver, ServerDriver)
        demand = ServerWorkload(
            suite=self._suite,
            driver=self._driver,
            scale=self._experiment.scale,
            drop_unknown=self._experiment.drop_unknown,
            servers=len(self._experiment.subjects),
        )
        self._cold = demand.cold
        self._servers = Servers(self._workshop.session, demand, self._detail)
        self._contenders = {
            name: self._contender(name, product) for name, product in self._products.items()
        }
        self._setups = {name: self._set_up(each) for name, each in self._contenders.items()}
        for note in settings_notes(self._setups):
            self._journal.warn(note.code, note.text, subject=note.subject)
        self._tell_needed()
        check_memory(self._caches(demand.cache_bytes))

    def _caches(self, usual: int) -> list[int]:
        """Return the caches, in bytes, that lie in free memory at once, and not in huge pages."""
        caches = [
            self._cache(each.name, usual)
            for each in self._experiment.subjects
            if each.name in self._contenders and not uses_huge_pages(each)
        ]
        return [max(caches)] if self._cold and caches else caches

    def _detail(self, text: str) -> None:
        self._journal.listen(Detail(text=text))

    def _contender(self, name: str, product: BuildResult) -> ServerSpec:
        dbms = load_dbms(product.build.manifest.dbms)
        assert isinstance(dbms, ServerDbms)
        declared = next(each for each in self._experiment.subjects if each.name == name)
        installation: Installation = installation_of(dbms, product.build)
        levers = pull(self._experiment, declared)
        return ServerSpec(
            dbms=dbms,
            installation=installation,
            settings=(
                *self._experiment.observe.wanted(dbms, declared.settings),
                *settings_with(declared, levers),
            ),
            env={},
            levers=levers,
        )

    def _set_up(self, contender: ServerSpec) -> Setup:
        """Refuse before anything starts what a server lacks."""
        return Setup(
            title=title_of(contender.dbms, contender.installation),
            protocol=contender.dbms.protocol,
            chosen=self._servers.settings(contender),
        )

    def _cache(self, subject: str, usual: int) -> int:
        """Return how large a server's own cache is, in bytes."""
        dbms = self._contenders[subject].dbms
        value = self._setups[subject].chosen.values[dbms.cache_setting]
        size = dbms.bytes_of(value)
        return usual if size is None else size

    def _tell_needed(self) -> None:
        """Say which settings the servers have only because they are observed."""
        needed: dict[str, str] = {}
        for each in self._contenders.values():
            needed |= self._experiment.observe.settings(each.dbms)
        if needed:
            words = ", ".join(f"{name} = {value}" for name, value in needed.items())
            text = f"to count what [observe] asks for, all servers that know it run with {words}"
            self._journal.warn("observed-settings", text)

    def ran(self, subject: str) -> Ran:
        """Return its settings, and what its server said of itself before it was set."""
        chosen = self._setups[subject].chosen
        return Ran(settings=chosen.values, defaults=chosen.defaults)

    def examiner(self) -> Verifier:
        return ServerVerifier(self._servers, self._contenders)

    def programme(self) -> Schedule:
        """Return the suite's own steps: how long they take is declared, so none is tried out."""
        tasks = self._tasks(self._experiment.scale)
        beside = DRIVER_STARTS + (SERVER_STARTS if self._cold else 0.0)
        frozen = self._frozen(len(self._contenders))
        seconds = {
            name: slice_seconds(task, frozen=name in frozen) + beside
            for name, task in tasks.items()
        }
        steps = tuple(step for task in tasks.values() for step in self._steps(task))
        self._journal.store.set_steps(self._journal.run_id, list(steps))
        return Schedule(tasks=tasks, steps=steps, seconds=seconds)

    def _steps(self, task: Task) -> tuple[Step, ...]:
        chosen = self._suite.sets[task.source]
        found = []
        for key in chosen.keys():  # noqa: SIM118 - a method of ours, no dict
            group = chosen.group_of(key)
            assert group is not None
            found.append(
                Step(
                    set=task.set,
                    key=key,
                    title=chosen.title,
                    group=group,
                    in_sample=task.source in self._experiment.trained_sets,
                    threads=task.run.threads if task.run else None,
                )
            )
        return tuple(found)

    def passes(self, subjects: tuple[str, ...]) -> Passes:
        contenders = {name: each for name, each in self._contenders.items() if name in subjects}
        make = ColdServerArena if self._cold else ServerArena
        observing = Observing(self._experiment.observe, self._warn)
        arena = make(self._servers, contenders, observing, self._detail, self._seed())
        frozen = self._frozen(len(subjects))
        if not frozen:
            return FreshPasses(arena)
        seed = self._experiment.design.seed
        return FrozenPasses(arena, self._workshop.session, frozen, seed, self._slow)

    def _frozen(self, subjects: int) -> frozenset[str]:
        """Return the sets that are measured with frozen clients."""
        return frozen_sets(
            self._experiment.slices,
            self._driver,
            self._experiment.scale.regime,
            self._tasks(self._experiment.scale),
            subjects,
        )

    def _slow(self, set_name: str, lasting: bool) -> None:
        few = f"too few operations of {set_name} end in a short slice"
        once = "in a pass that stood still for seconds each slice had a new client"
        text = f"{few}: {'each slice has a new client' if lasting else once}"
        self._journal.warn("slow-operations", text, step=set_name)

    def _warn(self, code: str, text: str, subject: str) -> None:
        self._journal.warn(code, text, subject=subject)
