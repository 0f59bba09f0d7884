from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.statistics.cutting import Recording, RecordingError, recording, recordings
from benchmarks.statistics.methods.dbhone import ROUNDS
from benchmarks.statistics.noise import uneven_starts
from benchmarks.statistics.piece import Plan
from benchmarks.statistics.study import rows
from benchmarks.statistics.table import tables
from benchmarks.statistics.trace import SUBJECTS, Slice, Trace, Use, write

RECORDED = Plan(restarts=7, steps=2, rounds=12)


def _traces(number: int = 2) -> list[Trace]:
    """Return a recording of made-up servers whose starts differ."""
    logs = uneven_starts(np.random.default_rng(number), 1, RECORDED).logs[0]
    return [
        Trace(
            recording=number,
            machine="2 x A CPU",
            dbms="mariadb",
            version="10.11.6",
            step=f"step {step}",
            threads=4,
            slice_seconds=0.5,
            slices=tuple(
                Slice(
                    restart=restart + 1,
                    round=each,
                    position=place,
                    subject=SUBJECTS[place],
                    began=float(100 * restart + each + 0.5 * place),
                    operations=round(100_000 * np.exp(logs[restart, step, each, place])),
                    seconds=0.5,
                )
                for restart, each, place in np.ndindex(RECORDED.restarts, RECORDED.rounds, 2)
            ),
        )
        for step in range(RECORDED.steps)
    ]


def _recording() -> Recording:
    return recording(2, _traces())


def test_a_run_is_as_long_as_was_recorded_and_has_no_more_rounds_than_usual() -> None:
    plan = _recording().plan(Plan(restarts=15, rounds=10))
    assert (plan.restarts, plan.steps, plan.rounds) == (7, 2, 10)


def test_a_restart_takes_the_time_that_was_in_no_slice() -> None:
    plan = _recording().plan(Plan(restarts=15, rounds=10))
    assert plan.restart_seconds == pytest.approx(100 - 2 * 12 * 2 * 0.5)


def test_what_is_cut_out_was_measured_in_one_round() -> None:
    source = _recording()
    plan = replace(source.plan(Plan(restarts=15)), restarts=5, rounds=4)
    piece = source.cut(np.random.default_rng(1), 20, plan)
    measured = {tuple(sorted(pair)) for step in source.logs for each in step for pair in each}
    cut = {tuple(sorted(pair)) for pair in piece.logs.reshape(-1, 2)}
    assert piece.logs.shape == (20, 5, 2, 4, 2)
    assert cut <= measured
    assert len(cut) > len(measured) / 2


def test_a_restart_is_cut_out_of_one_restart_and_both_servers_change_names() -> None:
    source = _recording()
    piece = source.cut(np.random.default_rng(2), 30, source.plan(Plan(restarts=15)))
    first = piece.logs[:, 0, 0]
    as_recorded = source.logs[0][0]
    straight = [np.array_equal(each, as_recorded) for each in first]
    swapped = [np.array_equal(each, as_recorded[:, ::-1]) for each in first]
    assert all(a or b for a, b in zip(straight, swapped, strict=True))
    assert 5 < sum(straight) < 25


def test_a_round_that_only_one_server_has_is_left_out() -> None:
    trace = _traces()[0]
    lame = replace(trace, slices=trace.slices[1:])
    assert [len(rounds) for rounds in recording(2, [lame]).logs[0]] == [11, *[12] * 6]


def test_a_slice_in_which_nothing_ended_is_slow_and_not_left_out() -> None:
    trace = _traces()[0]
    stalled = replace(trace, slices=(replace(trace.slices[0], operations=0), *trace.slices[1:]))
    rounds = recording(2, [stalled]).logs[0][0]
    assert rounds.shape == (12, 2)
    assert rounds[0, 0] == pytest.approx(np.log(0.5 / 0.5))


def test_short_rounds_are_joined_and_a_slice_counts_for_as_long_as_it_lasted() -> None:
    trace = _traces()[0]
    short = [replace(each, seconds=0.1, operations=100) for each in trace.slices]
    short[0] = replace(short[0], seconds=0.6)
    found = recording(2, [replace(trace, slice_seconds=0.1, slices=tuple(short))])
    rounds = np.exp(found.logs[0][0])
    assert rounds == pytest.approx(np.array([[600 / 1.1, 1000], [1000, 1000]]))
    assert found.slice_seconds == pytest.approx(0.5)


def test_steps_of_different_servers_are_no_recording() -> None:
    first, second = _traces()
    with pytest.raises(RecordingError, match="different servers"):
        recording(2, [first, replace(second, version="11.4.1")])


def test_a_restart_that_one_step_lacks_is_left_out_of_all() -> None:
    first, second = _traces()
    lame = replace(second, slices=tuple(each for each in second.slices if each.restart != 3))
    logs = recording(2, [first, lame]).logs
    whole = recording(2, [first, second]).logs
    assert [len(step) for step in logs] == [6, 6]
    assert np.array_equal(logs[0][2], whole[0][3])


def test_a_recording_too_short_for_a_verdict_is_refused() -> None:
    short = [
        replace(each, slices=tuple(one for one in each.slices if one.restart <= 5))
        for each in _traces()
    ]
    with pytest.raises(RecordingError, match="5 restarts in common, a verdict needs 6"):
        recording(2, short)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no folder"):
        list(recordings(tmp_path / "nowhere"))


def test_a_folder_of_traces_is_read_by_recording(tmp_path: Path) -> None:
    for number in (1, 2):
        for each in _traces(number):
            write(each, tmp_path)
    found = list(recordings(tmp_path))
    assert [(each.title, each.use) for each in found] == [
        ("recording 1: mariadb 10.11.6", Use.CHOOSING),
        ("recording 2: mariadb 10.11.6", Use.JUDGING),
    ]
    assert [len(each.logs) for each in found] == [2, 2]


def test_a_recording_has_a_row_among_the_noises_that_it_may_be_used_with() -> None:
    found = list(rows((ROUNDS,), (_recording(),), runs=8, seed=1))
    row = found[-1]
    assert (row.noise, row.held_out) == ("recording 2: mariadb 10.11.6", True)
    assert row.longest == pytest.approx(7 * 100 / 60)
    assert row.results[ROUNDS.title].found[-1] == 1.0
    assert "| recording 2: mariadb 10.11.6, held out |" in tables(found, (ROUNDS.title,), runs=8)
