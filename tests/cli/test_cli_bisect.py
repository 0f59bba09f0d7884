"""``hone compare --bisect`` leads ``git bisect run`` to the guilty commit, as the guide says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dbhone.cli import generated, main
from dbhone.cli.context import Context
from dbhone.errors import BuildError, HoneError, Interrupted, ToolError
from dbhone.experiment.declaration.model import Experiment
from dbhone.report.page import Page
from dbhone.source.tree import recall
from tests.report.answered_pages import broken_page, compared_page
from tests.source.repositories import Repository

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "bisect.md"
SPEEDS = {3: "0.97", 4: "", 5: "0.97", 6: "0.7", 7: "0.7", 8: "0.68"}
"""How fast the tree of each commit is. Those not named are as fast as the first; 4 is not built."""
GUILTY = 6


def pretend_run(context: Context, experiment: Experiment, *, refresh: bool, force: bool) -> Page:
    """Return what a run of the tree that the change's source means would have found."""
    del refresh, force
    (candidate,) = experiment.compared
    source = next(each for each in experiment.subjects if each.name == candidate).inputs.source
    tree = recall(source, context.home)
    assert tree is not None
    speed = (tree.path / "speed").read_text().strip()
    if not speed:
        raise failed(candidate)
    return compared_page(float(speed))


def failed(*subjects: str) -> HoneError:
    error = BuildError("make failed")
    error.subjects = subjects
    return error


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Return what SQLite's history looks like to hone: nine commits, and the first is v1."""
    repository = Repository(tmp_path / "repository")
    (repository.root / "src").mkdir()
    (repository.root / "src" / "sqlite.h.in").touch()
    for number in range(9):
        (repository.root / "VERSION").write_text("3.45.1\n")
        (repository.root / "speed").write_text(SPEEDS.get(number, "1.0"))
        repository.commit(f"commit {number}")
    repository.git("tag", "v1", "HEAD~8")
    return repository


def guide_commands() -> list[list[str]]:
    """Return the commands of the guide's example, word by word."""
    block = re.search(r"^```console\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    assert block is not None
    lines = [line.removeprefix("$ ") for line in block[1].splitlines() if line.startswith("$ ")]
    return [shlex.split(line, comments=True) for line in lines]


def test_the_guides_commands_find_the_guilty_commit(repository: Repository, tmp_path: Path) -> None:
    hone = tmp_path / "hone"
    hone.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m tests.cli.test_cli_bisect "$@"\n'
    )
    hone.chmod(0o755)
    paths = f"{ROOT}:{ROOT / 'src'}"
    environment = os.environ | {"DBHONE_HOME": str(tmp_path / "home"), "PYTHONPATH": paths}
    told = ""
    for words in guide_commands():
        argv = [str(hone) if word == "hone" else word for word in words]
        done = subprocess.run(
            argv, cwd=repository.root, env=environment, capture_output=True, text=True, check=False
        )
        told = done.stdout + done.stderr
        assert done.returncode == (3 if words[:2] == ["hone", "compare"] else 0), told
    assert f"{repository.git('rev-parse', f'main~{8 - GUILTY}')} is the first bad commit" in told


@pytest.mark.parametrize(
    ("page", "tolerance", "code"),
    [
        (compared_page(1.2), (), 0),
        (compared_page(0.8), (), 1),
        (compared_page(0.8), ("--tolerance", "10%"), 1),
        (compared_page(0.95), ("--tolerance", "10%"), 0),
        (compared_page(0.9), ("--tolerance", "10%"), 125),
        (compared_page(1.2, blocks=5), (), 125),
        (broken_page("lto"), (), 125),
        (broken_page("control"), (), 128),
    ],
)
def test_an_answer_is_a_code_that_git_reads(
    page: Page,
    tolerance: tuple[str, ...],
    code: int,
    repository: Repository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(generated, "execute_new", lambda *_, **__: page)
    assert bisected(repository, tmp_path, *tolerance) == code
    assert f"exit code {code}: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (failed("repository-HEAD"), 125),
        (failed("repository-v1", "control"), 128),
        (ToolError("gcc is missing"), 128),
        (Interrupted("interrupted"), 130),
        (ZeroDivisionError(), 128),
    ],
)
def test_only_a_commits_own_failure_skips_it(
    error: Exception,
    code: int,
    repository: Repository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> Page:
        raise error

    monkeypatch.setattr(generated, "execute_new", fail)
    assert bisected(repository, tmp_path) == code


@pytest.mark.parametrize("words", [("--nonsense",), ("--plan",), ("--sets", "none-such")])
def test_wrong_use_is_never_an_answer(
    words: tuple[str, ...], repository: Repository, tmp_path: Path
) -> None:
    assert bisected(repository, tmp_path, *words) == 128


def bisected(repository: Repository, tmp_path: Path, *words: str) -> int:
    home = ["--home", str(tmp_path / "home")]
    sides = [f"git:{repository.root}@v1", f"git:{repository.root}@HEAD"]
    return main._run([*home, "compare", "--bisect", *sides, *words])


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generated, "execute_new", pretend_run)
        sys.exit(main._run(sys.argv[1:]))
