"""A shell completes what there is here and now, and nothing where something is wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from dbhone.cli.main import hone
from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import write_manifest
from dbhone.compilation.variant import parse_variant
from dbhone.measurement.store import Store
from tests.compilation.plain_build import plain_build
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
        (("compare", "--suite", "hiroi10", "--sets", "olt"), ["oltp"]),
        (("compare", "--suite", "hiroi10", "--sets", "oltp,simple"), ["oltp,simple-select"]),
        (("compare", "--suite", "hiroi10", "--sets", "oltp,olt"), []),
        (("history", "mysql", "--versions", "8.0.3"), ["8.0.33"]),
        (("history", "mysql", "--versions", "8.0.33,8"), ["8.0.33,8.0.12"]),
        (("history", "postgresql", "--versions", "8.0.3"), []),
        (("tune", "--variant", "lto+pg"), ["lto+pgo"]),
        (("tune", "--lever", "jem"), ["jemalloc"]),
        (("report", "--beside", "jia"), ["jiang-pgo"]),
        (("reprot", "l"), []),
    ],
)
def test_names_are_completed(words: tuple[str, ...], offered: list[str]) -> None:
    assert completed(*words) == offered


@pytest.mark.parametrize("command", ["show", "report", "resume", "delete", "rename"])
def test_runs_of_the_chosen_home_are_completed(home: Path, command: str) -> None:
    assert completed("--home", str(home), command, "") == ["last", "2", "1"]


def test_builds_are_completed_by_their_digest(home: Path) -> None:
    digest = "ab12cd34" * 8
    folder = home / "builds" / digest
    folder.mkdir(parents=True)
    inputs = BuildInputs(dbms="sqlite", source="apt:sqlite3", variant=parse_variant("rel+lto"))
    write_manifest(folder, plain_build(folder, inputs).manifest)
    for command in (("verify",), ("package",), ("verify", "last", "--against")):
        assert completed("--home", str(home), *command, "ab") == [digest[:12]]
    assert completed("--home", str(home), "verify", "") == [digest[:12], "last", "2", "1"]


def test_an_experiment_can_be_started_too(home: Path) -> None:
    offered = completed("--home", str(home), "start", "")
    assert offered[:3] == ["last", "2", "1"]
    assert "postgresql-builds" in offered


def test_compilers_on_the_path_are_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("gcc", "gcc-12", "gcc-ar", "clang-19", "clang-format-19", "cc"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{tmp_path / 'missing'}")
    assert completed("build", "--compiler", "") == ["clang-19", "gcc", "gcc-12"]


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
