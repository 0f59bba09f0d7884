"""When a training has settled, and what a slice's record is made of."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dbhone.compilation.profile_counts import ProfileCounts
from dbhone.experiment.target.server_target import has_settled
from dbhone.experiment.target.trial import SubjectResult
from dbhone.measurement.server_usage import UsedBetween
from dbhone.workload.drive import DriverResult
from dbhone.workload.drivers.base import DriverReport, Latency, StepResult


def counts_of(totals: dict[str, int], functions: int = 1000) -> ProfileCounts:
    return ProfileCounts(functions=functions, functions_executed=len(totals), totals=totals)


@given(st.dictionaries(st.text(max_size=3), st.integers(1, 10**6), min_size=1, max_size=30))
def test_twice_the_same_iteration_has_settled(totals: dict[str, int]) -> None:
    twice = {name: 2 * count for name, count in totals.items()}
    assert has_settled(counts_of(totals), counts_of(twice))


def test_an_iteration_that_enters_new_functions_has_not_settled() -> None:
    first = {f"f{number}": 1000 for number in range(100)}
    assert not has_settled(
        counts_of(first), counts_of(first | {f"g{number}": 1 for number in range(5)})
    )


def test_an_iteration_that_moves_the_counts_has_not_settled() -> None:
    assert not has_settled(counts_of({"a": 100, "b": 100}), counts_of({"a": 300, "b": 200}))


def test_counters_that_stay_empty_have_not_settled() -> None:
    assert not has_settled(counts_of({}), counts_of({}))


RESULT = StepResult(
    key="",
    title="t",
    seconds=2.0,
    operations=1000.0,
    errors=3,
    latency=Latency(p50=0.001, p95=0.002, p99=0.003),
)


def result_of(used: UsedBetween | None) -> SubjectResult:
    driver = DriverResult(
        argv=("sysbench",),
        output=b"",
        seconds=2.1,
        cpu_seconds=0.5,
        outcome=DriverReport(version=None, steps=(RESULT,), verification=None),
    )
    return SubjectResult(subject="rel", driver=driver, used=used)


def test_a_servers_figures_are_for_one_operation() -> None:
    used = UsedBetween(
        cpu_seconds=1.0,
        system_seconds=0.25,
        context_switches=2000,
        bytes_read=4096,
        bytes_written=None,
        peak_memory_bytes=9,
    )
    found = result_of(used).measurement("point-query", RESULT)
    assert found.throughput == 500.0
    assert found.cpu_seconds == 0.001
    assert found.system_seconds == 0.00025
    assert found.client_cpu_seconds == 0.0005
    assert found.context_switches == 2.0
    assert found.bytes_read == 4.096
    assert found.bytes_written is None
    assert found.peak_memory_bytes == 9
    assert (found.latency_p50, found.latency_p95, found.latency_p99) == (0.001, 0.002, 0.003)
    assert found.refused_share == 3 / 1003
    assert result_of(used).cpu_seconds == 1.5


def test_without_a_server_they_are_the_drivers_own() -> None:
    found = result_of(None).measurement("main/100", RESULT)
    assert found.throughput == 500.0
    assert found.client_cpu_seconds is None
    assert result_of(None).cpu_seconds == 0.5
