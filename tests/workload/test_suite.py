"""Suites are files; what they say must hold together."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest

from dbhone import registry
from dbhone.dbms.base import DRAWER as DBMS_DRAWER
from dbhone.dbms.base import Dbms
from dbhone.dbms.base_server import server_systems
from dbhone.errors import UnknownName
from dbhone.measurement.record import Group
from dbhone.workload import suite as suites
from dbhone.workload.drivers.base import load_driver
from dbhone.workload.suite import NumberedSet, Regime, ServerSet, StepKind
from dbhone.workload.task import Scale
from dbhone.workload.users_suite import SHARED, USED
from dbhone.workload.workload import Workload
from tests.workload.micro import micro

# What Mark Callaghan publishes, in the order in which he runs it.
MICRO = (
    *("update-inlist_range=100", "update-index_range=100", "update-nonindex_range=100"),
    *("update-one_range=100", "update-zipf_range=100", "write-only_range=10000"),
    *("read-write_range=10", "read-write_range=100", "scan_range=100"),
    *("read-only_range=10", "read-only_range=100", "read-only_range=10000"),
    *("read-only-simple_range=1000", "read-only-sum_range=1000", "read-only-order_range=1000"),
    *("read-only-distinct_range=1000", "read-only-count_range=1000", "point-query_range=100"),
    *("random-points_range=10", "random-points_range=100", "random-points_range=1000"),
    *("hot-points_range=100", "points-covered-pk_range=100", "points-notcovered-pk_range=100"),
    *("range-covered-pk_range=100", "range-notcovered-pk_range=100"),
    *("points-covered-si_range=100", "points-notcovered-si_range=100"),
    *("range-covered-si_range=100", "range-notcovered-si_range=100"),
    *("delete_range=100", "insert_range=100"),
)


def numbered() -> list[str]:
    return [name for name in suites.names() if not suites.load(name).server_sizes]


def scripted() -> list[str]:
    return [name for name in suites.names() if suites.load(name).server_sizes]


def scripted_set(name: str) -> ServerSet:
    found = micro().sets[name]
    assert isinstance(found, ServerSet)
    return found


@pytest.mark.parametrize("name", suites.names())
def test_every_suite_holds_together(name: str) -> None:
    suite = suites.load(name)
    assert load_driver(suite.driver).name == suite.driver
    known = registry.load_all(DBMS_DRAWER, Dbms, what="DBMS").values()
    assert set(suite.protocols) <= {dbms.interface for dbms in known}
    assert suite.sizes()
    assert suite.measured()
    for each in suite.sets.values():
        keys = each.keys()
        assert keys
        assert len(set(keys)) == len(keys), "a step is in one group only"
        assert all(each.group_of(key) is not None for key in keys)


@pytest.mark.parametrize("name", numbered())
def test_the_sizes_of_numbered_sets_grow(name: str) -> None:
    suite = suites.load(name)
    for each in suite.sets.values():
        assert isinstance(each, NumberedSet)
        sizes = [each.sizes[size] for size in suite.sizes()]
        assert sizes == sorted(sizes)


@pytest.mark.parametrize("name", scripted())
def test_the_sizes_of_servers_suites_grow(name: str) -> None:
    suite = suites.load(name)
    sizes = list(suite.server_sizes.values())
    scales = (Scale(size=size) for size in suite.sizes())
    volumes = [Workload(name=name, scale=scale).data.volume for scale in scales]
    assert volumes == sorted(set(volumes))
    for small, large in itertools.pairwise(sizes):
        assert max(small.threads) <= max(large.threads)
        assert all(small.seconds[kind] <= large.seconds[kind] for kind in StepKind)
    for size in sizes:
        assert size.cache[Regime.OS_CACHED] < size.cache[Regime.CACHED]


def test_a_step_has_the_group_of_the_suites_file() -> None:
    main = suites.load("speedtest1").sets["main"]
    assert main.group_of("410") is Group.POINT
    assert main.group_of("130") is Group.RANGE
    assert main.group_of("100") is Group.WRITE
    assert main.group_of("999") is None


def test_unknown_names_tell_the_nearest() -> None:
    with pytest.raises(UnknownName) as caught:
        suites.load("speedtest")
    assert caught.value.hint == "did you mean 'speedtest1'?"
    with pytest.raises(UnknownName, match="no set 'mian'"):
        suites.full_names(suites.load("speedtest1"), ("mian",))
    with pytest.raises(UnknownName, match="no size 'big'"):
        suites.check_size(suites.load("speedtest1"), "big")


def test_the_microbenchmarks_are_the_published_ones_in_their_order() -> None:
    assert micro().measured() == MICRO
    assert micro().ordered
    groups = Counter(scripted_set(name).group for name in MICRO)
    assert groups == {Group.POINT: 9, Group.RANGE: 5, Group.AGGREGATE: 8, Group.WRITE: 10}


def test_what_only_fills_caches_is_not_measured() -> None:
    assert micro().warm_ups() == ("point-query.warm", "scan.warm", "points-covered-si.warm")
    with pytest.raises(UnknownName):
        suites.full_names(micro(), ("scan.warm",))


@pytest.mark.parametrize("name", MICRO)
def test_the_name_of_a_microbenchmark_tells_how_many_rows_it_asks_for(name: str) -> None:
    options = scripted_set(name).driver_keys.get("options", {})
    said = name.partition("=")[2]
    for option in ("range-size", "points"):
        # The updates of his lists always have 10 points.
        if option in options and not name.startswith("update-"):
            assert options[option] == said


def test_a_transaction_that_only_reads_writes_nothing() -> None:
    writing = {"index-updates", "other-updates", "replacements", "every-write"}
    for name in MICRO:
        chosen = scripted_set(name)
        if chosen.driver_keys["script"] == "transaction":
            writes = bool(writing & set(chosen.driver_keys.get("options", {})))
            assert writes == (chosen.group is Group.WRITE), name


@pytest.mark.parametrize("name", scripted())
def test_every_server_that_is_known_has_every_servers_suite(name: str) -> None:
    interfaces = {dbms.interface for dbms in server_systems().values()}
    own = {"pgbench": {"postgresql"}}  # a DBMS's own program
    assert set(suites.load(name).protocols) == own.get(name, interfaces)


def test_a_server_that_is_to_let_clients_in_all_the_time_allows_many_more_than_there_are() -> None:
    for size in suites.load("sysbench:connect").server_sizes.values():
        assert size.spare_connections >= 10 * max(size.threads)


@pytest.mark.parametrize("name", suites.names())
def test_every_suite_is_documented(name: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / "workloads.md").read_text(encoding="utf-8")
    assert f"| `{name}` |" in text


def test_what_a_name_says_of_ranges_may_be_left_out_where_one_set_is_meant() -> None:
    words = ("point-query", "update-nonindex", "update-index", "read-write_range=100")
    assert suites.full_names(micro(), words) == (
        "point-query_range=100",
        "update-nonindex_range=100",
        "update-index_range=100",
        "read-write_range=100",
    )
    with pytest.raises(UnknownName):
        suites.full_names(micro(), ("read-write",))


def test_every_microbenchmark_and_its_script_are_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "workloads.md").read_text(encoding="utf-8")
    for name in micro().sets:
        short = name.partition("_")[0]
        assert f"`{short}" in text or name.endswith(".warm"), name
        assert f"| `{scripted_set(name).driver_keys['script']}` |" in text, name


def test_hone_knows_every_script_that_a_script_uses() -> None:
    """What it does not know is in no digest, and kept data would be taken for that of today."""
    scripts = sorted(SHARED.parents[1].rglob("*.lua"))
    assert scripts
    for script in scripts:
        text = script.read_text(encoding="utf-8")
        assert text.count("dofile(") == len(USED.findall(text)), script.name
