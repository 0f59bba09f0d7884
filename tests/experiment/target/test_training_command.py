"""Trainings by a command of the user's: what it means, what it is told, and how it fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dbhone.errors import DriverError, UsageError
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.model import Training, TrainingCommand
from dbhone.experiment.target.server_pool import ServerPool, ServerSpec
from dbhone.experiment.target.target import training_inputs
from dbhone.experiment.target.targets import target_class
from dbhone.home import Home
from dbhone.instance.server import Server
from dbhone.session import Session, open_session
from dbhone.workload.task import Scale
from dbhone.workload.workload import Workload
from tests.workload.live import installed, open_folder, server_dbms

EXPERIMENT = """\
title = "trained by a command"
base = "rel"

[sources]
pg = "apt:postgresql-15"

[subjects]
rel = { dbms = "postgresql", source = "pg" }
pgo = { like = "rel", variant = "pgo" }

[training]
command = ["./train.sh", "report"]
timeout = "90s"

[workload]
suite = "pgbench"
size = "smoke"
"""

PSQL = ("psql", "-X", "-v", "ON_ERROR_STOP=1")


def training_of(text: str, folder: Path) -> Training:
    (training,) = (
        each.training
        for each in parse(text, name=str(folder / "x.toml")).subjects
        if each.training is not None
    )
    return training


def test_a_command_alone_is_a_training(tmp_path: Path) -> None:
    training = training_of(EXPERIMENT, tmp_path)
    assert training.workload.sets == ()
    assert training.trained_on == ("./train.sh report",)
    assert training.command == TrainingCommand(
        argv=("./train.sh", "report"), folder=tmp_path, timeout=90.0
    )
    assert target_class(training.workload).training_seconds(training) < 90


def test_a_command_comes_after_sets(tmp_path: Path) -> None:
    text = EXPERIMENT.replace("[training]", '[training]\nsets = ["select-only"]')
    training = training_of(text, tmp_path)
    assert training.trained_on == ("select-only", "./train.sh report")


def test_a_changed_script_changes_what_is_trained(tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    script.write_text("true")
    training = training_of(EXPERIMENT, tmp_path)
    before = training_inputs(training)
    script.write_text("false")
    assert training_inputs(training) != before


def test_an_embedded_dbms_has_no_server_for_a_command() -> None:
    text = EXPERIMENT.replace("apt:postgresql-15", "apt:sqlite3").replace("postgresql", "sqlite")
    text = text.replace('"pgbench"', '"speedtest1"')
    with pytest.raises(UsageError, match=r"training.command: sqlite is not a server"):
        parse(text, name="x.toml")


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[ServerPool, Server]]:
    """Yield a running PostgreSQL of the distribution's, with pgbench's tables."""
    dbms = server_dbms("postgresql")
    installation = installed(dbms)
    if installation is None:
        pytest.skip("postgresql is not installed")
    with open_folder() as folder, open_session(Home(folder / "h")) as session:
        workload = Workload(name="pgbench", scale=Scale(size="smoke"))
        pool = ServerPool(session, workload, lambda _: None)
        spec = ServerSpec(dbms=dbms, installation=installation, settings=())
        with pool.running(spec) as server:
            yield pool, server


@pytest.fixture
def command(session: Session) -> Iterator[TrainingCommand]:
    """Yield a command in a folder that others may read."""
    del session
    with open_folder() as folder:
        (folder / "train.sh").write_text(f"exec {' '.join(PSQL)} -f report.sql\n")
        (folder / "report.sql").write_text("CREATE TABLE made AS SELECT COUNT(*) FROM pg_class;")
        for name in ("train.sh", "report.sql"):
            (folder / name).chmod(0o644)
        yield TrainingCommand(argv=("sh", "train.sh"), folder=folder, timeout=60.0)


@pytest.mark.integration
def test_a_command_reaches_the_server_by_its_environment(
    running: tuple[ServerPool, Server], command: TrainingCommand
) -> None:
    pool, server = running
    pool.clients.execute(server, command)
    (command.folder / "again.sql").write_text("DROP TABLE made;")
    (command.folder / "again.sql").chmod(0o644)
    pool.clients.execute(server, replace(command, argv=(*PSQL, "-f", "again.sql")))


@pytest.mark.integration
@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo why it failed; exit 3", "ended with exit code 3"),
        ("echo why it failed; sleep 100", "did not end within"),
        ("echo why it failed; touch mine || exit 4", "ended with exit code 4"),
        (
            "echo why it failed; { cat /root/.bashrc || cat /etc/shadow; } && exit 0; exit 5",
            "exit code 5",
        ),
    ],
)
def test_a_command_that_fails_is_told_with_its_log(
    running: tuple[ServerPool, Server], command: TrainingCommand, script: str, told: str
) -> None:
    pool, server = running
    (command.folder / "train.sh").write_text(script)
    with pytest.raises(DriverError, match=told) as caught:
        pool.clients.execute(server, replace(command, timeout=3.0))
    assert caught.value.log is not None
    assert "why it failed" in caught.value.log.read_text()
