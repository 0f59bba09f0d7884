"""What every command says of a home that is somebody else's, or that has no runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.errors import MachineError, UsageError
from dbhone.home import Home
from dbhone.measurement.store import Store
from dbhone.session import open_session
from tests.cli.finished_run import invoke


@pytest.mark.parametrize(
    "words",
    [("runs",), ("report", "last"), ("builds",), ("clean",), ("versions",), ("plan", "try")],
)
def test_a_home_of_another_user_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    home = Home(tmp_path / "home")
    with open_session(home):
        pass
    # Root may enter a folder of any mode.
    monkeypatch.setattr("dbhone.home.os.access", lambda path, _: path != home.root)
    error = invoke(home, *words, catch_exceptions=True).exception
    assert isinstance(error, MachineError)
    assert error.message == f"cannot use the home folder {home.root}: Permission denied"
    assert error.hint == ("a home belongs to one user: choose another with --home or DBHONE_HOME")


@pytest.mark.parametrize(("user", "told"), [(1000, True), (0, False)])
def test_who_has_no_runs_is_told_where_roots_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, told: bool
) -> None:
    roots, home = Home(tmp_path / "root"), Home(tmp_path / "home")
    monkeypatch.setattr("dbhone.home.ROOTS_HOME", roots.root)
    monkeypatch.setattr("dbhone.cli.context.ROOTS_HOME", roots.root)
    monkeypatch.setattr("os.geteuid", lambda: user)

    def hints() -> tuple[str, str]:
        error = invoke(home, "report", "last", catch_exceptions=True).exception
        assert isinstance(error, UsageError)
        return error.hint or "", invoke(home, "runs").stderr

    where = f"root's runs are in {roots.root}: 'sudo hone runs' lists them"
    assert not any(where in hint for hint in hints())
    with open_session(roots), Store.open(roots.database):
        pass
    assert [where in hint for hint in hints()] == [told, told]
    with open_session(home), Store.open(home.database):
        pass
    assert [where in hint for hint in hints()] == [told, told]
