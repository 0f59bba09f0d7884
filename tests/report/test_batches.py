"""Runs that are one statement each: seconds, and loads in which the runs are nested."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dbhone.analysis.comparison import analyse
from dbhone.measurement.metric import LATENCY_P50, THROUGHPUT
from dbhone.measurement.record import Group, Step
from dbhone.measurement.sample_array import SampleArray
from dbhone.report.formats.html import PLUGIN as HTML
from dbhone.report.formats.text import PLUGIN as TEXT
from dbhone.report.page import Page, build_page
from tests.analysis.blocks import steps_of
from tests.analysis.columns import samples_of
from tests.report.sample_run import a_run
from tests.report.told import tables_of, titled

ROWS = 200_000
LOADS = 6
RUNS = ("run-1", "run-2", "run-3")


def steps() -> tuple[Step, ...]:
    return tuple(
        Step(set=name, key="", title="t", group=Group.WRITE, in_sample=False, threads=1)
        for name in RUNS
    )


def seconds(subject: int, run: int, load: int) -> float:
    """Return what a run takes: a load has a speed of its own, which subjects share."""
    of_load = (1.0, 1.3, 0.8, 1.1, 0.9, 1.2)[load]
    noise = 1 + 0.01 * ((subject * 7 + run * 3 + load * 5) % 4)
    return (2.0, 4.0)[subject] * (1.2, 1.0, 1.0)[run] * of_load * noise


def samples(loads: int = LOADS) -> SampleArray:
    places = [(s, r, b) for b in range(loads) for r in range(len(RUNS)) for s in range(2)]
    took = np.array([seconds(*place) for place in places])
    values = {THROUGHPUT.name: ROWS / took, LATENCY_P50.name: took}
    return samples_of(("old", "new"), RUNS, zip(*places, strict=True), values)


def page(loads: int = LOADS) -> Page:
    run = a_run(suite="batch:insert-select", steps=steps())
    old, new = (replace(run.subjects[at], name=name) for at, name in enumerate(("old", "new")))
    candidate = next(each.role for each in run.subjects if each.role.value == "candidate")
    subjects = (old, replace(new, role=candidate))
    return build_page(replace(run, subjects=subjects), samples(loads))


def test_seconds_of_each_run_are_shown_with_their_mean() -> None:
    table = titled(page(), "Seconds")
    assert table is not None
    assert [column.title for column in table.columns] == [
        *("Subject", "run-1", "run-2", "run-3", "mean", "speed")
    ]
    old, new = ([cell.text for cell in row.cells] for row in table.rows)
    assert old[0] == "old (base)"
    assert old[-1] == "1"
    first, *_, mean = (float(each) for each in old[1:-1])
    assert 2.0 < mean < first < 3.0
    assert 0.48 < float(new[-1].split()[0]) < 0.52


def test_runs_of_a_load_are_one_figure_and_the_interval_is_over_the_loads() -> None:
    found = analyse(
        samples(),
        base="old",
        steps=steps_of(RUNS, groups=dict.fromkeys(RUNS, Group.WRITE)),
        metrics=(THROUGHPUT,),
    )
    (whole,) = (each for each in found.summaries if each.group is None)
    ratios = np.array(
        [
            np.mean([np.log(seconds(0, run, load) / seconds(1, run, load)) for run in range(3)])
            for load in range(LOADS)
        ]
    )
    # Student's t over six loads, not over eighteen runs: 2.571 is its 97.5 % point for 5.
    half = 2.5706 * ratios.std(ddof=1) / np.sqrt(LOADS)
    assert whole.blocks == LOADS
    assert np.isclose(np.log(whole.ratio), ratios.mean())
    assert whole.low is not None
    assert np.isclose(np.log(whole.ratio / whole.low), half, rtol=1e-3)


def test_his_three_loads_have_an_interval_and_no_verdict() -> None:
    shown = page(loads=3)
    (whole,) = (
        each
        for each in shown.analysis.summaries
        if each.group is None and each.metric == THROUGHPUT.name
    )
    assert whole.blocks == 3
    assert whole.low is not None
    assert whole.verdict == "not enough data"


def test_they_are_in_every_report_of_a_batch_and_in_no_other() -> None:
    assert b"Seconds of each run" in TEXT.render(page())
    assert b'id="seconds"' in HTML.render(page())
    other = build_page(a_run(suite="sysbench:micro", steps=steps()), samples())
    assert titled(other, "Seconds") is None


def test_the_method_says_that_each_load_is_another() -> None:
    assert "random values of the block's own" in (page().method or "")


def test_a_statement_has_no_percentiles() -> None:
    assert tables_of(page(), "latency") == ()
    metrics = titled(page(), "Other metrics")
    assert metrics is None or not any("latency" in each.title for each in metrics.columns)
    served = replace(page().run, suite="sysbench:micro")
    assert tables_of(build_page(served, samples()), "latency")
