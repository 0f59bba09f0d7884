"""What hone itself costs while it measures. Goal: below 10 % of one core.

Usage: ``.venv/bin/python benchmarks/own_cpu.py [EXPERIMENT] [--home FOLDER]``

Executes an experiment (``try`` unless another is named; its builds are made first, if the
home does not hold them) and compares, from the first block to the last, the CPU time of hone's
own process with the wall time; the analysis between blocks is included. The start of the
supervisor, which happens before each run of the driver, is told apart.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from dbhone import process
from dbhone.command import Command
from dbhone.experiment.declaration.load import load_named
from dbhone.experiment.execution.execute import Execution
from dbhone.experiment.execution.run_lifecycle import begin
from dbhone.experiment.plan.events import BlockEnded, Event, InvocationStarted
from dbhone.home import locate
from dbhone.measurement.store import Store
from dbhone.session import open_session

_STARTS = 50


@dataclass
class Meter:
    """Keeps hone's own CPU time and the wall time at the beginning and at the end of blocks."""

    first: tuple[float, float] | None = None
    last: tuple[float, float] = (0.0, 0.0)
    blocks: int = 0
    invocations: int = 0

    def listen(self, event: Event) -> None:
        """Take the time at blocks."""
        if isinstance(event, InvocationStarted):
            self.invocations += 1
            if self.first is None:
                self.first = (time.process_time(), time.monotonic())
        if isinstance(event, BlockEnded):
            self.blocks += 1
            self.last = (time.process_time(), time.monotonic())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiment", nargs="?", default="try")
    parser.add_argument("--home", type=Path)
    options = parser.parse_args()
    meter = Meter()
    home = locate(options.home)
    with open_session(home) as session, Store.open(home.database) as store:
        experiment = load_named(options.experiment)
        run = begin(experiment, session, store)
        Execution(experiment, run, session, store, meter.listen).execute()
    report(meter)


def report(meter: Meter) -> None:
    """Print the shares."""
    assert meter.first is not None
    cpu, wall = (after - before for after, before in zip(meter.last, meter.first, strict=True))
    print(f"blocks {meter.blocks}, invocations {meter.invocations}, measured for {wall:.1f} s")
    print(f"own CPU time: {cpu / wall:.2%} of one core")
    print(
        f"start of a supervisor: {1000 * supervisor_start():.1f} ms of CPU before each driver run"
    )


def supervisor_start() -> float:
    """Return the CPU seconds that one start of a program costs beside the program's own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = 0.0
    for _ in range(_STARTS):
        own += process.run(Command(argv=(sys.executable, "-c", ""), cwd=Path("/"))).cpu_seconds
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (used - own) / _STARTS


if __name__ == "__main__":
    main()
