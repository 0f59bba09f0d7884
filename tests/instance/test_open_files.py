"""How many files a server needs to have open, and how many it may."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from dbhone.dbms.base_server import load_server_dbms
from dbhone.errors import MachineError
from dbhone.instance import open_files


@pytest.mark.parametrize(
    ("dbms", "settings", "needed"),
    [
        ("mysql", {}, 0),
        ("mysql", {"max_connections": "480", "table_open_cache": "20480"}, 41_470),
        ("mariadb", {"max_connections": "1000"}, 1830),
        ("mysql", {"max_connections": "20", "open_files_limit": "64K"}, 65_536),
        ("mysql", {"innodb_open_files": "3000"}, 3000),
        ("myrocks", {"rocksdb_max_open_files": "-1"}, 0),
        ("postgresql", {"max_connections": "1000"}, 0),
        ("postgresql", {"max_files_per_process": "5000"}, 5064),
    ],
)
def test_what_settings_need_is_what_the_server_computes_at_its_start(
    dbms: str, settings: dict[str, str], needed: int
) -> None:
    assert load_server_dbms(dbms).files_needed(settings) == needed


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a /proc of a user without rights, whose hard limit is 4096."""
    (tmp_path / "sys/fs").mkdir(parents=True)
    (tmp_path / "sys/fs/nr_open").write_text("1048576\n")
    (tmp_path / "self").mkdir()
    (tmp_path / "self/status").write_text("Name:\thone\nCapEff:\t0000000000000000\n")
    monkeypatch.setattr(open_files, "_PROC", tmp_path)
    monkeypatch.setattr("resource.getrlimit", lambda _: (1024, 4096))
    return tmp_path


@pytest.mark.usefixtures("proc")
def test_what_exceeds_the_hard_limit_is_refused_with_the_command_that_raises_it() -> None:
    open_files.check_open_files(4096, "the server of rel")
    with pytest.raises(MachineError, match=r"the server of rel needs 41,470 open files") as refused:
        open_files.check_open_files(41_470, "the server of rel")
    assert "may have 4,096 here" in refused.value.message
    assert "prlimit --pid $$ --nofile=41470" in (refused.value.hint or "")


def test_root_may_exceed_the_hard_limit_up_to_the_systems(proc: Path) -> None:
    (proc / "self/status").write_text("CapEff:\t000001ffffffffff\n")
    open_files.check_open_files(1_048_576, "the server of rel")
    with pytest.raises(MachineError) as refused:
        open_files.check_open_files(2_000_000, "the server of rel")
    assert "sysctl fs.nr_open=2000000 && " in (refused.value.hint or "")


def test_the_limit_of_a_process_is_read() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert hard == resource.RLIM_INFINITY or open_files.limit_of(os.getpid()) == hard
    assert open_files.limit_of(2**22 + 1) is None


def test_a_limit_that_is_too_low_for_what_was_asked_is_told_with_the_command() -> None:
    assert open_files.too_few(4000, 4096) == open_files.too_few(4000, None) == ""
    told = open_files.too_few(41_470, 20_000)
    assert told.startswith("They need 41,470 open files, and its process may have 20,000: run ")
