"""Which slices tell two identical servers' difference, which is none, the most surely.

Usage: ``.venv/bin/python benchmarks/slices.py {mariadb,postgresql} [--minutes N] [--step STEP]…
[--slice SECONDS]… [--settling] [--apart]``

Starts two servers of this machine's own packages on copies of the same data and measures each
step in trials of equal length, in slices of several lengths in random order, by clients that stay
connected and are paused but for one's. The rounds give ratios whose truth is 1. It prints the
spread of their logarithms, and what mean, median and dbhone's levels make of them.

With ``--apart`` clients have one core, and servers the others.

With ``--settling`` it prints instead how fast a server is in each hundredth of a second after its
client has resumed.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import random
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dbhone.analysis.estimate import estimate
from dbhone.analysis.rounds import levels
from dbhone.dbms.base_server import Installation, ServerDbms, load_server_dbms
from dbhone.experiment.declaration.observe import ObserveOptions
from dbhone.experiment.target.block_servers import BlockServers
from dbhone.experiment.target.cpu_placement import CpuPlacement, placement_for, usable_alike
from dbhone.experiment.target.observer import RunObservation
from dbhone.experiment.target.server_pool import ServerPool, ServerSpec
from dbhone.experiment.target.slice_client import SliceClient
from dbhone.home import Home
from dbhone.host_lock import hold_host_lock
from dbhone.measurement.sample_array import Array, Logs
from dbhone.session import Session, open_session
from dbhone.workload import suite as suites
from dbhone.workload.task import Scale, Task
from dbhone.workload.workload import Workload

NAMES = ("a", "b")
STEPS = ("point-query", "update-index")
SLICES = (0.5, 0.1, 0.05, 0.02)
TRIAL_SECONDS = 10.0
_CHANCE = random.Random(1)
_MOMENT = 0.01


@dataclass
class Bench:
    """Two servers that are up, and what was found of each step and slice: trials of rounds."""

    servers: BlockServers
    session: Session
    tasks: tuple[Task, ...]
    found: dict[tuple[str, float], list[list[tuple[float, float]]]] = field(default_factory=dict)

    def measure(self, seconds: float, slices: Sequence[float]) -> None:
        """Measure trials for so long, each step in slices of each length equally often."""
        both = [(task, slice) for task in self.tasks for slice in slices]
        for _ in range(max(1, round(seconds / TRIAL_SECONDS / len(both)))):
            for task, slice in _CHANCE.sample(both, len(both)):
                with hold_host_lock(self.session.home, lambda _: None):
                    rounds = self._trial(task, slice)
                self.found.setdefault((task.set, slice), []).append(rounds)
                print(".", end="", flush=True)
        print()

    def _trial(self, task: Task, slice: float) -> list[tuple[float, float]]:
        with self.connected(task) as sessions:
            began = time.monotonic()
            number = 0
            while time.monotonic() < began + TRIAL_SECONDS:
                for each in _CHANCE.sample(sessions, len(sessions)):
                    each.slice(number, 0, slice, began)
                number += 1
            for each in sessions:
                if each.error is not None:
                    raise each.error
        first, second = ([one.log_rate for one in each.readings] for each in sessions)
        return list(zip(first, second, strict=True))

    @contextlib.contextmanager
    def connected(self, task: Task) -> Iterator[list[SliceClient]]:
        """Yield both subjects with connected and paused clients."""
        folder = self.session.workdir("slices")
        sessions = []
        with contextlib.ExitStack() as stack:
            for name in NAMES:
                own = folder / name
                own.mkdir()
                client = stack.enter_context(self.servers.client(name, task, own))
                running = self.servers.running(name)
                sessions.append(SliceClient(name=name, client=client, running=running, task=task))
            for each in sessions:
                each.connect()
            yield sessions
            for each in sessions:
                each.end()

    def settling(self, task: Task, slices: int) -> list[float]:
        """Return a server's speed in each moment after its client resumes.

        It is relative to that from 0.25 s on.
        """
        moments = np.zeros((2, 50))
        with hold_host_lock(self.session.home, lambda _: None), self.connected(task) as sessions:
            for _ in range(slices):
                for each in sessions:
                    with each.client.running():
                        moments += _moments(each, moments.shape[1])
        events, seconds = moments
        return list(events / seconds / (events[25:].sum() / seconds[25:].sum()))


def _moments(one: SliceClient, count: int) -> Array:
    """Return the events of each moment, and its seconds."""
    began = time.monotonic()
    read = [(began, one.client.finished_events())]
    for number in range(1, count + 1):
        one.client.pass_time(max(0.0, began + number * _MOMENT - time.monotonic()))
        read.append((time.monotonic(), one.client.finished_events()))
    at, finished = np.array(read).T
    return np.array([np.diff(finished), np.diff(at)])


def report(found: dict[tuple[str, float], list[list[tuple[float, float]]]]) -> None:
    """Print a line for each step and length of slices."""
    print(f"{'step':22} slice  trials rounds  sd    95 % in  mean           median  levels")
    for (step, slice), trials in found.items():
        logs = np.array([one[1] - one[0] for each in trials for one in each])
        fitted = [levels(np.array(each)) for each in trials]
        fits = np.array([one[1] - one[0] for one in fitted])
        mean, half = _interval(logs)
        fit, fit_half = _interval(fits)
        wide = np.quantile(np.abs(logs - np.median(logs)), 0.95)
        print(
            f"{step:22} {slice:<4g} s {len(trials):6} {len(logs):6}"
            f"  {logs.std(ddof=1):.3f} {wide:.3f}"
            f"  {mean:.3f} ±{half:.3f}   {math.exp(np.median(logs)):.3f}"
            f"   {fit:.3f} ±{fit_half:.3f}  sd {fits.std(ddof=1) if len(fits) > 1 else 0:.4f}"
        )


def _interval(logs: Array) -> tuple[float, float]:
    """Return the ratio and half its 95 % interval, by dbhone's estimate."""
    found = estimate(Logs.without_rounds(logs[None, :]))
    return math.exp(float(found.centre[0])), float(found.high[0] - found.centre[0])


