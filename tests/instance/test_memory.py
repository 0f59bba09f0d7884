"""Whether servers fit into the memory, and what a share of it is."""

from __future__ import annotations

import psutil
import pytest

from dbhone.cgroup import usable_memory
from dbhone.dbms.mysql import Mysql
from dbhone.dbms.postgresql import Postgresql
from dbhone.errors import MachineError, SettingsError
from dbhone.instance.memory import (
    Yardstick,
    cache_bytes_of,
    check_memory,
    fit_together,
    memory_for,
    scaled,
    server_memory_limits,
)

GIB = 1024**3
YARDSTICK = Yardstick(memory=16 * GIB, cache=2 * GIB)


def test_servers_that_do_not_fit_into_the_memory_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    available = psutil.virtual_memory().available
    with pytest.raises(MachineError, match="2 servers with a cache of") as caught:
        check_memory([available, available])
    assert caught.value.hint is not None
    check_memory([1024**2])
    monkeypatch.setattr("dbhone.cgroup.memory_limit", lambda root: 100 * 1024.0**2)
    with pytest.raises(MachineError, match=r"the control group allows 100\.0 MiB"):
        check_memory([1024**2])


def test_caches_of_several_sizes_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbhone.cgroup.memory_limit", lambda root: 1024.0**3)
    check_memory([256 * 1024**2, 128 * 1024**2])
    with pytest.raises(MachineError, match=r"with a cache of 512\.0 MiB and 384\.0 MiB"):
        check_memory([512 * 1024**2, 384 * 1024**2])


def test_whether_caches_fit_together_leaves_other_programs_a_tenth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dbhone.instance.memory.memory_for", lambda _: 10 * GIB)
    assert fit_together([4 * GIB, 4 * GIB])
    assert not fit_together([5 * GIB, 4 * GIB])


def test_servers_share_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbhone.cgroup.memory_limit", lambda root: 1000.0)
    assert memory_for(1) == 1000
    assert memory_for(4) == 250


@pytest.mark.parametrize(
    ("value", "mysql", "postgresql"),
    [
        ("50% of memory", str(8 * GIB), "8388608kB"),
        ("100 % of cache", str(2 * GIB), "2097152kB"),
        ("1.25% of cache, at least 64M", str(64 * 1024**2), "65536kB"),
        ("25% of cache, at least 64M", str(512 * 1024**2), "524288kB"),
        ("0.001% of cache", str(1024**2), "1024kB"),
        ("8G", "8G", "8G"),
        ("%sync%=on", "%sync%=on", "%sync%=on"),
    ],
)
def test_a_share_is_written_as_the_server_writes_sizes(
    value: str, mysql: str, postgresql: str
) -> None:
    assert scaled(value, YARDSTICK, Mysql()) == mysql
    assert scaled(value, YARDSTICK, Postgresql()) == postgresql


@pytest.mark.parametrize(
    "value", ["50% of ram", "50% of memory at least 1G", "half of memory % of"]
)
def test_what_is_nearly_a_share_is_refused(value: str) -> None:
    with pytest.raises(SettingsError, match="not a share of memory") as caught:
        scaled(value, YARDSTICK, Mysql())
    assert caught.value.hint is not None


@pytest.mark.parametrize(
    ("value", "mysql", "postgresql"),
    [
        ("8G", 8 * GIB, None),
        ("8GB", 8 * GIB, 8 * GIB),
        ("1048576kB", GIB, GIB),
        ("16384", 16384, 16384 * 8192),
        ("much", None, None),
    ],
)
def test_the_size_of_a_cache_is_read_as_the_server_reads_it(
    value: str, mysql: int | None, postgresql: int | None
) -> None:
    assert Mysql().bytes_of(value) == mysql
    assert Postgresql().bytes_of(value) == postgresql


def test_postgresql_reads_a_part_of_a_unit_too() -> None:
    assert Postgresql().bytes_of("12.5GB") == 25 * GIB // 2


def test_servers_side_by_side_may_hold_what_they_need_and_equal_parts_of_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dbhone.instance.memory.usable_memory", lambda: 10 * GIB)
    assert server_memory_limits({"small": GIB, "large": 3 * GIB}) == {
        "small": 4 * GIB,
        "large": 6 * GIB,
    }
    assert server_memory_limits({"alone": GIB}) == {"alone": 10 * GIB}
    whole = server_memory_limits({"one": 8 * GIB, "two": 8 * GIB})
    assert whole == {"one": 8 * GIB + GIB // 8, "two": 8 * GIB + GIB // 8}


def test_the_machine_keeps_some_of_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbhone.cgroup.memory_limit", lambda root: 4.0 * GIB)
    assert usable_memory() == 4 * GIB - GIB // 2
    monkeypatch.setattr("dbhone.cgroup.memory_limit", lambda root: 16.0 * GIB)
    assert usable_memory() == min(16 * GIB, psutil.virtual_memory().total) - GIB


@pytest.mark.parametrize(
    ("settings", "cache"),
    [
        ({"innodb-buffer-pool-size": "3G"}, 3 * GIB),
        ({"loose_innodb_buffer_pool_size": "3G"}, 3 * GIB),
        ({"innodb_buffer_pool_size": "50% of memory"}, 8 * GIB),
        ({"innodb_buffer_pool_size": "much"}, 2 * GIB),
        ({"sync_binlog": "1"}, 2 * GIB),
    ],
)
def test_the_cache_is_as_large_as_the_settings_say(settings: dict[str, str], cache: int) -> None:
    assert cache_bytes_of(Mysql(), settings, YARDSTICK) == cache
    assert cache_bytes_of(Postgresql(), {"shared_buffers": "512MB"}, YARDSTICK) == GIB // 2
