"""``hone compare``: the exit code is the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.cli import generated, main
from dbhone.cli.context import Context
from dbhone.experiment.declaration.model import Experiment
from dbhone.report.page import Page
from tests.cli.commands import hone
from tests.report.answered_pages import broken_page, compared_page

_WORDS = ("compare", "known:mysql@5.7", "known:mysql@8.0")


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
@pytest.mark.parametrize(
    ("page", "code"),
    [
        (compared_page(1.2), 0),
        (compared_page(0.8), 3),
        (compared_page(1.2, blocks=5), 4),
        (broken_page("lto"), 1),
    ],
)
def test_the_exit_code_is_the_answer(
    page: Page,
    code: int,
    quiet: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def executed(context: Context, experiment: Experiment, *, refresh: bool, force: bool) -> Page:
        assert not force
        assert experiment.base.name == "mysql-5.7.22"
        return page

    monkeypatch.setattr(generated, "execute_new", executed)
    assert main._run([*quiet, "--home", str(tmp_path / "home"), *_WORDS]) == code
    assert capsys.readouterr().err.startswith(f"exit code {code}: ")


def test_an_experiment_is_written_to_a_file_that_can_be_run(tmp_path: Path) -> None:
    done = hone(tmp_path / "home", *_WORDS, "--size", "smoke", "--output", "c.toml")
    assert (done.returncode, "wrote c.toml" in done.stderr) == (0, True)
    assert "mysql-8.0.33: ready-made" in hone(tmp_path / "home", "plan", "c.toml").stdout


def test_the_plan_of_a_comparison_is_shown_and_nothing_is_begun(tmp_path: Path) -> None:
    done = hone(tmp_path / "home", *_WORDS, "--size", "smoke", "--plan")
    assert (done.returncode, done.stderr) == (0, "")
    assert "mysql-8.0.33: ready-made" in done.stdout
    assert "Expected: " in done.stdout
    assert not (tmp_path / "home").exists()


def test_a_tolerance_is_kept_in_the_experiment_and_says_how_precisely_to_measure(
    tmp_path: Path,
) -> None:
    def design(*words: str) -> str:
        path = tmp_path / "c.toml"
        hone(tmp_path / "home", *_WORDS, *words, "--force", "--output", str(path))
        return path.read_text().partition("[design]")[2]

    assert 'target = "2%"' in design()
    assert "tolerance" not in design()
    assert 'target = "1%"' in design("--tolerance", "3%")
    assert 'tolerance = "3%"' in design("--tolerance", "3%")
    assert 'target = "2%"' in design("--tolerance", "10%")
    assert 'target = "0.5%"' in design("--tolerance", "3%", "--target", "0.5%")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--suite", "nope"), "error: --suite: there is no suite 'nope'"),
        (("--threads", "0"), "error: --threads: it must be 1 or more"),
        (("--data", "x.dump"), "error: --data: the suite sysbench:micro has no 'dump'"),
    ],
)
def test_what_is_wrong_is_named_by_the_option_that_it_came_from(
    words: tuple[str, str], message: str, tmp_path: Path
) -> None:
    done = hone(tmp_path / "home", *_WORDS, *words, "--output", str(tmp_path / "c.toml"))
    assert done.returncode == 2
    assert message in done.stderr
