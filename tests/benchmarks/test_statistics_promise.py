"""Whether the promise is kept is counted as it should be, on noises that are what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.statistics.__main__ import DOCUMENT
from benchmarks.statistics.document import between
from benchmarks.statistics.kinds import CHOSEN_ON, HELD_OUT, SERVERS, Kind, table
from benchmarks.statistics.noise import long_stalls, quiet
from benchmarks.statistics.notes import codes
from benchmarks.statistics.piece import Array, Plan
from benchmarks.statistics.promise import NOTES, Promise, Row, Share, broken
from benchmarks.statistics.promise import table as promised

KINDS = (*CHOSEN_ON, *HELD_OUT, *SERVERS)
KEPT = Promise(false_alarms=Share(value=0.055, error=0.01), coverage=Share(value=0.95, error=0.005))
BROKEN = Promise(false_alarms=Share(value=0.2, error=0.02), coverage=Share(value=0.8, error=0.02))
ROW = Row(name="quiet", blocks=15, steps=KEPT, as_one=KEPT, noted=(0.0, 0.12, 0.0))


@pytest.mark.parametrize("kind", SERVERS, ids=lambda kind: kind.name)
def test_both_servers_end_equally_many_operations_in_the_long_run(kind: Kind) -> None:
    plan = replace(kind.plan, restarts=6, steps=3)
    logs = kind.noise(np.random.default_rng(1), 400, plan).logs
    assert logs.shape == plan.shape(400)
    rates = np.exp(logs).mean(axis=(0, 1, 2, 3))
    assert rates[1] / rates[0] == pytest.approx(1.0, abs=0.01)


def test_a_server_stands_still_for_its_share_of_the_time() -> None:
    plan = Plan(restarts=6)
    logs = long_stalls(np.random.default_rng(1), 100, plan, share=0.1).logs
    assert np.mean(logs[..., 1] < -5) == pytest.approx(0.1, abs=0.01)
    assert not np.any(logs[..., 0] < -5)


def test_a_share_is_known_the_better_the_more_runs_there_are() -> None:
    few, many = (Share.of(np.tile([[False], [True]], (runs, 1))) for runs in (50, 5000))
    assert few.value == many.value == 0.5
    assert few.error == pytest.approx(0.098)
    assert many.error == pytest.approx(0.0098)
    assert Share.of(np.zeros((300, 5), dtype=bool)).error == pytest.approx(0.01)


def test_a_promise_is_broken_by_more_than_the_figures_own_error() -> None:
    assert list(KEPT.broken()) == []
    assert list(BROKEN.broken()) == [
        "20.0 % ±2.0 % false alarms",
        "coverage 80.0 % ±2.0 %",
    ]
    wide = replace(KEPT, coverage=Share(value=0.98, error=0.005))
    assert list(wide.broken()) == ["coverage 98.0 % ±0.5 %"]
    assert broken((ROW,)) == "- nowhere\n"
    assert broken((ROW, replace(ROW, as_one=BROKEN))).splitlines() == [
        "- quiet, all as one: 20.0 % ±2.0 % false alarms",
        "- quiet, all as one: coverage 80.0 % ±2.0 %",
    ]


def test_the_table_has_a_row_for_each_noise() -> None:
    share = "5.5 % ±1.0 % | 95.0 % ±0.5 %"
    assert promised((ROW,), 400).splitlines()[-1] == (
        f"| quiet | 15 | {share} | {share} | 0 % | 12 % | 0 % |"
    )


def test_readers_are_told_of_stalls_and_of_nothing_where_there_is_nothing() -> None:
    plan = Plan(restarts=12, steps=2)

    def noted(logs: Array) -> list[frozenset[str]]:
        return codes(replace(calm, logs=logs), plan)

    calm = quiet(np.random.default_rng(1), 3, plan)
    assert noted(calm.logs) == [frozenset()] * 3
    stalling = calm.logs.copy()
    stalling[1, :, 0, 8:10, 1] = -7.0
    assert noted(stalling)[1] >= {"stalls"}
    slow = calm.logs.copy()
    slow[2, 5, :, :, 1] -= 0.5
    assert [each & set(NOTES) for each in noted(slow)] == [set(), set(), {"outliers"}]


def test_the_document_has_what_the_command_makes() -> None:
    document = DOCUMENT.read_text(encoding="utf-8")
    assert between(document, "noises") == table(KINDS)
    lines = between(document, "promise").splitlines()
    assert promised((), 2000).splitlines()[2] in lines
    for kind in KINDS:
        assert sum(line.startswith(f"| {kind.name} |") for line in lines) == 1
    assert between(document, "broken").startswith("- ")
