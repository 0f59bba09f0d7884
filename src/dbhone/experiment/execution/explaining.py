"""Runs one step on two servers to see where its time goes: nothing of it is a measurement.

Both servers are up with their clients connected, and work in alternation. Sampling costs them time,
so that no figure of it may count towards a verdict: none is stored.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dbhone.analysis.explained_rounds import CodeOrigin, Round, Work
from dbhone.dbms.base_settings import RequestedSetting
from dbhone.errors import UnknownName, UsageError
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.declaration.observe import ObserveOptions, as_requests
from dbhone.experiment.execution.builds import BuildService
from dbhone.experiment.execution.explained_clients import work_of
from dbhone.experiment.execution.explained_server import ExplainedServer
from dbhone.experiment.plan.estimates import BuildEstimator
from dbhone.experiment.plan.plan import Compile, PostLink, Train
from dbhone.experiment.plan.planning import plan_builds
from dbhone.experiment.target.block_servers import BlockServers
from dbhone.experiment.target.cpu_placement import cpu_placement
from dbhone.experiment.target.observer import RunObservation
from dbhone.experiment.target.order import round_order
from dbhone.experiment.target.server_pool import ServerSpec
from dbhone.experiment.target.server_specs import check_servers, pool_of, spec_of
from dbhone.measurement.record import Run
from dbhone.measurement.stack_sampling import check_sampling
from dbhone.untrusted_files import remove_tree
from dbhone.workload.task import Task

_BLOCK = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """The rounds of two subjects on one step with ``threads`` clients.

    ``work`` is what CPU time is told of. ``kinds`` are the kinds of threads of the base's DBMS, as
    it names them.
    """

    step: str
    work: Work
    threads: int
    base: tuple[Round, ...]
    subject: tuple[Round, ...]
    kinds: tuple[tuple[str, str], ...]
    named: float
    """The share of samples in the servers' own code whose function has a name."""
    settings: Mapping[str, str]
    """Those without which the servers would not have counted waits."""


def find_task(experiment: Experiment, word: str) -> Task:
    """Return the task of a step by its name or short name; raise UnknownName, or UsageError."""
    if experiment.one_by_one:
        raise UsageError(
            f"{word} cannot be explained: two servers would have to be up, but of this run's only"
            " one is up at a time"
        )
    check_servers(experiment)
    workload = experiment.workload
    tasks = workload.tasks()
    for task in tasks:
        set_name, _, threads = word.partition("@")
        full = workload.suite.full_name(set_name)
        if task.set in (word, full, f"{full}@{threads}"):
            return task
    raise UnknownName("step", word, (task.set for task in tasks))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilding:
    """The subjects whose builds are no longer kept, and about how long it takes to make them."""

    subjects: tuple[str, ...]
    seconds: float


def rebuilding(
    experiment: Experiment, names: tuple[str, str], run: Run, estimator: BuildEstimator
) -> Rebuilding | None:
    """Return what must be built again to explain these subjects of a run, None if nothing.

    Builds take as long as they took in the run, or as long as is expected if that is longer: a run
    does not keep how long instrumented builds took.
    """
    plan = plan_builds(tuple(experiment.subject(name) for name in names), estimator)
    steps = [
        step
        for step in plan.steps
        if isinstance(step, Compile | PostLink | Train) and not step.cost.done
    ]
    lost = tuple(name for name in names if any(name in step.subjects for step in steps))
    if not lost:
        return None
    took = (
        subject.build_seconds + (subject.training_seconds or 0.0)
        for subject in run.subjects
        if subject.name in lost
    )
    expected = sum(step.cost.seconds for step in steps)
    return Rebuilding(subjects=lost, seconds=max(sum(took), expected))


