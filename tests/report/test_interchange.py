"""What other programs read of a run: Go's benchmark lines and hyperfine's JSON."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from dbhone.measurement.metric import CPU_SECONDS, METRICS, SYSTEM_SECONDS, THROUGHPUT
from dbhone.measurement.record import Run
from dbhone.measurement.sample_array import SampleArray
from dbhone.report.formats.base import render
from dbhone.report.formats.gobench import UNITS
from dbhone.report.page import Page, build_page
from tests.analysis.columns import columns
from tests.report.hostile import HOSTILE_PAGES
from tests.report.odd_runs import odd_page, odd_runs
from tests.report.sample_run import a_run, changed, run_page, samples
from tests.report.sample_servers import (
    Shape,
    a_server_run,
    a_sweep_run,
    server_page,
    server_samples,
)

Golden = Callable[[str, bytes], None]
_TYPES = {
    "command": str,
    "mean": float,
    "median": float,
    "user": float,
    "system": float,
    "min": float,
    "max": float,
    "times": list,
    "exit_codes": list,
    "parameters": dict,
}
"""What hyperfine always writes, with the types that strict readers want."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """One line of results: its name's parts, its configuration, and its values by unit."""

    name: str
    parts: dict[str, str]
    threads: int
    configuration: dict[str, str]
    values: dict[str, float]


def test_every_metric_has_a_unit() -> None:
    assert set(UNITS) == set(METRICS)


def go_results(text: str) -> tuple[list[Result], dict[str, str]]:
    """Parse by golang.org/design/14313-benchmark-format; return results, and units' directions.

    What the format does not have raises.
    """
    results: list[Result] = []
    units: dict[str, str] = {}
    configuration: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("Benchmark"):
            results.append(_result(line, configuration))
        elif line.startswith("Unit "):
            _, unit, better = line.split()
            units[unit] = better.removeprefix("better=")
        else:
            match = re.fullmatch(r"([a-z][^\sA-Z:]*):[ \t]+(.*)", line)
            assert match, line
            configuration[match.group(1)] = match.group(2)
    return results, units


def _result(line: str, configuration: dict[str, str]) -> Result:
    name, count, *fields = line.split(" ")
    assert re.match(r"Benchmark(?:$|[A-Z])", name), name
    assert int(count) > 0
    assert fields
    assert len(fields) % 2 == 0
    whole, _, threads = name.removeprefix("Benchmark").rpartition("-")
    base, *parts = whole.split("/")
    pairs = [part.partition("=") for part in parts]
    return Result(
        name=base,
        parts={key: value for key, _, value in pairs},
        threads=int(threads),
        configuration=dict(configuration),
        values=dict(zip(fields[1::2], map(float, fields[::2]), strict=True)),
    )


def _small(run: Run) -> tuple[Run, SampleArray]:
    """Return a run of three steps, one of them trained on, and two blocks."""
    picked = ("point-query_range=100", "update-nonindex_range=100", "read-write_range=100")
    run = replace(run, steps=tuple(each for each in run.steps if each.set in picked))
    return run, server_samples(run, Shape(blocks=2))


@pytest.mark.parametrize(("name", "suffix"), [("gobench", "bench"), ("hyperfine", "json")])
def test_looks_like_its_golden_file(name: str, suffix: str, golden: Golden) -> None:
    page = build_page(*_small(a_server_run()))
    golden(f"report/{name}.{suffix}", render(page, name))


class TestGoBenchmark:
    def _results(self, page: Page) -> list[Result]:
        return go_results(render(page, "gobench").decode())[0]

    def test_all_that_is_compared_is_there_once(self) -> None:
        run = a_sweep_run()
        measured = server_samples(run, Shape(blocks=3))
        results = self._results(build_page(run, measured))
        column = columns(measured).values["throughput"]
        assert len(results) == len(column)
        found = sorted(each.values["ops/s"] for each in results)
        assert found == pytest.approx(sorted(column.tolist()), rel=1e-8)

    def test_names_tell_group_set_subject_and_threads(self) -> None:
        run = a_sweep_run()
        results = self._results(server_page(run, Shape(blocks=1)))
        seen = {(each.name, each.parts["set"], each.threads) for each in results}
        assert ("Point", "point-query_range=100", 64) in seen
        assert {each.parts["subject"] for each in results} == {each.name for each in run.subjects}

    def test_trained_and_held_out_steps_are_apart(self) -> None:
        run = a_run()
        results = self._results(run_page(run))
        trained = {step.key: step.in_sample for step in run.steps if step.set == "main"}
        for each in results:
            if each.parts["set"] == "main":
                part = "in-sample" if trained[each.parts["key"]] else "held-out"
                assert each.configuration["part"] == part

    def test_a_number_at_the_end_of_a_subjects_name_is_not_its_threads(self) -> None:
        results = self._results(run_page(changed(a_run(), "lto", name="clang-14")))
        assert {each.threads for each in results if each.parts["subject"] == "clang-14"} == {1}

    def test_every_unit_says_which_way_is_better(self) -> None:
        page = server_page(a_server_run(), Shape(blocks=1))
        results, units = go_results(render(page, "gobench").decode())
        assert {unit for each in results for unit in each.values} <= set(units)
        assert units["ops/s"] == "higher"
        assert {units[unit] for unit in units if unit != "ops/s"} == {"lower"}

    def test_our_ratios_can_be_computed_anew(self) -> None:
        page = server_page(a_server_run())
        results = self._results(page)

        def typical(subject: str, step: str) -> float:
            return statistics.geometric_mean(
                each.values["ops/s"]
                for each in results
                if each.parts["subject"] == subject and each.parts["set"] == step
            )

        effects = [each for each in page.analysis.effects if each.metric == THROUGHPUT.name]
        for each in effects:
            anew = typical(each.subject, each.step) / typical("rel", each.step)
            assert anew == pytest.approx(each.ratio, rel=0.03)

    @pytest.mark.parametrize("odd", odd_runs())
    def test_lines_of_odd_runs_can_be_read(self, odd: str) -> None:
        results = self._results(odd_page(odd))
        assert all(math.isfinite(value) for each in results for value in each.values.values())

    @pytest.mark.parametrize("hostile", HOSTILE_PAGES)
    def test_nothing_from_outside_becomes_a_line_or_a_field(self, hostile: str) -> None:
        page = HOSTILE_PAGES[hostile]()
        results = self._results(page)
        assert len(results) == len(columns(page.samples).block)


