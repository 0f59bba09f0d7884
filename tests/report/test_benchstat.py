"""The tables that look as benchstat's do."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.measurement.metric import METRICS
from dbhone.report.figures import UNITS, scaled
from dbhone.report.formats.base import render
from dbhone.report.page import build_page
from tests.analysis.columns import columns, with_values
from tests.report.odd_runs import odd_page, odd_runs
from tests.report.sample_run import Shape, a_run, run_page
from tests.report.sample_servers import a_server_run, server_samples

_FACTORS = {
    **{"": 1.0, "n": 1e-9, "µ": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12},
    **{"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40},
}


def small_run() -> str:
    """Return the tables of four steps of each part, on three subjects."""
    run = a_run()
    run = replace(run, steps=(*run.steps[:4], *run.steps[-4:]), subjects=run.subjects[:3])
    return render(run_page(run, Shape(effects={"o3": (1.04, 0.9)})), "benchstat").decode()


def test_tables_look_like_their_golden_file(golden: Callable[[str, bytes], None]) -> None:
    golden("report/benchstat.txt", small_run().encode())


def test_every_metric_has_a_unit() -> None:
    assert set(UNITS) == set(METRICS)


@given(st.floats(1e-9, 9e14), st.sampled_from(["ops/s", "cpu-sec/op", "peak-B"]))
def test_a_scaled_figure_has_four_digits_and_is_the_same(value: float, unit: str) -> None:
    text = scaled(value, unit)
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(\D*)", text)
    assert match
    assert float(match.group(1)) * _FACTORS[match.group(2)] == pytest.approx(
        value, rel=1e-3, abs=5e-4 if unit == "peak-B" else 0
    )
    assert len(text) <= 7


def test_a_scaled_zero_is_zero() -> None:
    assert (scaled(0.0, "ops/s"), scaled(999.99, "ops/s")) == ("0.000", "1.000k")


def test_every_figure_has_an_interval_or_a_footnote() -> None:
    few = render(odd_page("one block"), "benchstat").decode()
    assert "± ∞ ¹" in few
    assert "¹ need >= 3 blocks" in few
    assert "? (n=1) ²" in few
    assert "² need >= 6 blocks for a verdict" in few
    assert "∞" not in small_run()


def test_what_differs_has_an_interval_of_its_own_and_p() -> None:
    assert re.search(r"\+\d\.\d\d% ±\d\.\d% \(p=0\.\d{3} n=14\)", small_run())


def test_held_out_and_in_sample_steps_are_apart() -> None:
    text = small_run()
    held_out, in_sample = text.split("part: in-sample")
    assert "main/100" in in_sample
    assert "main/100" not in held_out
    assert held_out.count("geomean  ") == in_sample.count("geomean  ") == 3


def test_a_mean_of_figures_of_which_one_is_zero_is_left_out() -> None:
    run = a_server_run()
    measured = server_samples(run)
    known = columns(measured)
    zero = np.where(known.step == 1, 0.0, known.values["context_switches"])
    page = build_page(run, with_values(measured, context_switches=zero))
    text = render(page, "benchstat").decode()
    table = text[text.index("switches/op") :]
    mean = next(line for line in table.splitlines() if line.startswith("geomean"))
    assert not re.match(r"geomean +\d", mean)


@pytest.mark.parametrize("odd", odd_runs())
def test_an_odd_run_tells_what_can_be_told(odd: str) -> None:
    page = odd_page(odd)
    text = render(page, "benchstat").decode()
    assert text.endswith(f"{page.headline}\n")
    assert "nan" not in text
