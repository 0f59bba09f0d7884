from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from benchmarks.statistics.record import traces
from benchmarks.statistics.trace import Use, read, write
from dbhone.errors import UsageError
from dbhone.measurement.record import Role, Slice
from dbhone.measurement.store import Store
from tests.measurement.store_records import MOMENT, NEW_RUN, STEPS, begin, invocation, subject


def _slice(number: int, position: int, *, counted: bool = True) -> Slice:
    return Slice(
        round=number,
        position=position,
        began=number + 0.5 * position,
        seconds=0.5,
        operations=1000 + 10 * number + position,
        errors=0,
        counted=counted,
    )


def _run(store: Store) -> int:
    """Record two restarts of two rounds that count, base and control in turn."""
    run_id = store.create_run(NEW_RUN).id
    for place, (name, role) in enumerate({"rel": Role.BASE, "control": Role.CONTROL}.items()):
        store.set_subject(run_id, place, subject(name, role))
    store.set_subject(run_id, 2, subject("pgo"))
    store.set_steps(run_id, STEPS)
    for block in (1, 2):
        for position, name in enumerate(("control", "rel", "pgo")):
            made = replace(
                invocation(block, name),
                started_at=MOMENT + timedelta(minutes=block),
                slices=tuple(_slice(each, position, counted=each > 0) for each in range(3)),
            )
            store.record(run_id, made)
    return run_id


def test_base_and_control_of_a_run_become_a_trace(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        (trace,) = traces(store, _run(store), 4)
    assert (trace.step, trace.dbms, trace.restarts, trace.use) == ("main", "sqlite", 2, Use.JUDGING)
    assert trace.machine == "2 x A CPU, kvm, Linux 6.1.0"
    assert [(each.restart, each.round, each.subject) for each in trace.slices] == [
        *((1, 1, "B"), (1, 1, "A"), (1, 2, "B"), (1, 2, "A")),
        *((2, 1, "B"), (2, 1, "A"), (2, 2, "B"), (2, 2, "A")),
    ]
    assert [each.began for each in trace.slices[3:6]] == [2.5, 61.0, 61.5]
    assert [each.operations for each in trace.slices[:2]] == [1010, 1011]


def test_what_was_recorded_can_be_read(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        (trace,) = traces(store, _run(store), 1)
    assert read(write(trace, tmp_path)) == trace


def test_a_run_without_a_control_is_refused(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        run_id = begin(store)
        with pytest.raises(UsageError, match="no base and control"):
            next(traces(store, run_id, 1))


def test_steps_that_were_not_cut_into_slices_have_one_in_each_block(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        run_id = begin(store)
        store.set_subject(run_id, 2, subject("control", Role.CONTROL))
        for block in (1, 2):
            for position, name in enumerate(("control", "rel", "pgo")):
                made = replace(
                    invocation(block, name),
                    position=position,
                    started_at=MOMENT + timedelta(minutes=block, seconds=position),
                )
                store.record(run_id, made)
        first, *others = traces(store, run_id, 4)
    assert [first.step, *(each.step for each in others)] == ["main/100", "main/110", "main/120"]
    assert [(each.restart, each.round, each.position, each.subject) for each in first.slices] == [
        *((1, 1, 0, "B"), (1, 1, 1, "A")),
        *((2, 1, 0, "B"), (2, 1, 1, "A")),
    ]
    assert [each.began for each in first.slices] == [0, 1, 60, 61]
    assert [each.operations / each.seconds for each in first.slices] == [2, 2, 3, 3]


def test_a_run_of_which_only_the_base_or_nothing_was_measured_is_refused(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        run_id = begin(store)
        store.set_subject(run_id, 2, subject("control", Role.CONTROL))
        with pytest.raises(UsageError, match="no measurements of both"):
            next(traces(store, run_id, 1))
        store.record(run_id, invocation(1, "rel"))
        with pytest.raises(UsageError, match="no measurements of both"):
            next(traces(store, run_id, 1))