class TestHyperfine:
    def _results(self, page: Page) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = json.loads(render(page, "hyperfine"))["results"]
        return results

    def test_times_are_seconds_of_an_operation(self) -> None:
        run, measured = _small(a_server_run())
        results = self._results(build_page(run, measured))
        assert len(results) == len(run.subjects) * len(run.steps)
        times = [second for each in results for second in each["times"]]
        rates = columns(measured).values["throughput"]
        assert sorted(times) == pytest.approx(sorted((1 / rates).tolist()))

    def test_figures_are_those_of_the_times(self) -> None:
        results = self._results(run_page(a_run()))
        for each in results:
            times = each["times"]
            assert each["mean"] == pytest.approx(np.mean(times))
            assert each["median"] == pytest.approx(np.median(times))
            assert each["stddev"] == pytest.approx(np.std(times, ddof=1))
            assert (each["min"], each["max"]) == (min(times), max(times))
            assert each["exit_codes"] == [0] * len(times)
            assert len(each["memory_usage_byte"]) == len(times)

    def test_a_servers_kernel_time_stands_apart(self) -> None:
        run, measured = _small(a_server_run())
        first = self._results(build_page(run, measured))[0]
        row = measured.subjects.index("rel")
        kernel = measured.of(SYSTEM_SECONDS)[row, 0].mean()
        assert first["system"] == pytest.approx(kernel)
        assert first["user"] == pytest.approx(measured.of(CPU_SECONDS)[row, 0].mean() - kernel)

    def test_all_cpu_time_of_an_embedded_system_is_the_users(self) -> None:
        run = a_run()
        measured = samples(run)
        first = self._results(build_page(run, measured))[0]
        row, column = (
            names.index(first["parameters"][kind])
            for names, kind in ((measured.subjects, "subject"), (measured.steps, "step"))
        )
        assert first["user"] == pytest.approx(measured.of(CPU_SECONDS)[row, column].mean())
        assert first["system"] == 0.0

    def test_cpu_time_that_some_blocks_lack_is_that_of_the_others(self) -> None:
        run = a_run()
        measured = samples(run)
        values = measured.values.copy()
        values[:, :, measured.metrics.index(CPU_SECONDS.name), 1:] = np.nan
        few = replace(measured, values=values)
        first = self._results(build_page(run, few))[0]
        row = measured.subjects.index(first["parameters"]["subject"])
        column = measured.steps.index(first["parameters"]["step"])
        assert first["user"] == pytest.approx(measured.of(CPU_SECONDS)[row, column, 0])

    @pytest.mark.parametrize("odd", odd_runs())
    def test_types_are_those_of_hyperfine(self, odd: str) -> None:
        for each in self._results(odd_page(odd)):
            assert {key: type(value) for key, value in each.items() if key in _TYPES} == _TYPES
            assert type(each["stddev"]) is (float if len(each["times"]) > 1 else type(None))
            assert {type(second) for second in each["times"]} == {float}
            assert {type(size) for size in each.get("memory_usage_byte", [])} <= {int}
            assert {type(code) for code in each["exit_codes"]} == {int}
            assert {type(value) for value in each["parameters"].values()} == {str}

    def test_cpu_time_that_is_not_known_is_zero(self) -> None:
        run, measured = odd_runs()["throughput only"]
        first = self._results(build_page(run, measured))[0]
        assert (first["user"], first["system"]) == (0.0, 0.0)

    def test_parameters_tell_what_was_measured(self) -> None:
        run, measured = _small(a_server_run())
        first = self._results(build_page(run, measured))[0]
        assert first["parameters"] == {
            "step": run.steps[0].name,
            "subject": "rel",
            "threads": "4",
        }
