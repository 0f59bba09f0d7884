"""The sessions that use a home."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dbhone.errors import MachineError
from dbhone.home import Home
from dbhone.session import is_alive, open_session, open_traceless_session
from tests.foundation.processes import wait_until_gone

_DYING = """\
import os, pathlib, subprocess, sys
from dbhone.home import Home
from dbhone.session import open_session
with open_session(Home(pathlib.Path(sys.argv[1]))) as session:
    session.workdir("half")
    child = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True
    )
    print(session.id, child.pid, flush=True)
    os.kill(os.getpid(), 9)
"""
_KEEPING = """\
had = session.fixed_workdir("half")
    (had.__enter__() / "object").touch()
"""


def test_a_session_is_alive_until_it_ends(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with open_session(home) as session:
        assert is_alive(home, session.id)
        assert session.workdir("x").is_dir()
    assert not is_alive(home, session.id)
    assert not session.scratch.exists()


def test_who_looks_at_a_dead_session_while_another_looks_sees_it_dead(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.sessions.mkdir(parents=True)
    with (home.sessions / "dead").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert not is_alive(home, "dead")


def test_two_sessions_share_a_home(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with open_session(home) as first, open_session(home) as second:
        assert first.id != second.id
        folder = first.workdir("x")
        with open_session(home):
            assert folder.is_dir()


def test_the_next_session_cleans_up_after_one_that_was_killed(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    code = [sys.executable, "-c", _DYING, str(home.root)]
    with subprocess.Popen(code, stdout=subprocess.PIPE, text=True) as dying:
        assert dying.stdout is not None
        name, pid = dying.stdout.readline().split()
    assert (home.scratch / name).is_dir()
    with open_session(home):
        assert not is_alive(home, name)
        assert not (home.scratch / name).exists()
    wait_until_gone(int(pid))


def test_a_fixed_workdir_is_one_sessions_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbhone.session._PATIENCE", 0.0)
    home = Home(tmp_path / "home")
    with open_session(home) as first, open_session(home) as second:
        with first.fixed_workdir("build-x") as folder:
            (folder / "object").touch()
            with (
                pytest.raises(MachineError, match=r"another hone uses .*build-x"),
                second.fixed_workdir("build-x"),
            ):
                pass
            with open_session(home):
                assert (folder / "object").exists()
        assert not folder.exists()
        with second.fixed_workdir("build-x") as again:
            assert again == folder
            assert not list(again.iterdir())
    assert not list(home.scratch.iterdir())
    assert not list(home.sessions.iterdir())


def test_a_fixed_workdir_of_a_session_that_was_killed_is_empty(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    code = [sys.executable, "-c", _DYING.replace('session.workdir("half")', _KEEPING)]
    with subprocess.Popen([*code, str(home.root)], stdout=subprocess.PIPE, text=True) as dying:
        assert dying.stdout is not None
        dying.stdout.readline()
    assert (home.scratch / "half" / "object").exists()
    with open_session(home) as session:
        assert not (home.scratch / "half").exists()
        with session.fixed_workdir("half") as folder:
            assert not list(folder.iterdir())


def test_the_session_mark_is_gone_afterwards(tmp_path: Path) -> None:
    with open_session(Home(tmp_path / "home")) as session:
        assert os.environ["DBHONE_SESSION"] == session.id
    assert "DBHONE_SESSION" not in os.environ


def test_a_traceless_session_makes_no_home(tmp_path: Path) -> None:
    home = Home(tmp_path / "share" / "dbhone")
    with open_traceless_session(home) as session:
        assert session.workdir("probe").is_dir()
        assert session.home.root.parent == tmp_path
        assert not home.root.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_traceless_session_uses_the_home_that_is_there(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with open_session(home):
        pass
    with open_traceless_session(home) as session:
        assert session.home == home
    assert list(home.scratch.iterdir()) == []


def test_a_traceless_session_names_the_home_that_could_not_be_made() -> None:
    with (
        pytest.raises(MachineError, match="cannot use the home folder /proc/home"),
        open_traceless_session(Home(Path("/proc/home"))),
    ):
        raise AssertionError("there is a session")
