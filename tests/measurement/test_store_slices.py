"""Slices come back from the store as they went in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dbhone.measurement.record import Sliced
from dbhone.measurement.round_noise import level_variances
from dbhone.measurement.store import Store
from tests.measurement.store_records import a_slice, begin, invocation

SLICES = (a_slice(0, counted=False), a_slice(1), a_slice(2))


def test_slices_are_kept_with_their_invocation(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        run_id = begin(store)
        store.record(run_id, replace(invocation(1, "rel"), slices=SLICES))
        store.record(run_id, invocation(1, "pgo"))
        store.record(run_id, replace(invocation(2, "pgo"), slices=SLICES[1:]))
        assert store.sliced(run_id) == (
            Sliced(block=1, set="main", subject="rel", slices=SLICES),
            Sliced(block=2, set="main", subject="pgo", slices=SLICES[1:]),
        )


def test_an_invocation_that_no_longer_counts_keeps_its_slices_unseen(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        run_id = begin(store)
        store.record(run_id, replace(invocation(1, "rel"), slices=SLICES))
        store.supersede(run_id, 1, "main")
        assert store.sliced(run_id) == ()


def test_a_clock_that_is_too_fine_is_rounded_to_microseconds(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        run_id = begin(store)
        fine = replace(a_slice(0), began=0.1234567, seconds=0.2500004)
        store.record(run_id, replace(invocation(1, "rel"), slices=(fine,)))
        ((found,),) = (each.slices for each in store.sliced(run_id))
        assert (found.began, found.seconds) == (0.123457, 0.25)


def test_rounds_show_how_noisy_a_measurement_is_without_what_strikes_all_alike(
    tmp_path: Path,
) -> None:
    rates = {"rel": (100, 210, 90, 400), "pgo": (110, 200, 99, 380)}
    with Store.open(tmp_path / "store.db") as store:
        run_id = begin(store)
        for name, operations in rates.items():
            slices = tuple(
                replace(a_slice(number), seconds=0.5, operations=count)
                for number, count in enumerate(operations)
            )
            measured = invocation(0, name)
            store.record(
                run_id,
                replace(measured, measurements=measured.measurements[:1], slices=slices),
            )
        within = store.samples(run_id).within
    logs = np.log(np.array(list(rates.values())) / 0.5).T
    assert within[:, 0, 0] == pytest.approx(level_variances(logs))
    assert np.isnan(within[:, 1:]).all()


def test_rounds_show_the_noise_of_stalls(tmp_path: Path) -> None:
    usual = [100, 101, 99, 100] * 5
    with Store.open(tmp_path / "store.db") as store:
        run_id = begin(store)
        for block in (0, 1):
            for name in ("rel", "pgo"):
                stalls = name == "pgo" and block == 1
                counts = [*usual[:15], *([0] if stalls else [100]), *usual[16:]]
                slices = tuple(
                    replace(a_slice(number), seconds=0.5, operations=count)
                    for number, count in enumerate(counts)
                )
                measured = invocation(block, name)
                store.record(
                    run_id,
                    replace(measured, measurements=measured.measurements[:1], slices=slices),
                )
            if block == 0:
                assert store.samples(run_id).stalls is None
        samples = store.samples(run_id)
    assert samples.stalls is not None
    pgo = samples.stalls[samples.subjects.index("pgo"), 0]
    cost = np.log(20 / 19)
    assert pgo.seen == pytest.approx([0, cost**2], rel=0.02)
    # The half that was not seen, of a rate of one stall: stretched by a half.
    assert pgo.variance - pgo.seen == pytest.approx([cost**2 / 4 / 1.5**2] * 2, rel=0.02)
    assert not samples.stalls.variance[samples.subjects.index("rel")].any()


def test_a_run_whose_first_trials_failed_can_be_read(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        run_id = begin(store)
        for name in ("rel", "pgo"):
            failed = invocation(0, name, failure="the client crashed")
            store.record(run_id, replace(failed, slices=SLICES))
        assert store.samples(run_id).measured_subjects() == ()
        store.record(run_id, replace(invocation(1, "rel"), slices=SLICES))
        assert store.samples(run_id).measured_subjects() == ("rel",)


def test_a_measurement_without_rounds_has_no_noise_that_is_known(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        run_id = begin(store)
        store.record(run_id, invocation(0, "rel"))
        assert np.isnan(store.samples(run_id).within).all()
