"""Runs one step on two servers to see where its time goes: nothing of it is a measurement.

Both servers are up with their clients connected, and work in alternation. Sampling costs them time,
so that no figure of it may count towards a verdict: none is stored.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from dbhone.analysis.stacks import (
    CALLERS,
    OTHER,
    Call,
    CodeOrigin,
    Round,
    Stack,
    module_of,
    plain_name,
)
from dbhone.analysis.verdict import Analysis, Effect
from dbhone.dbms.base_server import ServerDbms
from dbhone.errors import DriverError, UnknownName, UsageError
from dbhone.experiment.block_servers import BlockServers
from dbhone.experiment.builds import BuildService
from dbhone.experiment.estimates import BuildEstimator
from dbhone.experiment.events import Detail
from dbhone.experiment.interleaved import why_not_interleaved
from dbhone.experiment.model import Experiment
from dbhone.experiment.observe import ObserveOptions, RunObservation
from dbhone.experiment.order import round_order
from dbhone.experiment.planning import plan_builds
from dbhone.experiment.server_pool import ServerPool, ServerSpec
from dbhone.experiment.server_target import server_workload, spec_of
from dbhone.experiment.slice_client import SliceClient
from dbhone.experiment.standalone_server import find_subject
from dbhone.measurement.stack_sampling import StackSample, StackSampler, check_sampling
from dbhone.process import can_enclose
from dbhone.untrusted_files import remove_tree
from dbhone.workload.task import Task

_BLOCK = 1
_FEWEST_SAMPLES = 20
_SYSTEM_CALL = "__x64_sys_", "__arm64_sys_", "__se_sys_"
_FAULTS = ("exc_page_fault", "asm_exc_page_fault", "do_page_fault", "el0_da")


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """The rounds of two subjects on one step with ``threads`` clients.

    ``kinds`` are the kinds of threads of the base's DBMS, as it names them.
    """

    step: str
    threads: int
    base: tuple[Round, ...]
    subject: tuple[Round, ...]
    kinds: tuple[tuple[str, str], ...]
    named: float
    """The share of samples in the servers' own code whose function has a name."""


def most_different(
    analysis: Analysis,
    controls: Collection[str],
    *,
    subject: str | None = None,
    step: str | None = None,
) -> Effect | None:
    """Return the effect on throughput that is the largest; None if there is none.

    Parts of a set are executed with it and cannot be explained by themselves, and a control's
    effects are noise.
    """
    effects = (
        effect
        for effect in analysis.throughput_effects
        if effect.subject not in controls
        and subject in (None, effect.subject)
        and (step is None or step in (effect.step, effect.step.partition("_")[0]))
    )
    return max(effects, key=lambda effect: abs(math.log(effect.ratio)), default=None)


def find_task(experiment: Experiment, word: str) -> Task:
    """Return the task of a step by its name or short name; raise UnknownName, or UsageError."""
    workload = server_workload(experiment)
    tasks = workload.tasks(experiment.sets or workload.suite.measured())
    for task in tasks:
        set_name, _, threads = word.partition("@")
        full = workload.suite.full_name(set_name)
        if task.set in (word, full, f"{full}@{threads}"):
            why = why_not_interleaved(workload.driver, task, one_by_one=experiment.one_by_one)
            if why is not None:
                raise UsageError(f"{task.set} cannot be explained: {why}")
            return task
    raise UnknownName("step", word, (task.set for task in tasks))


def explain(
    experiment: Experiment,
    names: tuple[str, str],
    task: Task,
    service: BuildService,
    *,
    rounds: int,
    seconds: float,
) -> Explained:
    """Run a step on the base and a subject in ``rounds`` rounds; each subject has ``seconds``.

    Raises what the builds and the servers raise, and DriverError if too little was sampled.
    """
    check_sampling()
    specs = _specs(experiment, names, service)
    servers = _servers(experiment, specs, service)
    folder = service.session.workdir("explain")
    with contextlib.ExitStack() as stack:
        stack.callback(remove_tree, folder)

        def work() -> dict[str, _Sampled]:
            stack.enter_context(servers.open(names, _BLOCK))
            sampled = {
                name: stack.enter_context(_Sampled(servers, name, task, folder)) for name in names
            }
            for number in range(rounds):
                service.listen(Detail(text=f"{task.set}, round {number + 1} of {rounds}"))
                order = round_order(experiment.design.seed, _BLOCK, task.set, number, names)
                for position, name in enumerate(order):
                    sampled[name].slice(number, position, seconds / rounds)
            for subject in sampled.values():
                subject.end()
            return sampled

        sampled = service.exclusively(work)
        service.listen(Detail(text="reading the stacks"))
        base, subject = (
            sampled[name].rounds(specs[name].dbms, specs[name].installation.prefix)
            for name in names
        )
    assert task.run is not None
    return Explained(
        step=task.set,
        threads=task.run.threads,
        base=base,
        subject=subject,
        kinds=specs[names[0]].dbms.threads,
        named=_named((*base, *subject)),
    )


def _specs(
    experiment: Experiment, names: tuple[str, str], service: BuildService
) -> dict[str, ServerSpec]:
    """Return the subjects' servers, built unless they are kept; nothing else looks at them."""
    subjects = tuple(find_subject(experiment, name) for name in names)
    plan = plan_builds(subjects, BuildEstimator(service.session.home))
    service.perform_all(plan.steps)
    unobserved = dataclasses.replace(experiment, observe=_UNOBSERVED)
    return {
        subject.name: spec_of(unobserved, subject, service.build(plan.builds[subject.name]).build)
        for subject in subjects
    }


