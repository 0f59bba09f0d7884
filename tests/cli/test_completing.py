"""A shell completes what there is here and now, and nothing where something is wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from dbhone.cli.main import hone
from dbhone.measurement.store import Store
from tests.measurement.store_records import begin


def completed(*words: str) -> list[str]:
    """Return what the last of the words can become."""
    *before, incomplete = words
    shell = ShellComplete(hone, {}, "hone", "_HONE_COMPLETE")
    items = shell.get_completions(list(before), incomplete)
    return [item.value for item in items if item.type == "plain"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "store.db") as store:
        begin(store)
        begin(store)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("run", "postgresql-b"), ["postgresql-builds"]),
        (("try", "ma"), ["mariadb"]),
        (("setup", "postg"), ["postgresql"]),
        (("init", "sqlite", "tr"), ["training"]),
        (("suites", "speed"), ["speedtest1"]),
        (("build", "--train", "insert_"), ["insert_range=100"]),
        (("configs", "kino"), ["kinoshita"]),
    ],
)
def test_names_are_completed(words: tuple[str, ...], offered: list[str]) -> None:
    assert completed(*words) == offered


@pytest.mark.parametrize("command", ["show", "report", "resume", "delete", "rename"])
def test_runs_of_the_chosen_home_are_completed(home: Path, command: str) -> None:
    assert completed("--home", str(home), command, "") == ["last", "2", "1"]


def test_a_home_without_runs_completes_to_nothing(tmp_path: Path) -> None:
    assert completed("--home", str(tmp_path), "show", "") == []
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    hone.main(["completion", shell], standalone_mode=False)
    script = capsys.readouterr().out
    assert "_HONE_COMPLETE" in script
    if shell == "bash":
        subprocess.run(("bash", "-n"), input=script, text=True, check=True)