def installed(dbms: ServerDbms) -> Installation:
    """Return the server of this machine's packages."""
    prefixes = (*sorted(Path("/usr/lib/postgresql").glob("*"), reverse=True), Path("/usr"))
    for prefix in prefixes:
        found = dbms.installation(prefix)
        if found is not None:
            return found
    raise SystemExit(f"no server of {dbms.title} is installed")


@contextlib.contextmanager
def bench(name: str, steps: tuple[str, ...], placement: CpuPlacement) -> Iterator[Bench]:
    """Yield two servers that are up, on copies of the same data."""
    dbms = load_server_dbms(name)
    spec = ServerSpec(dbms=dbms, installation=installed(dbms), settings=(), env={})
    workload = Workload(name="sysbench:micro", scale=Scale(size="quick"))
    root = Path(tempfile.mkdtemp(prefix="hone-slices-"))
    root.chmod(0o711)
    try:
        with open_session(Home(root / "h")) as session:
            servers = ServerPool(session, workload, print, servers=2)
            observation = RunObservation(ObserveOptions(enabled=False), lambda *_: None)
            up = BlockServers(
                servers,
                dict.fromkeys(NAMES, spec),
                observation,
                print,
                seed=1,
                placement=placement,
            )
            tasks = workload.tasks(suites.full_names(workload.suite, steps))
            with contextlib.ExitStack() as stack:
                with hold_host_lock(session.home, lambda _: print("waiting for another hone")):
                    stack.enter_context(up.open(NAMES, 0))
                yield Bench(up, session, tasks)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dbms", choices=("mariadb", "postgresql"))
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--step", action="append")
    parser.add_argument("--slice", action="append", type=float, help="seconds; may be repeated")
    parser.add_argument("--settling", action="store_true")
    parser.add_argument("--apart", action="store_true")
    options = parser.parse_args()
    placement = placement_for(1, usable_alike()) if options.apart else CpuPlacement()
    with bench(options.dbms, tuple(options.step or STEPS), placement) as made:
        if not options.settling:
            made.measure(options.minutes * 60, options.slice or SLICES)
            report(made.found)
            return
        for task in made.tasks:
            rates = made.settling(task, round(options.minutes * 60 / 1.0))
            print(task.set, " ".join(f"{each:.2f}" for each in rates))


if __name__ == "__main__":
    main()