def _servers(
    experiment: Experiment, specs: dict[str, ServerSpec], service: BuildService
) -> BlockServers:
    def tell(text: str) -> None:
        service.listen(Detail(text=text))

    workload = dataclasses.replace(server_workload(experiment), servers=len(specs))
    return BlockServers(
        ServerPool(service.session, workload, tell),
        specs,
        RunObservation(_UNOBSERVED, lambda _: None),
        tell,
        seed=experiment.design.seed,
        fresh_data=workload.suite.fresh_loads,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Totals:
    """At a moment, in monotonic time: events finished, and seconds of CPU used, so far."""

    at: float
    finished: int
    cpu: float
    client: float


class _Sampled:
    """A subject whose server is sampled while its clients work."""

    def __init__(self, servers: BlockServers, name: str, task: Task, folder: Path) -> None:
        self._stack = contextlib.ExitStack()
        self._folder = folder / name
        self._folder.mkdir()
        self._running = servers.running(name)
        self._spans: list[tuple[_Totals, _Totals]] = []
        client = servers.client(name, task, self._folder)
        self._client = SliceClient(
            name=name,
            client=self._stack.enter_context(client),
            running=self._running,
            task=task,
        )

    def __enter__(self) -> _Sampled:
        with contextlib.ExitStack() as stack:
            stack.push(self._stack)
            self._client.connect()
            self._check()
            root = psutil.Process(self._running.server.pid)
            pids = [root.pid, *(child.pid for child in root.children(recursive=True))]
            self._sampler = self._stack.enter_context(StackSampler(pids, self._folder))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def slice(self, number: int, position: int, seconds: float) -> None:
        before = self._totals()
        self._client.slice(number, position, seconds, 0.0)
        self._check()
        self._spans.append((before, self._totals()))

    def _totals(self) -> _Totals:
        usage = self._running.usage()
        client = self._client.client
        return _Totals(
            at=time.monotonic(),
            finished=client.finished_events(),
            cpu=usage.cpu_seconds if usage else 0.0,
            client=client.cpu_seconds,
        )

    def end(self) -> None:
        self._sampler.stop()
        self._client.end()
        self._check()

    def _check(self) -> None:
        if self._client.error is not None:
            raise self._client.error

    def rounds(self, dbms: ServerDbms, prefix: Path) -> tuple[Round, ...]:
        """Return what was sampled in each round."""
        counts = [Counter[Stack]() for _ in self._spans]
        tenant = self._running.server.place.tenant if can_enclose() else None
        for sample in self._sampler.samples((prefix,), tenant):
            for (before, after), count in zip(self._spans, counts, strict=True):
                if before.at <= sample.at < after.at:
                    count[calls_of(sample, dbms, prefix)] += 1
        if min(sum(count.values()) for count in counts) < _FEWEST_SAMPLES:
            raise DriverError(
                f"fewer than {_FEWEST_SAMPLES} samples were taken in a round:"
                " the server is almost idle",
                hint="sample for longer: --seconds",
            )
        return tuple(
            Round(
                operations=max(1, after.finished - before.finished),
                seconds=after.at - before.at,
                cpu=after.cpu - before.cpu,
                client=after.client - before.client,
                stacks=count,
            )
            for (before, after), count in zip(self._spans, counts, strict=True)
        )


def calls_of(sample: StackSample, dbms: ServerDbms, prefix: Path) -> Stack:
    """Return a sample's calls. The kernel's frames become one, named by the system call."""
    kernel = [frame.function for frame in sample.frames if _is_kernel(frame.file)]
    calls = [_kernel_call(kernel)] if kernel else []
    for frame in sample.frames:
        if _is_kernel(frame.file):
            continue
        file = Path(frame.file)
        name = plain_name(frame.function)
        if file.name in dbms.programs or (
            prefix != Path("/usr") and file.is_relative_to(prefix) and ".so" not in file.name
        ):
            calls.append(Call(CodeOrigin.OWN, module_of(name, dbms.modules), name))
        else:
            calls.append(Call(CodeOrigin.LIBRARY, file.name.partition(".so")[0], name))
    return _with_callers_modules(calls)


def _with_callers_modules(calls: Sequence[Call]) -> Stack:
    """Return the calls; functions that wait for their callers are of these callers' modules."""
    whole: list[Call] = []
    for call in reversed(calls):
        module = call.module
        if module == CALLERS:
            named = (caller for caller in reversed(whole) if caller.function)
            module = next((caller.module for caller in named), OTHER)
        whole.append(dataclasses.replace(call, module=module))
    return tuple(reversed(whole))


def _is_kernel(file: str) -> bool:
    return file.startswith("[") and file not in ("[vdso]", "[unknown]")


def _kernel_call(functions: Sequence[str]) -> Call:
    called = functions[-1] or "(no name)"
    for function in functions:
        for prefix in _SYSTEM_CALL:
            if function.startswith(prefix):
                called = function.removeprefix(prefix)
        if function in _FAULTS:
            called = "page faults"
    return Call(CodeOrigin.KERNEL, f"kernel: {called}", called)
