"""Where an operation's time goes, by sampled stacks."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.analysis.explained_rounds import Call, CodeOrigin, Round, Stack
from dbhone.analysis.stacks import (
    OTHER,
    OTHER_THREADS,
    by_function,
    by_module,
    by_thread,
    folded,
    module_of,
    plain_name,
    totals,
)

CALLS = [
    Call(CodeOrigin.OWN, "executor", "ExecScan"),
    Call(CodeOrigin.OWN, "WAL", "XLogInsert"),
    Call(CodeOrigin.LIBRARY, "libc", "memcpy"),
    Call(CodeOrigin.KERNEL, "kernel: fdatasync", "fdatasync"),
]
STACKS = st.lists(st.sampled_from(CALLS), min_size=1, max_size=5).map(tuple)
WAIT = "os_event_wait_for<log_wait(log_t&)::{lambda(bool)#1}>"
COUNTS = st.dictionaries(STACKS, st.integers(1, 1000), min_size=1)


def one_round(stacks: Mapping[Stack, int], *, operations: int = 1000, cpu: float = 0.5) -> Round:
    return Round(operations=operations, seconds=1.0, cpu=cpu, client=0.1, stacks=stacks)


@given(COUNTS, st.integers(1, 10_000), st.floats(1e-3, 10))
def test_the_parts_of_an_operation_add_up_to_its_cpu_time(
    stacks: dict[Stack, int], operations: int, cpu: float
) -> None:
    rounds = [one_round(stacks, operations=operations, cpu=cpu)] * 3
    *parts, server, _, _ = totals(rounds, rounds, 1)
    assert sum(it.base.value for it in parts) == pytest.approx(server.base.value)
    assert sum(folded(rounds).values()) == pytest.approx(server.base.value)


@given(st.lists(COUNTS, min_size=3, max_size=6))
def test_a_server_does_not_differ_from_itself(stacks: list[dict[Stack, int]]) -> None:
    rounds = [one_round(it) for it in stacks]
    assert by_module(rounds, rounds) == []
    assert by_function(rounds, rounds) == []


def test_what_takes_longer_is_named_with_those_that_called_it() -> None:
    scan, insert, _, sync = CALLS
    base = [one_round({(scan,): 100 + noise}, cpu=0.1) for noise in range(5)]
    more: dict[Stack, int] = {(scan,): 100, (sync, insert, scan): 60, (sync,): 40}
    subject = [one_round({**more, (scan,): 100 + noise}, cpu=0.2) for noise in range(5)]
    (found,) = by_function(base, subject)
    assert (found.call, found.callers) == (sync, ("XLogInsert", "ExecScan"))
    assert found.difference.more.value == pytest.approx(1e-4, rel=0.05)
    assert [it.name for it in by_module(base, subject)] == ["kernel: fdatasync"]


def test_threads_are_told_apart_by_what_only_they_call() -> None:
    kinds = ((r"log_writer", "log threads"), (r"do_command", "connections"))
    wait = Call(CodeOrigin.OWN, "log", "log_wait")
    writer, command = (Call(CodeOrigin.OWN, "log", name) for name in ("log_writer", "do_command"))
    base = [one_round({(wait, command): 100 + noise}) for noise in range(5)]
    subject = [
        one_round({(wait, command): 50, (wait, writer): 50 + noise, (CALLS[3],): 10})
        for noise in range(5)
    ]
    found = {it.name: it.more.value for it in by_thread(base, subject, kinds)}
    assert set(found) == {"log threads", "connections", OTHER_THREADS}
    assert found["log threads"] > 0 > found["connections"]


def test_two_rounds_that_disagree_tell_of_no_difference() -> None:
    scan, insert, *_ = CALLS
    base = [one_round({(scan,): 100}), one_round({(scan,): 90, (insert,): 10})]
    subject = [one_round({(scan,): 90, (insert,): 10}), one_round({(scan,): 100})]
    assert by_module(base, subject) == []


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("ExecScan", "ExecScan"),
        ("ExecScan.lto_priv.0", "ExecScan"),
        ("heap_getnext.constprop.0.isra.0", "heap_getnext"),
        ("_bt_search.part.0.cold", "_bt_search"),
        ("log.write", "log.write"),
        ("row_search_mvcc [clone .part.0]", "row_search_mvcc"),
        ("Wait_stats os_event_wait_for<log_wait(log_t&)::{lambda(bool)#1}>", WAIT),
        ("void (anonymous namespace)::each<int>", "(anonymous namespace)::each<int>"),
        ("std::map<int, long>::find", "std::map<int, long>::find"),
        ("bool operator< <int>", "bool operator< <int>"),
        ("_M_run<void (*)(log_t*), log_t*>", "_M_run<void (*)(log_t*), log_t*>"),
        ("", ""),
    ],
)
def test_a_compilers_copies_of_a_function_count_as_the_function(name: str, plain: str) -> None:
    assert plain_name(name) == plain


@given(st.text(max_size=20))
def test_the_first_module_that_fits_counts(name: str) -> None:
    modules = ((r"log_", "log"), (r"lo", "locks"))
    expected = "log" if name[:4] == "log_" else "locks" if name[:2] == "lo" else OTHER
    assert module_of(name, modules) == expected
