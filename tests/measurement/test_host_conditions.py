from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.measurement.conditions import (
    Condition,
    CpuTimes,
    Snapshot,
    between,
    parse_cpu_times,
    parse_pressure,
    parse_throttled,
    read_conditions,
)

# Of a guest on KVM, Linux 6.1, with the line of interrupts cut short.
STAT = """\
cpu  29224 100 4591 315962 1147 7 218 19 50 0
cpu0 6026 50 1600 167820 39 0 11 6 0 0
cpu1 23198 50 2991 148142 1108 7 207 13 50 0
intr 1284337 0 9 0 0
ctxt 842577
btime 1795174931
processes 16778
procs_running 4
procs_blocked 0
softirq 366242 0 34293 10 16321 197033 0 123 61787 0 56675
"""
PRESSURE = """\
some avg10=0.03 avg60=0.29 avg300=0.23 total=12155069
full avg10=0.03 avg60=0.29 avg300=0.22 total=10891559
"""
CPU_STAT_2 = """\
usage_usec 1838383
user_usec 1429001
system_usec 409382
nr_periods 120
nr_throttled 3
throttled_usec 2500000
"""
CPU_STAT_1 = "nr_periods 120\nnr_throttled 3\nthrottled_time 2500000000\n"


def snapshot(at: float, cpu: CpuTimes | None) -> Snapshot:
    return Snapshot(
        at=at,
        cpu=cpu,
        throttled=None,
        thermal=None,
        memory_pressure=None,
    )


def test_the_times_of_all_cores_are_read_without_counting_guests_twice() -> None:
    tick = 1 / os.sysconf("SC_CLK_TCK")
    times = parse_cpu_times(STAT)
    assert times is not None
    assert times.busy == pytest.approx((29224 + 100 + 4591 + 7 + 218) * tick)
    assert times.steal == pytest.approx(19 * tick)
    assert times.total == pytest.approx(351_268 * tick)


def test_pressure_and_throttling_are_read_in_base_units() -> None:
    assert parse_pressure(PRESSURE) == 12.155069
    assert parse_throttled(CPU_STAT_2) == 2.5
    assert parse_throttled(CPU_STAT_1) == 2.5


def test_what_is_not_there_is_nothing_and_no_zero() -> None:
    assert parse_cpu_times("") is None
    assert parse_pressure("") is None
    assert parse_throttled("usage_usec 1838383\n") is None


def test_what_happened_is_told_as_shares_rates_and_seconds() -> None:
    before = Snapshot(
        at=100.0,
        cpu=CpuTimes(busy=10.0, steal=0.0, total=200.0),
        throttled=1.0,
        thermal=0.0,
        memory_pressure=5.0,
    )
    after = Snapshot(
        at=110.0,
        cpu=CpuTimes(busy=25.0, steal=0.5, total=220.0),
        throttled=1.25,
        thermal=0.0,
        memory_pressure=6.0,
    )
    assert between(before, after, own_cpu_seconds=9.0) == {
        "throttled_seconds": 0.25,
        "thermal_seconds": 0.0,
        "pressure_memory": 0.1,
        "steal": 0.025,
        "others_cores": 0.6,
    }


Seconds = st.floats(0, 1e6)
Times = st.builds(CpuTimes, busy=Seconds, steal=Seconds, total=Seconds)


@given(Times, Times, st.floats(0, 1e4), Seconds)
def test_shares_are_shares_even_when_the_kernels_counters_go_back(
    first: CpuTimes, second: CpuTimes, seconds: float, own: float
) -> None:
    found = between(snapshot(0, first), snapshot(seconds, second), own_cpu_seconds=own)
    assert 0 <= found["steal"] <= 1
    assert found["others_cores"] >= 0


def test_a_machine_that_tells_nothing_has_no_conditions(tmp_path: Path) -> None:
    empty = read_conditions(tmp_path)
    assert between(empty, empty, own_cpu_seconds=0.0) == {}


def test_all_is_read_from_where_the_kernel_has_it(tmp_path: Path) -> None:
    cpu = f"sys/devices/system/cpu/cpu{min(os.sched_getaffinity(0))}"
    files = {
        "proc/stat": STAT,
        "proc/pressure/memory": PRESSURE,
        "proc/self/cgroup": "0::/user.slice/ours\n",
        "sys/fs/cgroup/user.slice/ours/cpu.stat": CPU_STAT_2,
        "sys/fs/cgroup/user.slice/cpu.stat": CPU_STAT_2.replace("2500000", "500000"),
        f"{cpu}/thermal_throttle/package_throttle_total_time_ms": "1500\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    now = read_conditions(tmp_path)

    assert now.cpu == parse_cpu_times(STAT)
    assert (now.throttled, now.thermal, now.memory_pressure) == (3.0, 1.5, 12.155069)


def test_this_machine_tells_at_least_its_cores_times() -> None:
    before = read_conditions()
    found = between(before, read_conditions(), own_cpu_seconds=0.0)
    assert {"steal", "others_cores"} <= found.keys()
    assert all(value >= 0 for value in found.values())
    assert set(found) <= {str(each) for each in Condition}
