"""What a driver printed and measured is kept as it was, whole or not at all."""

from __future__ import annotations

import dataclasses
import zlib
from pathlib import Path

import pytest

from dbhone.errors import StoreError
from dbhone.measurement.metric import FIGURES
from dbhone.measurement.record import Invocation
from dbhone.measurement.store import Store
from tests.measurement.store_records import MOMENT, invocation, measurement, printed, rows


def test_an_invocation_is_kept_with_all_that_the_driver_printed(
    store: Store, run_id: int, tmp_path: Path
) -> None:
    store.record(run_id, invocation(3, "pgo"))
    store.record(run_id, invocation(3, "rel", failure="it printed nothing"))

    done, failed = store.done(run_id)
    assert (done.block, done.set, done.subject, done.failure) == (3, "main", "pgo", None)
    assert (done.seconds, done.started_at, done.position) == (1.5, MOMENT, 1)
    assert done.conditions == {"steal": 0.125}
    assert (failed.subject, failed.failure) == ("rel", "it printed nothing")
    kept = printed(tmp_path / "store.db", run_id, 3, "pgo")
    assert kept == invocation(3, "pgo").raw_output


def test_the_same_block_set_and_subject_are_refused_a_second_time(
    store: Store, run_id: int
) -> None:
    store.record(run_id, invocation(1, "rel"))

    with pytest.raises(StoreError, match="already measured rel on main in block 1"):
        store.record(run_id, invocation(1, "rel"))
    assert len(store.done(run_id)) == 1


def test_a_superseded_invocation_stays_in_the_store_and_no_longer_counts(
    store: Store, run_id: int, tmp_path: Path
) -> None:
    store.record(run_id, invocation(1, "rel"))
    store.record(run_id, invocation(2, "rel"))

    assert store.supersede(run_id, 2, "main") == 1
    assert store.supersede(run_id, 2, "main") == 0
    again = dataclasses.replace(invocation(2, "rel"), raw_output=b"again")
    store.record(run_id, again)

    assert [each.block for each in store.done(run_id)] == [1, 2]
    assert printed(tmp_path / "store.db", run_id, 2, "rel") == b"again"
    kept = rows(tmp_path / "store.db", "SELECT zlib FROM outputs ORDER BY invocation_id")
    assert [zlib.decompress(row[0]) for row in kept if isinstance(row[0], bytes)] == [
        invocation(1, "rel").raw_output,
        invocation(2, "rel").raw_output,
        b"again",
    ]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0])
def test_what_cannot_have_been_measured_is_refused_whole(
    store: Store, run_id: int, value: float
) -> None:
    good = invocation(1, "rel")
    for metric in FIGURES:
        wrong = dataclasses.replace(good.measurements[1])
        object.__setattr__(wrong, metric.name, value)
        bad = dataclasses.replace(good, measurements=(good.measurements[0], wrong))
        with pytest.raises(StoreError, match="cannot be"):
            store.record(run_id, bad)

    assert store.done(run_id) == ()


@pytest.mark.parametrize(
    "wrong",
    [
        dataclasses.replace(invocation(1, "rel"), subject="nobody"),
        dataclasses.replace(invocation(1, "rel"), measurements=(measurement("main/999", 1.0),)),
    ],
)
def test_an_invocation_of_something_never_described_is_refused_whole(
    store: Store, run_id: int, wrong: Invocation
) -> None:
    with pytest.raises(StoreError, match=r"has no (subject 'nobody'|step 'main/999')"):
        store.record(run_id, wrong)
    assert store.done(run_id) == ()


def test_many_are_recorded_all_or_none(store: Store, run_id: int) -> None:
    with pytest.raises(StoreError, match="already measured"):
        store.record_all(run_id, [invocation(block, "rel") for block in (1, 2, 1)])
    assert store.done(run_id) == ()

    store.record_all(run_id, (invocation(block, "rel") for block in (1, 2, 3)))
    assert [each.block for each in store.done(run_id)] == [1, 2, 3]
