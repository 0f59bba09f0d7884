"""Which CPUs clients and servers get, and where the kernel still chooses."""

from __future__ import annotations

import pytest

from dbhone.experiment.declaration.load import parse
from dbhone.experiment.target.cpu_placement import CpuPlacement, cpu_placement
from dbhone.experiment.target.order import BlockSeed
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


def placement(threads: str, *, levers: str = "", design: str = "") -> CpuPlacement:
    text = EXPERIMENT.format(threads=threads, levers=levers, design=design)
    return cpu_placement(parse(text, name="x.toml"), CORES)


@pytest.mark.parametrize(("threads", "clients"), [("1", 1), ("2", 2), ("1, 2", 2)])
def test_each_client_has_a_core_of_its_own(threads: str, clients: int) -> None:
    assert placement(threads) == CpuPlacement(cores=CORES, clients=clients)


@pytest.mark.parametrize("threads", ["3", "1, 16"])
def test_the_kernel_chooses_where_too_few_cores_would_be_left(threads: str) -> None:
    assert placement(threads) == CpuPlacement()


@pytest.mark.parametrize("lever", ['"cpus=0"', '"client-cpus=0"'])
def test_a_lever_of_one_subject_says_it_for_all(lever: str) -> None:
    assert placement("1", levers=lever) == CpuPlacement()
    assert placement("1", levers='"jemalloc"').cores == CORES


def test_an_experiment_may_leave_it_to_the_kernel() -> None:
    assert placement("1", design='placement = "free"') == CpuPlacement()


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
        assert old.cpus | old.client_cpus == placed.cpus
        assert all(core <= old.cpus or core <= old.client_cpus for core in CORES)
        drawn.add(old.client_cpus)
    assert len(drawn) > 1


def test_without_cores_of_its_own_a_server_is_as_it_was() -> None:
    server = pretended_server("old")
    assert CpuPlacement().in_block(server, BlockSeed()) is server
