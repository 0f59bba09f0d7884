"""`hone start` and `hone explain` ask for what the subjects need that they run, not for all."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from dbhone import requirements
from dbhone.cli.commands import explain, start
from dbhone.errors import ToolError, UnknownName, UsageError
from dbhone.experiment.execution.explaining import Explained
from dbhone.home import Home
from dbhone.instance.server import Server
from dbhone.measurement.record import Role
from tests.cli.finished_run import invoke, keep_finished
from tests.report.sample_run import a_run, subject

EXPERIMENT = """\
title = "two compilers"
base = "gcc"

[sources]
postgresql = "apt:postgresql"

[subjects]
gcc = { dbms = "postgresql", source = "postgresql" }
clang = { like = "gcc", compiler = "clang" }
optional = { like = "clang", variant = "o3", optional = true }

[workload]
suite = "sysbench:micro"
size = "smoke"
"""


@pytest.fixture(autouse=True)
def without_clang(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the machine have all that is required, but for clang."""
    monkeypatch.setattr(requirements.Requirement, "is_met", lambda need: need.name != "clang")


def refusal(home: Home, *words: str) -> BaseException | None:
    return invoke(home, *words, catch_exceptions=True).exception


def test_a_server_is_started_though_another_subjects_tools_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> AbstractContextManager[Server]:
        raise UsageError("it would be started")

    monkeypatch.setattr(start, "standalone_server", refuse)
    home, file = Home(tmp_path / "home"), tmp_path / "x.toml"
    file.write_text(EXPERIMENT)
    assert "it would be started" in str(refusal(home, "start", str(file), "gcc"))
    for name in ("clang", "optional"):
        lacking = refusal(home, "start", str(file), name)
        assert isinstance(lacking, ToolError)
        assert "clang" in lacking.message


def test_what_explains_an_optional_subject_needs_its_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explain, "check_sampling", lambda: None)
    home = Home(tmp_path / "home")
    keep_finished(home, a_run(experiment=EXPERIMENT))
    assert isinstance(refusal(home, "explain", "last", "optionl"), UnknownName)
    lacking = refusal(home, "explain", "last", "optional", "point-query")
    assert isinstance(lacking, ToolError)
    assert "clang" in lacking.message


def test_what_explains_asks_before_it_builds_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> Explained:
        raise UsageError("it would be built")

    monkeypatch.setattr(explain, "check_sampling", lambda: None)
    monkeypatch.setattr(explain, "explain", refuse)
    monkeypatch.setattr(requirements.Requirement, "is_met", lambda need: True)
    home, run = Home(tmp_path / "home"), a_run()
    slow = (replace(subject("gcc", role=Role.BASE), build_seconds=7200.0), subject("optional"))
    keep_finished(home, replace(run, experiment=EXPERIMENT, subjects=slow))
    words = ("explain", "last", "optional", "point-query")
    told = str(refusal(home, *words))
    assert "cannot ask whether to build gcc and optional again, which takes about 2 h" in told
    assert "it would be built" in str(refusal(home, *words, "--yes"))