def explain(
    experiment: Experiment,
    names: tuple[str, str],
    task: Task,
    service: BuildService,
    *,
    rounds: int,
    seconds: float,
    waits: bool = False,
) -> Explained:
    """Run a step on the base and a subject in ``rounds`` rounds; each subject has ``seconds``.

    A batch takes longer if one run in each round does. With ``waits`` the servers are asked what
    their threads wait for. Raises what the builds and the servers raise, ServerError if one does
    not tell waits, and DriverError if too little was sampled.
    """
    check_sampling()
    specs = _specs(experiment, names, service)
    requests = {name: requests_for_waits(spec) if waits else () for name, spec in specs.items()}
    specs = {
        name: dataclasses.replace(spec, settings=(*requests[name], *spec.settings))
        for name, spec in specs.items()
    }
    servers = _servers(experiment, specs, service)
    paused = experiment.workload.server_driver.can_pause(task)
    folder = service.session.workdir("explain")
    with contextlib.ExitStack() as stack:
        stack.callback(remove_tree, folder)
        with service.exclusive():
            stack.enter_context(servers.open(names, _BLOCK))
            sampled = {
                name: stack.enter_context(
                    ExplainedServer(servers, name, task, folder, waits=waits, paused=paused)
                )
                for name in names
            }
            _run_rounds(sampled, task.set, experiment.design.seed, rounds, seconds, service)
        service.detail("reading the stacks")
        base, subject = (
            sampled[name].rounds(specs[name].dbms, specs[name].installation.prefix)
            for name in names
        )
    assert task.run is not None
    return Explained(
        step=task.set,
        work=work_of(task),
        threads=task.run.threads,
        base=base,
        subject=subject,
        kinds=specs[names[0]].dbms.threads,
        named=_named((*base, *subject)),
        settings={it.name: it.value for those in requests.values() for it in those},
    )


def _run_rounds(
    sampled: dict[str, ExplainedServer],
    set: str,
    seed: int,
    rounds: int,
    seconds: float,
    service: BuildService,
) -> None:
    """Let each subject run for its ``seconds``, cut into ``rounds``, in random order."""
    names = tuple(sampled)
    for number in range(rounds):
        service.detail(f"{set}, round {number + 1} of {rounds}")
        for position, name in enumerate(round_order(seed, _BLOCK, set, number, names)):
            sampled[name].slice(number, position, seconds / rounds)
    for subject in sampled.values():
        subject.end()


def _specs(
    experiment: Experiment, names: tuple[str, str], service: BuildService
) -> dict[str, ServerSpec]:
    """Return the subjects' servers, built unless they are kept; nothing else looks at them.

    Their code is in its usual layout, which perf reads.
    """
    subjects = tuple(experiment.subject(name) for name in names)
    builds = service.make_builds(*subjects)
    unobserved = dataclasses.replace(experiment, observe=_UNOBSERVED)
    specs = {one.name: spec_of(unobserved, one, builds[one.name].build) for one in subjects}
    return {name: dataclasses.replace(spec, layouts=()) for name, spec in specs.items()}


def requests_for_waits(spec: ServerSpec) -> tuple[RequestedSetting, ...]:
    """Return the settings without which a server would count no waits; its own go before."""
    source = spec.dbms.waits
    return () if source is None else as_requests(spec.dbms, source.settings, spec.settings)


def _servers(
    experiment: Experiment, specs: dict[str, ServerSpec], service: BuildService
) -> BlockServers:
    return BlockServers(
        pool_of(experiment, service.session, service.detail),
        specs,
        RunObservation(_UNOBSERVED, lambda _: None),
        service.detail,
        seed=experiment.design.seed,
        placement=cpu_placement(experiment),
        fresh_data=experiment.workload.suite.fresh_loads,
    )


_UNOBSERVED = ObserveOptions(enabled=False)


def _named(rounds: Iterable[Round]) -> float:
    named = total = 0
    for one in rounds:
        for stack, count in one.stacks.items():
            if stack[0].origin is CodeOrigin.OWN:
                total += count
                named += count if stack[0].function else 0
    return named / max(1, total)
