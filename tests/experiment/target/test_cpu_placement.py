"""Which CPUs clients and servers get, and where the kernel still chooses."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from dbhone.experiment.declaration.load import parse
from dbhone.experiment.target import cpu_placement as module
from dbhone.experiment.target.cpu_placement import (
    CpuPlacement,
    cpu_placement,
    placement_for,
    usable_alike,
)
from dbhone.experiment.target.order import BlockSeed
from dbhone.experiment.target.warnings import placement_notes
from tests.experiment.pretended import pretended_server

CORES = tuple(frozenset({number, number + 4}) for number in range(4))
"""Four cores with two hardware threads each."""
EXPERIMENT = """\
title = "Two servers"
base = "old"

[sources]
old = "known:mariadb@10.11"
new = "known:mariadb@11.4"

[subjects]
old = {{ dbms = "mariadb", source = "old" }}
new = {{ like = "old", source = "new", levers = [{levers}] }}

[workload]
suite = "sysbench:micro"
threads = [{threads}]

[design]
{design}
"""


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the machine have these cores."""
    monkeypatch.setattr(module, "usable_alike", lambda: CORES)


def placement(threads: str, *, levers: str = "", design: str = "") -> CpuPlacement:
    text = EXPERIMENT.format(threads=threads, levers=levers, design=design)
    return cpu_placement(parse(text, name="x.toml"))


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(("threads", "clients"), [("1", 1), ("2", 2), ("1, 2", 2)])
def test_clients_have_as_many_cores_as_there_are_at_most(threads: str, clients: int) -> None:
    assert placement(threads) == CpuPlacement(cores=CORES, clients=clients)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("threads", ["3", "1, 16"])
def test_the_kernel_chooses_for_all_sets_if_one_has_too_many_clients(threads: str) -> None:
    assert placement(threads) == CpuPlacement()


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("lever", ['"cpus=0"', '"client-cpus=0", "jemalloc"'])
def test_a_lever_of_one_subject_says_it_for_all(lever: str) -> None:
    assert placement("1", levers=lever) == CpuPlacement()
    assert placement("1", levers='"jemalloc"').cores == CORES


@pytest.mark.usefixtures("machine")
def test_an_experiment_may_leave_it_to_the_kernel() -> None:
    assert placement("1", design='placement = "free"') == CpuPlacement()


@pytest.mark.parametrize(
    ("clients", "cores", "placed"), [(0, 4, 0), (1, 0, 0), (1, 1, 0), (1, 2, 1), (2, 3, 0)]
)
def test_servers_have_at_least_as_many_cores_as_clients(
    clients: int, cores: int, placed: int
) -> None:
    assert placement_for(clients, CORES[:cores]).clients == placed


@pytest.mark.parametrize(
    ("siblings", "fastest", "worth", "cores"),
    [
        ({0: {0, 1}, 1: {0, 1}, 2: {2, 3}, 3: {2, 3}}, {0, 1, 2, 3}, 4, 2),
        ({0: {0}, 1: {1}, 2: {2}, 3: {3}}, {0, 1, 2, 3}, 4, 4),
        ({0: {0, 1}, 1: {0, 1}, 2: {2}, 3: {3}}, {0, 1, 2, 3}, 4, 0),
        ({0: {0}, 1: {1}, 2: {2}, 3: {3}}, {0, 1}, 4, 0),
        ({0: {0}, 1: {1}, 2: {2}, 3: {3}}, {0, 1, 2, 3}, 2, 0),
    ],
    ids=["hardware threads", "plain", "unequal cores", "cores of two kinds", "a quota"],
)
def test_cores_are_shared_out_where_it_does_not_matter_which_one_gets(
    monkeypatch: pytest.MonkeyPatch,
    siblings: Mapping[int, set[int]],
    fastest: set[int],
    worth: int,
    cores: int,
) -> None:
    known = tuple({frozenset(core) for core in siblings.values()})
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(siblings))
    monkeypatch.setattr(module, "cores_of", lambda _: known)
    monkeypatch.setattr(module, "fastest_cpus", lambda: frozenset(fastest))
    monkeypatch.setattr(module, "usable_cores", lambda: worth)
    assert len(usable_alike()) == cores


def test_all_servers_of_a_block_and_their_clients_are_placed_alike() -> None:
    placed, drawn = CpuPlacement(cores=CORES, clients=2), set()
    for number in range(8):
        block = BlockSeed.of_block(1, number, fresh_data=False)
        old, new = (
            placed.in_block(pretended_server(name), block).levers.whole for name in ("old", "new")
        )
        assert old == new
        assert old.cpus is not None
        assert old.client_cpus is not None
        assert not old.cpus & old.client_cpus
        assert old.cpus | old.client_cpus == frozenset(range(8))
        assert all(core <= old.cpus or core <= old.client_cpus for core in CORES)
        drawn.add(old.client_cpus)
    assert len(drawn) > 1


def test_without_cores_of_its_own_a_server_is_as_it_was() -> None:
    server = pretended_server("old")
    assert CpuPlacement().in_block(server, BlockSeed()) is server


def test_a_footnote_tells_on_how_many_cores_clients_and_servers_were() -> None:
    (note,) = placement_notes(CpuPlacement(cores=CORES, clients=1))
    assert note.code == "cpus-apart"
    assert "clients had 1 core for themselves" in note.text
    assert "servers the remaining 3" in note.text
    assert list(placement_notes(CpuPlacement())) == []
