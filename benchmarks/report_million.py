"""Times a report on a million measurements. The goal: from the store to the text in 5 seconds.

Usage: ``python benchmarks/report_million.py [--blocks N]``. It makes a store in a temporary
folder, with 10 subjects, 4 sets of 25 steps, and 1000 blocks, which takes about half a minute;
then it times the parts of what ``hone report`` does with it, and the command itself, from
its start to its end. Everything is seeded.

Seconds are told twice: as they passed, and as this process's CPU time, which another busy
process does not change.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from dbhone.command import Command
from dbhone.home import Home
from dbhone.measurement.machine import read_machine
from dbhone.measurement.record import (
    Design,
    Group,
    Invocation,
    Measurement,
    Role,
    Step,
    Subject,
)
from dbhone.measurement.store import NewRun, Store
from dbhone.process import Finished
from dbhone.process import run as run_program

SUBJECTS, SETS, STEPS_OF_A_SET = 10, 4, 25
GOAL = 5.0
START = datetime(2026, 1, 1, tzinfo=UTC)
T = TypeVar("T")


def subject(number: int) -> Subject:
    """Return the subject of that number: the base, its control, and candidates."""
    trained = number > 4
    return Subject(
        name=f"subject-{number}",
        role={0: Role.BASE, 1: Role.CONTROL}.get(number, Role.CANDIDATE),
        dbms="sqlite",
        version="3.46.1",
        source="apt:sqlite3",
        source_digest="5" * 64,
        variant="rel+pgo" if trained else "rel",
        compiler="gcc 12.2.0",
        flags=("-O2",),
        build_digest=f"{number:064x}",
        build_path=f"builds/{number}",
        build_seconds=60.0,
        binary_bytes=1_500_000,
        trained_on=("set-0",) if trained else (),
        training_seconds=20.0 if trained else None,
        profile_coverage=0.6 if trained else None,
        broken=None,
    )


def steps() -> tuple[Step, ...]:
    """Return the steps of all sets; the first set is what the profiles were trained on."""
    return tuple(
        Step(
            set=f"set-{number}",
            key=str(100 + each),
            title=f"step {each} of set {number}",
            group=tuple(Group)[each % 3],
            in_sample=number == 0,
        )
        for number in range(SETS)
        for each in range(STEPS_OF_A_SET)
    )


def invocations(blocks: int) -> Iterator[Invocation]:
    """Yield what the driver would have made: 2% of noise, and a per cent more by each subject."""
    rng = random.Random(1)
    by_set = [[step for step in steps() if step.set == f"set-{each}"] for each in range(SETS)]
    for block in range(blocks):
        for of_set in by_set:
            for number in range(SUBJECTS):
                gain = 0.0 if number < 2 else 0.01 * number
                rates = [20 * math.exp(rng.gauss(gain, 0.02)) for _ in of_set]
                yield invocation(block, of_set, number, rates)


def invocation(block: int, of_set: list[Step], number: int, rates: list[float]) -> Invocation:
    """Return one start of the driver, in which the steps went at these rates."""
    lines = [
        f"{step.key} - {step.title} {1 / rate:.3f}s"
        for step, rate in zip(of_set, rates, strict=True)
    ]
    return Invocation(
        block=block,
        set=of_set[0].set,
        subject=f"subject-{number}",
        position=number,
        started_at=START + timedelta(seconds=block),
        seconds=sum(1 / rate for rate in rates),
        command=("speedtest1", "--testset", of_set[0].set),
        raw_output="\n".join(lines).encode(),
        failure=None,
        conditions={"steal": 0.001, "others_cores": 0.02, "load": 1.0},
        measurements=tuple(
            Measurement(
                step=step.name,
                throughput=rate,
                cpu_seconds=0.99 / rate,
                instructions=1e9,
                peak_memory_bytes=3e7,
            )
            for step, rate in zip(of_set, rates, strict=True)
        ),
    )


def make(store: Store, blocks: int) -> int:
    """Fill a store by its bulk path, all in one transaction; return the run's number."""
    run = store.create_run(
        NewRun(
            title="A million measurements",
            experiment="",
            experiment_name="benchmark",
            session="benchmark",
            suite="synthetic",
            size="full",
            design=Design(seed=1, target=0.02, budget_seconds=1e6, min_blocks=5, max_blocks=blocks),
            machine=read_machine(),
            hone_version="0",
        )
    )
    for number in range(SUBJECTS):
        store.set_subject(run.id, number, subject(number))
    store.set_steps(run.id, steps())
    store.record_all(run.id, invocations(blocks))
    return run.id


def timed(what: str, work: Callable[[], T]) -> T:
    """Do the work, print how long it took, and return what it returned."""
    began, cpu = time.perf_counter(), time.process_time()
    result = work()
    seconds, used = time.perf_counter() - began, time.process_time() - cpu
    print(f"{what:<40} {seconds:7.2f} s  (CPU {used:.2f} s)", flush=True)
    return result


def parts(path: Path, run_id: int) -> None:
    """Do what ``hone report`` does, part by part."""
    from dbhone.report.formats.base import render  # noqa: PLC0415
    from dbhone.report.page import build_page  # noqa: PLC0415 - loaded when it is timed

    with Store.open(path) as store:
        run = timed("read the run", lambda: store.run(run_id))
        samples = timed("load its measurements", lambda: store.samples(run_id))
    page = timed("compute effects, build the page", lambda: build_page(run, samples))
    timed("render the text", lambda: render(page, "text"))


def command(home: Path, log: Path) -> Finished:
    """Run ``hone report last`` to its end."""
    argv = (sys.executable, "-m", "dbhone", "--home", str(home), "report", "last")
    finished = run_program(Command(argv=argv, cwd=home, log=log), capture=True)
    if not finished.ok:
        raise SystemExit(f"hone report {finished.ending()}:\n{log.read_text()}")
    return finished


def main() -> None:
    """Make the store, report on it, and compare with the goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=1000)
    blocks = parser.parse_args().blocks
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        with Store.open(home.database) as store:
            run_id = timed("make the store (not counted)", lambda: make(store, blocks))
        parts(home.database, run_id)
        whole = command(home.root, home.root / "benchmark.log")
    count = blocks * SUBJECTS * SETS * STEPS_OF_A_SET
    print(
        f"hone report on {count:,} measurements: {whole.seconds:.2f} s"
        f" (CPU {whole.cpu_seconds:.2f} s); the goal is {GOAL:.0f} s"
    )


if __name__ == "__main__":
    main()
