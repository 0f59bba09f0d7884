"""The last resort: what nobody foresaw."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import click
import pytest

from dbhone.cli import main


@pytest.fixture(autouse=True)
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every command have a fault."""

    @click.command()
    def command() -> NoReturn:
        raise KeyError("[/oops]")

    monkeypatch.setattr("dbhone.registry.load", lambda *_, **__: command)


def test_a_fault_is_told_and_its_traceback_kept_in_the_chosen_home(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main._run(["--home", str(tmp_path / "chosen"), "runs"]) == 1
    (log,) = (tmp_path / "chosen" / "logs").iterdir()
    assert "KeyError: '[/oops]'" in log.read_text()
    told = capsys.readouterr().err
    assert told.startswith("error: a bug in hone: KeyError: '[/oops]'\n")
    assert f"log: {log}\n" in told


def test_a_fault_is_told_where_no_home_can_keep_its_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBHONE_HOME", str(tmp_path / "jane doe"))
    assert main._run(["runs"]) == 1
    told = capsys.readouterr().err
    assert "a bug in hone" in told
    assert "log:" not in told


def test_what_nohup_ignores_stays_ignored() -> None:
    script = (
        "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN);"
        " sys.argv = ['hone', '--version'];"
        " from dbhone.cli.main import main\n"
        "try:\n main()\nexcept SystemExit: pass\n"
        "print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN,"
        " callable(signal.getsignal(signal.SIGTERM)))"
    )
    done = subprocess.run(
        (sys.executable, "-c", script), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "True True"
