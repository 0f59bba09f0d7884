"""How far a run is that a later session plans again."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from dbhone.experiment.earlier_sessions import progress_of
from dbhone.measurement.store import Store
from tests.measurement.store_records import MOMENT, begin, invocation, subject


def test_a_block_counts_once_all_sound_subjects_have_measured_it(store: Store) -> None:
    number = begin(store)
    for block, name in [(0, "rel"), (0, "pgo"), (1, "rel"), (1, "pgo"), (2, "rel")]:
        began = MOMENT + timedelta(seconds=4 * block)
        store.record(number, replace(invocation(block, name), started_at=began))
    store.update_run(number, seconds_added=60.0)
    progress = progress_of(store.run(number), store)
    assert (progress.seconds, progress.blocks, progress.block_seconds) == (60.0, 2, 4.0)
    store.set_subject(number, 1, subject("pgo", broken="it crashed"))
    broken = progress_of(store.run(number), store)
    assert (broken.blocks, broken.broken) == (3, {"pgo": "it crashed"})


def test_a_run_that_has_measured_nothing_does_not_know_how_long_a_block_takes(
    store: Store,
) -> None:
    progress = progress_of(store.run(begin(store)), store)
    assert (progress.blocks, progress.block_seconds, progress.measured) == (0, None, frozenset())
