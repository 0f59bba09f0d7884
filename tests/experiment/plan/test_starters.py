"""An experiment file to begin with says what it does, and is one that hone takes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from dbhone.capture.capture import CaptureOptions, capture
from dbhone.dbms.base import load_dbms, system_names
from dbhone.dbms.base_server import ServerDbms, SizingHints
from dbhone.errors import ExperimentError, UnknownName, UsageError
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.plan.estimates import BuildEstimator
from dbhone.experiment.plan.planning import make_plan
from dbhone.experiment.plan.shortage import shortage
from dbhone.experiment.plan.starters import questions, starter_text
from dbhone.home import Home
from dbhone.source.known_versions import known_versions
from tests.capture.written_logs import GOLDEN

ASKED_OF_SERVERS = {"settings", "allocator", "queries"}
EMBEDDED = {"rocksdb", "sqlite"}
WITHOUT_VERSIONS = {*EMBEDDED, "percona", "myrocks"}


def capture_queries(dbms: str, folder: Path) -> None:
    """Write what the question "queries" asks for: a workload file, and the data."""
    postgresql = load_dbms(dbms).interface == "postgresql"
    log = "postgresql-15-csvlog.csv" if postgresql else "mariadb-10.11-slow.log"
    capture((GOLDEN / log,), folder / "mine.workload", CaptureOptions())
    (folder / ("mine.dump" if postgresql else "mine.sql")).write_text("-- a dump")


@pytest.mark.parametrize("dbms", system_names())
@pytest.mark.parametrize("question", questions())
def test_every_question_makes_a_file_that_hone_takes_and_has_time_for(
    dbms: str, question: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    capture_queries(dbms, tmp_path)
    if (dbms in EMBEDDED and question in ASKED_OF_SERVERS) or (
        dbms in WITHOUT_VERSIONS and question == "versions"
    ):
        with pytest.raises(UsageError):
            starter_text(dbms, question, known_versions())
        return
    text = starter_text(dbms, question, known_versions())
    experiment = parse(text, name="mine", versions=known_versions())
    assert {subject.inputs.dbms for subject in experiment.subjects} == {dbms}
    assert text.startswith("#")
    plan = make_plan(experiment, BuildEstimator(Home(tmp_path)))
    assert plan.tentative == ()
    assert shortage(plan, experiment) is None


def test_names_are_guessed() -> None:
    with pytest.raises(UnknownName) as caught:
        starter_text("sqlite", "build", known_versions())
    assert caught.value.hint == "did you mean 'builds'?"


def test_what_can_be_added_is_shown_as_comments() -> None:
    text = starter_text("postgresql", "builds", known_versions())
    assert '# sets = ["point-query"]' in text
    assert "threads" not in tomllib.loads(text)["workload"]


@pytest.mark.parametrize("dbms", ["postgresql", "mariadb", "mysql"])
def test_the_setting_to_try_is_another_than_the_base_has(dbms: str) -> None:
    experiment = parse(starter_text(dbms, "settings", known_versions()), name="mine")
    (asked,) = experiment.subject("changed").settings
    system = load_dbms(dbms)
    assert isinstance(system, ServerDbms)
    room = SizingHints(cache_bytes=1 << 28, connections=10)
    assert system.proposed_settings(room, "8.0.36")[asked.name] != asked.value


def test_a_file_on_the_users_queries_says_how_to_record_them() -> None:
    text = starter_text("mariadb", "queries", known_versions())
    assert "#   mariadb-dump -h db1 --single-transaction --routines shop > mine.sql\n" in text
    assert "#   hone capture --server mysql://me@db1 --for 10m -o mine.workload\n" in text


def test_what_is_not_recorded_yet_is_named_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = starter_text("postgresql", "queries", known_versions())
    with pytest.raises(ExperimentError) as caught:
        parse(text, name="mine.toml")
    line = 1 + text[: text.index('suite = "./mine.workload"')].count("\n")
    assert caught.value.message == (
        f"mine.toml:{line}: workload.suite: there is no {tmp_path}/mine.workload;"
        f" mine.toml:{line + 1}: workload.data: there is no {tmp_path}/mine.dump"
    )
    assert caught.value.hint == (
        "'hone capture' makes a workload file of your server's log;"
        " pg_dump -Fc, mariadb-dump or mysqldump dumps its data"
    )


def test_a_captured_workload_that_is_trained_on_must_be_there(tmp_path: Path) -> None:
    text = starter_text("postgresql", "builds", known_versions())
    text = text.replace("[training]", '[training]\nsuite = "./other.workload"')
    with pytest.raises(ExperimentError, match=r"training\.suite: there is no .*/other\.workload$"):
        parse(text, name=str(tmp_path / "mine.toml"))


TWO_TRAININGS = """\
title = "Which training holds elsewhere?"
base = "rel"

[sources]
postgresql = "apt:postgresql"

[subjects]
rel = { dbms = "postgresql", source = "postgresql" }
micro = { like = "rel", variant = "pgo" }
own = { like = "rel", variant = "pgo", train = ["earlier"], train_suite = "./mine.workload" }

[training]
suite = "sysbench:micro"
data = "./mine.dump"

[workload]
suite = "tpcc"
"""


def data_of_trainings(experiment: Experiment) -> dict[str, Mapping[str, int | str]]:
    trained = ((each.name, each.training) for each in experiment.subjects)
    return {name: training.workload.scale.data for name, training in trained if training}


def test_a_dump_is_for_the_captured_workload_that_one_of_two_subjects_is_trained_on(
    tmp_path: Path,
) -> None:
    capture_queries("postgresql", tmp_path)
    found = parse(TWO_TRAININGS, name=str(tmp_path / "mine.toml"))
    data = data_of_trainings(found)
    assert data == {"micro": {}, "own": {"dump": str(tmp_path / "mine.dump")}}


MEASURED_ELSEWHERE = TWO_TRAININGS.replace('suite = "sysbench:micro"\n', "").replace(
    'suite = "tpcc"', 'suite = "./mine.workload"\ndata = "./other.dump"'
)


def test_a_captured_workload_may_be_trained_on_other_data_than_it_is_measured_on(
    tmp_path: Path,
) -> None:
    capture_queries("postgresql", tmp_path)
    with pytest.raises(ExperimentError, match=r"workload\.data: there is no .*/other\.dump$"):
        parse(MEASURED_ELSEWHERE, name=str(tmp_path / "mine.toml"))
    (tmp_path / "other.dump").write_text("-- another dump")
    (tmp_path / "mine.dump").unlink()
    with pytest.raises(ExperimentError, match=r"training\.data: there is no .*/mine\.dump$"):
        parse(MEASURED_ELSEWHERE, name=str(tmp_path / "mine.toml"))
    (tmp_path / "mine.dump").write_text("-- a dump")
    found = parse(MEASURED_ELSEWHERE, name=str(tmp_path / "mine.toml"))
    data = data_of_trainings(found)
    trained = {"dump": str(tmp_path / "mine.dump")}
    assert data == {"micro": trained, "own": trained}
    assert found.workload.scale.data == {"dump": str(tmp_path / "other.dump")}
