"""One of two servers that are explained: its stacks are sampled while its clients work.

With ``waits`` it is asked, too, what its threads wait for. The process that answers, where it is
one, is neither sampled nor in the CPU time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from dbhone.analysis.explained_rounds import Call, CodeOrigin, Round, Stack, Waits, Work
from dbhone.analysis.stacks import CALLERS, OTHER, module_of, plain_name
from dbhone.dbms.base_counters import BACKGROUND
from dbhone.dbms.base_server import ServerDbms
from dbhone.errors import DriverError
from dbhone.experiment.execution.explained_clients import (
    FreshClients,
    PausedClients,
    work_of,
)
from dbhone.experiment.target.block_servers import BlockServers
from dbhone.experiment.target.slice_client import SliceClient
from dbhone.instance.wait_reader import WaitReader
from dbhone.measurement.stack_sampling import StackSample, StackSampler
from dbhone.process import can_enclose
from dbhone.workload.task import Task

_FEWEST_SAMPLES = 20
_SYSTEM_CALL = "__x64_sys_", "__arm64_sys_", "__se_sys_"
_FAULTS = ("exc_page_fault", "asm_exc_page_fault", "do_page_fault", "el0_da")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Totals:
    """At a moment, in monotonic time: events finished, and seconds of CPU used, so far."""

    at: float
    finished: int
    cpu: float
    client: float


class ExplainedServer:
    """A subject whose server is sampled while its clients work. With ``waits`` it is asked, too.

    ``paused`` says that its clients stay connected and are paused between their slices.
    """

    def __init__(
        self,
        servers: BlockServers,
        name: str,
        task: Task,
        folder: Path,
        *,
        waits: bool,
        paused: bool,
    ) -> None:
        self._name = name
        self._asked = waits
        self._waits: WaitReader | None = None
        self._stack = contextlib.ExitStack()
        self._folder = folder / name
        self._folder.mkdir()
        self._running = servers.running(name)
        self._rounds: list[tuple[float, float, Round]] = []
        """When each began and ended, in monotonic time, and the round, still without its stacks."""
        self._work = work_of(task)
        self._clients: PausedClients | FreshClients = (
            self._paused(servers, task) if paused else FreshClients(servers, name, task)
        )

    def _paused(self, servers: BlockServers, task: Task) -> PausedClients:
        client = self._stack.enter_context(servers.client(self._name, task, self._folder))
        return PausedClients(
            SliceClient(name=self._name, client=client, running=self._running, task=task)
        )

    def __enter__(self) -> ExplainedServer:
        with contextlib.ExitStack() as stack:
            stack.push(self._stack)
            self._clients.connect()
            if self._asked:
                reader = WaitReader(self._name, self._running.server)
                self._waits = self._stack.enter_context(contextlib.closing(reader))
            self._sampler = self._stack.enter_context(StackSampler(self._pids(), self._folder))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _pids(self) -> list[int]:
        """Return the server's processes without that which answers the questions for waits."""
        root = psutil.Process(self._running.server.pid)
        pids = [root.pid, *(child.pid for child in root.children(recursive=True))]
        return [pid for pid in pids if self._waits is None or pid != self._waits.pid]

    def slice(self, number: int, position: int, seconds: float) -> None:
        """Let its clients work for a slice of a round."""
        watching = self._waits.watching() if self._waits else contextlib.nullcontext()
        with watching as waits:
            before = self._totals()
            self._clients.work(number, position, seconds)
            after = self._totals()
        sliced = Round(
            operations=max(1, after.finished - before.finished),
            seconds=after.at - before.at,
            cpu=after.cpu - before.cpu,
            client=after.client - before.client,
            stacks={},
            waits=None if waits is None else split(waits),
        )
        self._rounds.append((before.at, after.at, sliced))

    def _totals(self) -> _Totals:
        usage = self._running.usage()
        asking = self._waits.cpu_seconds if self._waits else 0.0
        return _Totals(
            at=time.monotonic(),
            finished=self._clients.finished,
            cpu=(usage.cpu_seconds if usage else 0.0) - asking,
            client=self._clients.cpu_seconds,
        )

    def end(self) -> None:
        """End the sampling and the clients. Raises what failed."""
        self._sampler.stop()
        self._clients.end()

    def rounds(self, dbms: ServerDbms, prefix: Path) -> tuple[Round, ...]:
        """Return what was sampled in each round."""
        counts = [Counter[Stack]() for _ in self._rounds]
        tenant = self._running.server.place.tenant if can_enclose() else None
        for sample in self._sampler.samples((prefix,), tenant):
            for (began, ended, _), count in zip(self._rounds, counts, strict=True):
                if began <= sample.at < ended:
                    count[calls_of(sample, dbms, prefix)] += 1
        check_samples((sum(count.values()) for count in counts), self._work)
        return tuple(
            dataclasses.replace(sliced, stacks=count)
            for (*_, sliced), count in zip(self._rounds, counts, strict=True)
        )


def check_samples(counts: Iterable[int], work: Work) -> None:
    """Raise DriverError if too little was sampled in a round to say anything of it."""
    if min(counts) < _FEWEST_SAMPLES:
        batch = work is Work.RUN
        raise DriverError(
            f"fewer than {_FEWEST_SAMPLES} samples were taken in a round:"
            + (" the batch is too short" if batch else " the server is almost idle"),
            hint="sample for longer: --seconds" + (", or run it on more rows" if batch else ""),
        )


def split(waits: Mapping[str, float]) -> Waits:
    """Return the waits by whose they are, without that in the names of events."""
    sessions, background = dict[str, float](), dict[str, float]()
    for name, seconds in waits.items():
        whose = background if name.startswith(BACKGROUND) else sessions
        whose[name.removeprefix(BACKGROUND)] = seconds
    return Waits(sessions=sessions, background=background)


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
