"""Lists of CPUs, and which CPUs are the fastest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.cpus import cores_of, cpu_list, fastest_cpus, parse_cpus
from dbhone.errors import UsageError
from tests.files import put

SIBLINGS = "sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
CAPACITY = "sys/devices/system/cpu/cpu{cpu}/cpu_capacity"
INTEL = {"sys/devices/cpu_core/cpus": "0-3\n", "sys/devices/cpu_atom/cpus": "4-7\n"}
ARM = {CAPACITY.format(cpu=cpu): f"{382 if cpu < 4 else 1024 - cpu}\n" for cpu in range(8)}


@given(st.frozensets(st.integers(0, 300), min_size=1))
def test_what_is_written_is_read_again(cpus: frozenset[int]) -> None:
    assert parse_cpus(cpu_list(cpus)) == cpus


@pytest.mark.parametrize(
    ("written", "shortest"),
    [("0", "0"), ("1,0", "0-1"), ("0-1,1-3", "0-3"), ("8, 0-2", "0-2,8"), ("5-5", "5")],
)
def test_equal_lists_have_one_spelling(written: str, shortest: str) -> None:
    assert cpu_list(parse_cpus(written)) == shortest


@pytest.mark.parametrize("text", ["", "a", "-1", "3-1", "0,", "0-", "1.5", "٣", "0-999999999"])
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a list of CPUs") as caught:
        parse_cpus(text)
    assert caught.value.hint is not None


@pytest.mark.parametrize(
    ("files", "allowed", "fastest"),
    [
        (INTEL, "0-7", "0-3"),
        (INTEL, "2-5", "2-3"),
        (INTEL, "4-7", "4-7"),
        (ARM, "0-7", "4-7"),
        (ARM, "0-3", "0-3"),
        ({}, "0-7", "0-7"),
    ],
)
def test_the_fastest_cpus_are_of_one_kind_and_may_be_used(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: Mapping[str, str],
    allowed: str,
    fastest: str,
) -> None:
    for name, text in files.items():
        put(tmp_path / name, text)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(parse_cpus(allowed)))
    assert cpu_list(fastest_cpus(tmp_path)) == fastest


@pytest.mark.parametrize(
    ("siblings", "allowed", "cores"),
    [
        ({0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}, "0-3", ["0,2", "1,3"]),
        ({0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"}, "1-3", ["1", "2-3"]),
        ({}, "0-1", ["0", "1"]),
    ],
)
def test_hardware_threads_of_one_core_belong_together(
    tmp_path: Path, siblings: Mapping[int, str], allowed: str, cores: list[str]
) -> None:
    for cpu, text in siblings.items():
        put(tmp_path / SIBLINGS.format(cpu=cpu), f"{text}\n")
    assert [cpu_list(core) for core in cores_of(parse_cpus(allowed), tmp_path)] == cores
