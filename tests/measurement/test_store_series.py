"""What was observed comes back from the store as it went in."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

from dbhone.measurement.series import CPU, PACE, Observation, Quantity, Series, SeriesKind
from dbhone.measurement.store import Store
from tests.measurement.store_records import begin, invocation

WAITS = Quantity(name="pg_stat_activity.IO:WALSync", unit="1", kind=SeriesKind.COUNT)
SERIES = (
    Series(quantity=CPU, at=(1.001, 2.0), values=(0.25, 1.5)),
    Series(quantity=WAITS, at=(0.0, 1.0, 2.0), values=(0.0, 3.0, 0.0)),
    Series(quantity=PACE, at=(1.25, 2.25), values=(1234.5, 1e6)),
)


def test_series_are_kept_with_their_invocation(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        run_id = begin(store)
        store.record(run_id, replace(invocation(1, "rel"), series=SERIES))
        store.record(run_id, invocation(1, "pgo"))
        store.record(run_id, replace(invocation(2, "pgo"), series=SERIES[:1]))
        first, second = store.observations(run_id)
        assert set(first.series) == set(SERIES)
        assert (first.block, first.set, first.subject) == (1, "main", "rel")
        assert second == Observation(block=2, set="main", subject="pgo", series=SERIES[:1])


def test_an_invocation_that_no_longer_counts_keeps_its_series_unseen(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        run_id = begin(store)
        store.record(run_id, replace(invocation(1, "rel"), series=SERIES))
        store.supersede(run_id, 1, "main")
        assert store.observations(run_id) == ()
        store.record(run_id, replace(invocation(1, "rel"), series=SERIES[2:]))
        (again,) = store.observations(run_id)
        assert again.series == SERIES[2:]
    connection = sqlite3.connect(tmp_path / "store.db")
    assert connection.execute("SELECT count(*) FROM series").fetchone() == (4,)
    connection.close()


def test_figures_have_six_digits_and_times_three(tmp_path: Path) -> None:
    long = Series(quantity=CPU, at=(1.00049,), values=(123456789.125,))
    with Store.open(tmp_path / "store.db") as store:
        run_id = begin(store)
        store.record(run_id, replace(invocation(1, "rel"), series=(long,)))
        ((found,),) = (each.series for each in store.observations(run_id))
        assert (found.at, found.values) == ((1.0,), (123457000.0,))
