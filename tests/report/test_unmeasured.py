"""What was not measured is said in one note, and not left out without a word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dbhone.measurement.record import Run
from dbhone.measurement.sample_array import SampleArray
from dbhone.measurement.series import Observation
from dbhone.report.page import build_page
from tests.analysis.columns import columns, with_values
from tests.report.odd_runs import odd_runs
from tests.report.sample_run import a_run, samples
from tests.report.sample_series import observations
from tests.report.sample_servers import Shape, a_server_run, server_samples

_INSTRUCTIONS = "instructions (they need the CPU's performance counters)"


def _counted(of: SampleArray) -> SampleArray:
    """Return samples with instructions, too."""
    return with_values(of, instructions=np.full(len(columns(of).step), 1e6))


def _notes(run: Run, measured: SampleArray, observed: tuple[Observation, ...] = ()) -> list[str]:
    footnotes = build_page(run, measured, observed).footnotes
    return [each.text for each in footnotes if each.code == "not-measured"]


def test_instructions_without_counters() -> None:
    run = a_run()
    assert _notes(run, samples(run)) == [f"not measured: {_INSTRUCTIONS}"]
    assert _notes(run, _counted(samples(run))) == []


def test_an_embedded_system_is_not_said_to_lack_what_servers_have() -> None:
    assert _notes(*odd_runs()["throughput only"]) == [
        f"not measured: CPU time, {_INSTRUCTIONS}, peak memory"
    ]


def test_servers_of_which_only_throughput_is_known() -> None:
    (said,) = _notes(*odd_runs()["servers, throughput only"])
    assert "95th percentile latency" in said
    assert "bytes written" in said


def test_nothing_is_said_where_nothing_was_measured() -> None:
    assert _notes(*odd_runs()["no block"]) == []
    assert _notes(*odd_runs()["no throughput"]) == []


class TestCourse:
    def _notes(self, observed: tuple[Observation, ...] = (), experiment: str = "") -> list[str]:
        run = replace(a_server_run(), experiment=experiment)
        return _notes(run, _counted(server_samples(run, Shape(blocks=3))), observed)

    def test_is_told_to_be_off(self) -> None:
        assert self._notes(experiment="[observe]\nenabled = false\n") == [
            "not measured: the course over time ([observe] is off)"
        ]

    def test_is_told_to_lack_because_slices_are_too_short(self) -> None:
        short = observations(a_server_run(), blocks=2, seconds=2)
        assert self._notes(short) == ["not measured: the course over time (slices are too short)"]

    def test_is_not_mentioned_where_it_is_or_where_nothing_was_read(self) -> None:
        assert self._notes(observations(a_server_run(), blocks=2)) == []
        assert self._notes() == []
