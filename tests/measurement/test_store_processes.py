"""The store under several processes, and under one that is killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import dbhone
from dbhone.measurement.store import Store
from tests.analysis.columns import columns
from tests.measurement.store_records import STEPS, begin, invocation, printed

_WRITER = Path(__file__).with_name("store_writer.py")
_MANY = 100_000


@contextmanager
def writer(path: Path, run: str, first: int, count: int) -> Iterator[subprocess.Popen[str]]:
    argv = (sys.executable, str(_WRITER), str(path), run, str(first), str(count))
    places = (Path(dbhone.__file__).parents[1], _WRITER.parents[2])  # the package, and tests
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places))}
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        with process:
            yield process
    finally:
        process.kill()


def line(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


def rest(process: subprocess.Popen[str]) -> list[int]:
    assert process.stdout is not None
    return [int(each) for each in process.stdout]


@pytest.mark.parametrize("seed", range(2))
def test_a_killed_writer_loses_nothing_that_was_recorded_and_leaves_no_half(
    tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    path = tmp_path / "store.db"
    told: list[int] = []
    with Store.open(path) as store:
        run_id = begin(store)
    for _ in range(3):
        first = len(told) and told[-1] + 2  # the one after the last told may be there
        with writer(path, str(run_id), first, _MANY) as process:
            assert line(process) == run_id
            told += [line(process) for _ in range(rng.randrange(1, 25))]
            process.send_signal(signal.SIGKILL)
            told += rest(process)

        with Store.open(path) as store:
            kept = [each.block for each in store.done(run_id)]
            blocks = columns(store.samples(run_id)).block.tolist()
        outputs = [printed(path, run_id, block, "rel") for block in kept]
        assert set(told) <= set(kept)
        assert len(kept) <= len(told) + 3
        assert sorted(blocks) == sorted(kept * len(STEPS))
        assert outputs == [invocation(block, "rel").raw_output for block in kept]


def test_two_processes_record_and_read_at_the_same_time(tmp_path: Path) -> None:
    path, count = tmp_path / "store.db", 60
    with Store.open(path) as store, writer(path, "new", 0, count) as process:
        theirs = line(process)
        ours = begin(store)
        for block in range(count):
            store.record(ours, invocation(block, "pgo"))
            line(process)
            blocks = columns(store.samples(theirs)).block.tolist()
            assert len(blocks) % len(STEPS) == 0  # never half of an invocation
            assert len(blocks) >= (block + 1) * len(STEPS)
        assert process.wait() == 0

        for run_id in (ours, theirs):
            assert [each.block for each in store.done(run_id)] == list(range(count))


def test_processes_that_open_a_new_store_at_once_all_succeed(tmp_path: Path) -> None:
    from contextlib import ExitStack

    path = tmp_path / "store.db"
    with ExitStack() as stack:
        started = [stack.enter_context(writer(path, "new", 0, 1)) for _ in range(4)]
        runs = [line(process) for process in started]
        assert [rest(process) for process in started] == [[0]] * 4
        assert [process.wait() for process in started] == [0] * 4

    assert sorted(runs) == [1, 2, 3, 4]
    with Store.open(path) as store:
        assert [len(store.done(run_id)) for run_id in runs] == [1] * 4
