"""Levers: how they are written, when a machine cannot give them, what they bring to a start."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from dbhone.dbms.myrocks import MyRocks
from dbhone.errors import UnknownName, UsageError
from dbhone.instance import applied_levers
from dbhone.instance.host_state import read_host_capabilities
from dbhone.instance.levers.base import LeverContext, ObservedState
from tests.instance import lives
from tests.instance.offers import OFFER

NEED = LeverContext(value="", dbms=lives.Mariadb(), cache_bytes=1024**3, servers=1)
NOTHING = ObservedState(
    files=frozenset(), cpus=frozenset({OFFER.cpus}), huge_bytes=0, numa_policies=frozenset()
)


def refused(*words: str, **host: object) -> str:
    poorer = dataclasses.replace(OFFER, **host)  # type: ignore[arg-type]
    found = applied_levers.refusal(applied_levers.canonical(words), NEED, poorer)
    return "" if found is None else f"{found.reason} → {found.hint}"


def test_equal_levers_are_equal_words() -> None:
    written = applied_levers.canonical(["numa=interleave", "cpus=1,0", "jemalloc", "jemalloc"])
    assert written == ("cpus=0-1", "jemalloc", "numa=interleave")
    assert applied_levers.canonical(written) == written


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["jemalloc", "tcmalloc"], "jemalloc and tcmalloc exclude each other"),
        (["cpus=0", "cpus=1"], "cpus=0 and cpus=1 exclude each other: both set the server's CPUs"),
        (["jemalloc=2"], "the lever jemalloc takes no value"),
        (["cpus"], "'' is not a list of CPUs"),
        (["numa=bind"], "the lever numa cannot be 'bind'"),
    ],
)
def test_levers_that_cannot_be_meant_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        applied_levers.canonical(words)


def test_a_lever_that_does_not_exist_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="there is no lever 'jemaloc'") as caught:
        applied_levers.canonical(["jemaloc"])
    assert "'jemalloc'" in str(caught.value.hint)


def test_a_machine_that_has_all_refuses_nothing() -> None:
    assert not refused("jemalloc", "cpus=0-1", "client-cpus=2-3", "numa=interleave", "huge-pages")


def test_a_library_that_is_missing_is_told_with_its_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(applied_levers, "install_advice", lambda names: f"install {names[-1]}")
    said = refused("mimalloc")
    assert said.startswith("mimalloc is not installed: there is no libmimalloc.so.3 or libmimalloc")
    assert said.endswith("→ install libmimalloc.so.2")


def test_a_cpu_that_hone_may_not_use_is_told() -> None:
    assert refused("cpus=2-5").startswith("hone cannot use the CPUs 4-5, but 0-3 only")
    assert refused("client-cpus=9").startswith("hone cannot use the CPU 9, but 0-3 only")


def test_one_numa_node_is_nothing_to_spread_over() -> None:
    assert "one NUMA node" in refused("numa=interleave", numa_nodes=1)
    assert "apt-get install numactl" in refused("numa=interleave", programs={})


def test_huge_pages_that_are_not_reserved_are_told_with_their_number() -> None:
    # 1 GiB, a tenth more, and 320 MiB beside it: 723.2 pages of 2 MiB; 100 are taken.
    said = refused("huge-pages", huge_pages_free=500, huge_pages=600)
    assert "1 server with a cache of 1.0 GiB would need 724 huge pages of 2.0 MiB" in said
    assert "500 are free" in said
    assert said.endswith("sysctl vm.nr_hugepages=824")
    assert "no huge pages" in refused("huge-pages", huge_page_bytes=0)


def test_a_cache_that_no_setting_puts_into_huge_pages_is_refused() -> None:
    found = applied_levers.refusal(
        ("huge-pages",), dataclasses.replace(NEED, dbms=MyRocks()), OFFER
    )
    assert found is not None
    assert found.reason == "no setting of MyRocks puts its cache into huge pages"


def test_huge_pages_are_for_all_servers_that_run_at_once() -> None:
    three = dataclasses.replace(NEED, servers=3)
    assert applied_levers.refusal(("huge-pages",), three, OFFER) is not None
    assert applied_levers.refusal(("huge-pages",), NEED, OFFER) is None


def test_what_levers_bring_is_added_up() -> None:
    words = ("client-cpus=2", "cpus=0-1", "huge-pages", "numa=interleave", "tcmalloc")
    applied = applied_levers.apply(words, NEED, OFFER)
    assert applied.environment() == {"LD_PRELOAD": "/lib/tc"}
    assert applied.whole.prefix == ("/usr/bin/numactl", "--interleave=all")
    assert applied.whole.cpus == frozenset({0, 1})
    assert applied.whole.client_cpus == frozenset({2})
    assert dict(applied.whole.settings) == {"large_pages": "ON"}
    postgresql = dataclasses.replace(NEED, dbms=lives.Postgresql())
    settings = applied_levers.apply(("huge-pages",), postgresql, OFFER).whole.settings
    assert dict(settings) == {"huge_pages": "on"}


def test_no_levers_bring_nothing() -> None:
    applied = applied_levers.apply((), NEED, OFFER)
    assert applied.environment() == {}
    assert applied.whole.cpus is None
    assert applied.without_effect(NOTHING) is None


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("jemalloc", {"files": frozenset({Path("/lib/jemalloc").resolve()})}),
        ("cpus=0-1", {"cpus": frozenset({frozenset({0, 1})})}),
        ("numa=interleave", {"numa_policies": frozenset({"default", "interleave"})}),
        ("huge-pages", {"huge_bytes": NEED.cache_bytes}),
    ],
)
def test_a_lever_that_the_server_does_not_show_had_no_effect(
    word: str, shown: dict[str, object]
) -> None:
    applied = applied_levers.apply((word,), NEED, OFFER)
    lever = applied.without_effect(NOTHING)
    assert lever is not None
    assert lever.name == word.partition("=")[0]
    assert lever.remedy
    observed = dataclasses.replace(NOTHING, **shown)  # type: ignore[arg-type]
    assert applied.without_effect(observed) is None


def test_a_thread_that_left_its_cpus_shows() -> None:
    applied = applied_levers.apply(("cpus=0",), NEED, OFFER)
    stray = dataclasses.replace(NOTHING, cpus=frozenset({frozenset({0}), frozenset({0, 1})}))
    assert applied.without_effect(stray) is not None


def test_huge_pages_for_a_part_of_the_cache_are_not_enough() -> None:
    applied = applied_levers.apply(("huge-pages",), NEED, OFFER)
    part = dataclasses.replace(NOTHING, huge_bytes=NEED.cache_bytes - 1)
    assert applied.without_effect(part) is not None


def test_a_survey_tells_of_each_lever_that_a_machine_may_lack() -> None:
    found = {lever.name: refusal for lever, refusal in applied_levers.survey(NEED)}
    assert set(found) == {"huge-pages", "jemalloc", "mimalloc", "numa", "tcmalloc"}
    for refusal in found.values():
        assert refusal is None or refusal.reason


def test_the_kernels_books_are_read(tmp_path: Path) -> None:
    for name in ("node0", "node1", "node10", "possible", "power"):
        (tmp_path / "sys/devices/system/node" / name).mkdir(parents=True)
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text(
        "MemTotal: 16000000 kB\nHugePages_Total:     100\nHugePages_Free:       80\n"
        "HugePages_Rsvd:       30\nHugePages_Surp:        0\nHugepagesize:       2048 kB\n"
    )
    host = read_host_capabilities((), root=tmp_path)
    assert host.numa_nodes == 3
    assert (host.huge_pages, host.huge_pages_free) == (100, 50)
    assert host.huge_page_bytes == 2 * 1024**2


def test_a_machine_that_tells_nothing_has_one_node_and_no_huge_pages(tmp_path: Path) -> None:
    host = read_host_capabilities((), root=tmp_path)
    assert (host.numa_nodes, host.huge_page_bytes, host.huge_pages_free) == (1, 0, 0)


def test_only_what_levers_ask_for_is_looked_up() -> None:
    host = read_host_capabilities([applied_levers.load_lever("numa")])
    assert not host.libraries
    assert set(host.programs) <= {"numactl"}
