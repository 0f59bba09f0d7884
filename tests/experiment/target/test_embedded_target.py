"""What the first look at an embedded DBMS's steps tells, and in which turns drivers run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from dbhone.cpus import fastest_cpus
from dbhone.experiment.declaration.model import Experiment, Slices
from dbhone.experiment.execution.recorder import RunRecorder
from dbhone.experiment.target import embedded_target
from dbhone.experiment.target.embedded_target import EmbeddedTarget, _alternate
from dbhone.experiment.target.order import BlockSeed
from dbhone.experiment.target.trial import Trial
from dbhone.measurement.record import Warning
from dbhone.workload.drive import DriverResult, PausableRun
from dbhone.workload.drivers.base import EmbeddedDriver, load_driver
from dbhone.workload.task import Task
from tests.files import put

ROOM = 4 * 2**30
"""The memory of the machine on which drivers run."""


class Notes:
    """Keeps warnings."""

    def __init__(self) -> None:
        self.kept: list[Warning] = []

    def warn(self, *warnings: Warning) -> None:
        self.kept += warnings


@pytest.mark.parametrize(
    ("took", "said"),
    [
        (
            {"main/100": 0.5, "main/110": 0.004, "cte/100": 0.0021},
            "2 of 3 steps take less than 5 ms (cte/100, main/110; the shortest takes 2.1 ms)",
        ),
        ({"main/100": 0.5}, None),
    ],
)
def test_steps_that_a_clock_can_hardly_tell_are_named(
    took: dict[str, float], said: str | None
) -> None:
    target, notes = EmbeddedTarget.__new__(EmbeddedTarget), Notes()
    target.recorder = cast("RunRecorder", notes)
    target._warn_of_short_steps(took)
    if said is None:
        assert notes.kept == []
    else:
        (warning,) = notes.kept
        assert warning.code == "short-steps"
        assert warning.text.startswith(said)


@pytest.mark.parametrize(
    ("slices", "interleaved", "codes"),
    [
        (Slices.AUTO, {"main"}, ["interleaved-steps", "one-by-one"]),
        (Slices.SHORT, {"main", "cte"}, ["interleaved-steps"]),
        (Slices.FRESH, set(), []),
    ],
)
def test_drivers_take_turns_where_all_of_them_fit_into_half_of_the_memory(
    monkeypatch: pytest.MonkeyPatch, slices: Slices, interleaved: set[str], codes: list[str]
) -> None:
    monkeypatch.setattr("dbhone.experiment.target.embedded_target.usable_memory", lambda: ROOM)
    target, notes = EmbeddedTarget.__new__(EmbeddedTarget), Notes()
    target.recorder = cast("RunRecorder", notes)
    declared = SimpleNamespace(slices=slices, subjects=("rel", "control"))
    target.experiment = cast("Experiment", declared)
    target.driver = cast("EmbeddedDriver", load_driver("speedtest1"))
    target.builds = dict.fromkeys(("rel",))  # type: ignore[assignment]
    tasks = {name: Task(set=name, size=5) for name in ("main", "cte")}
    target._choose_slices(tasks, {"main": ROOM / 4, "cte": ROOM / 4 + 1})
    assert target._interleaved_sets == interleaved, "though one of the two takes no part any more"
    assert [warning.code for warning in notes.kept] == codes
    notes.kept.clear()
    target.continue_from((), frozenset({"main"}))
    target._choose_slices(tasks, {"main": ROOM / 4, "cte": ROOM / 4 + 1})
    assert target._interleaved_sets == interleaved - {"main"}
    assert ("interleaved-steps" in {each.code for each in notes.kept}) == (interleaved > {"main"})


def test_a_driver_with_one_thread_has_the_blocks_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = {2, 3}
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: allowed)
    target = EmbeddedTarget.__new__(EmbeddedTarget)
    target.driver = cast("EmbeddedDriver", load_driver("speedtest1"))
    chosen = []
    for block in range(20):
        target._block_seed = BlockSeed.of_block(1, block, fresh_data=False)
        chosen.append(target._cpus())
        assert target._cpus() == chosen[-1], "all subjects of a block have the same"
    assert set(chosen) == {frozenset({cpu}) for cpu in allowed}
    target.driver = cast("EmbeddedDriver", load_driver("db-bench"))
    assert target._cpus() is None, "RocksDB has threads of its own"


def test_a_driver_with_one_thread_never_has_an_efficiency_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "sys/devices/cpu_core/cpus", "0-3\n")
    put(tmp_path / "sys/devices/cpu_atom/cpus", "4-7\n")
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(8)))
    monkeypatch.setattr(embedded_target, "fastest_cpus", partial(fastest_cpus, tmp_path))
    target = EmbeddedTarget.__new__(EmbeddedTarget)
    target.driver = cast("EmbeddedDriver", load_driver("speedtest1"))
    drawn: set[int] = set()
    for block in range(40):
        target._block_seed = BlockSeed.of_block(1, block, fresh_data=False)
        drawn |= target._cpus() or set()
    assert drawn == {0, 1, 2, 3}


class Turns:
    """Notes who runs; a driver needs so many slices for each of its steps, and then it ends."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, int]] = []

    def driver(self, name: str, slices: Sequence[int]) -> PausableRun:
        return cast("PausableRun", _Run(self, name, slices))


class _Run:
    def __init__(self, turns: Turns, name: str, slices: Sequence[int]) -> None:
        self._turns, self._name = turns, name
        self._ends = [step for step, count in enumerate(slices) for _ in range(count)]
        self.steps_begun = 0

    def proceed(self, seconds: float) -> DriverResult | None:
        del seconds
        self._turns.taken.append((self._name, self._ends.pop(0)))
        self.steps_begun = self._ends[0] if self._ends else self.steps_begun
        if self._ends:
            return None
        return cast("DriverResult", SimpleNamespace())


def test_a_driver_that_is_quicker_with_a_step_waits_for_the_others() -> None:
    turns = Turns()
    runs = {"rel": turns.driver("rel", (1, 3, 1)), "pgo": turns.driver("pgo", (1, 1, 2))}
    task = Task(set="main", size=5)
    trial = Trial(block=0, set="main", task=task, subjects=("rel", "pgo"), timeout=1.0)
    assert set(_alternate(runs, trial, 1)) == {"rel", "pgo"}
    steps = [step for _, step in turns.taken]
    assert steps == sorted(steps)
    assert len(turns.taken) == 9
