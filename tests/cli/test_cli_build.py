"""``hone build``: what it prints of builds, and what it writes; the builds are pretended."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dbhone.cli import build_service
from dbhone.cli.commands import build as module
from dbhone.cli.main import hone
from dbhone.compilation.compile_commands import COMMANDS, CompileCommand
from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import Build
from dbhone.compilation.transforms.base import Pass
from dbhone.experiment.declaration.model import Training
from dbhone.experiment.execution.builds import BuildService
from dbhone.experiment.plan.events import Detail, Listener
from dbhone.experiment.plan.plan import Compile, PlanStep, Train
from dbhone.experiment.target.target import BuildResult
from dbhone.session import Session
from dbhone.source.tree import SourceTree
from tests.compilation.plain_build import plain_build

COMPILED = (("sql/parse.o", 61.5), ("sql/item.o", 12.0), ("sql/net.o", 0.25))


class FakeService(BuildService):
    """Has every build at hand; it takes twice as long in each as in the one before."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.compiled: list[Compile] = []
        self.trainings: list[Training] = []

    def __call__(self, session: Session, listen: Listener, **options: Any) -> FakeService:
        super().__init__(session, listen, **options)
        return self

    def tree(self, reference: str) -> SourceTree:
        return SourceTree(
            reference=reference,
            resolved=reference,
            digest="50",
            path=Path(reference),
            fetched_at=datetime.now(UTC),
        )

    def perform(self, step: PlanStep) -> bool:
        self.listen(Detail(text="work"))
        if isinstance(step, Train):
            self.trainings.append(step.training)
        if isinstance(step, Compile):
            self.compiled.append(step)
            number = len(self.compiled)
            build = make_build(self.folder / f"build-{number}", step.inputs, number)
            tree = self.tree(step.inputs.source)
            self._results[step.makes] = BuildResult(build=build, tree=tree, reused=False)
        return False


def make_build(folder: Path, inputs: BuildInputs, times: int) -> Build:
    folder.mkdir()
    commands = [
        CompileCommand(
            phase="compile",
            began=1000.0 + at,
            seconds=seconds * times,
            cpu=seconds * times,
            memory=2**20,
            status=0,
            program="gcc",
            argv=("-c", "x.c", "-o", target),
        )
        for at, (target, seconds) in enumerate(COMPILED)
    ]
    (folder / COMMANDS).write_text("".join(each.model_dump_json() + "\n" for each in commands))
    return plain_build(
        folder,
        inputs,
        version=f"{times}.0",
        seconds=70.0 * times,
        phase_seconds={"configure": 5.0, "compile": 65.0 * times},
        compile_commands=len(commands),
    )


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeService:
    service = FakeService(tmp_path)
    monkeypatch.setattr(build_service, "BuildService", service)
    monkeypatch.setattr(module, "foresee_dbms", lambda _: None)  # its trees are no trees
    monkeypatch.setattr(module, "recognise", lambda path, _: Path(path).name.partition(":")[2])
    return service


def hone_build(tmp_path: Path, *words: str) -> Result:
    home = ("--home", str(tmp_path / "home"))
    environment = {"COLUMNS": "100", "TERM": "dumb"}
    return CliRunner().invoke(hone, (*home, "build", *words), env=environment)


def test_timings_of_several_sources_stand_side_by_side(
    tmp_path: Path, service: FakeService, golden: Callable[[str, bytes], None]
) -> None:
    done = hone_build(tmp_path, "dir:sqlite", "dir:sqlite", "--timings", "--slowest", "2")
    assert done.exit_code == 0, done.output
    *lines, first, second = (line.rstrip() for line in done.stdout.splitlines())
    golden("build-timings.txt", "".join(f"{line}\n" for line in lines).encode())
    assert (first, second) == (str(tmp_path / "build-1"), str(tmp_path / "build-2"))


def test_without_timings_only_the_folders_are_the_result(
    tmp_path: Path, service: FakeService
) -> None:
    done = hone_build(tmp_path, "dir:sqlite")
    assert done.stdout == f"{tmp_path / 'build-1'}\n"
    assert "of 3 compile commands" in done.stderr


def test_each_source_is_told_when_its_long_build_begins(
    tmp_path: Path, service: FakeService
) -> None:
    done = hone_build(tmp_path, "dir:mariadb", "dir:postgresql", "--option", "-DX=1")
    begun = [line for line in done.stderr.splitlines() if "begun" in line]
    assert [line.partition(" begun")[0].split() for line in begun] == [
        ["build", "dir:mariadb:", "rel", "-DX=1", "with", "gcc:"],
        ["build", "dir:postgresql:", "rel", "-DX=1", "with", "gcc:"],
    ]


def test_a_trace_of_all_builds_is_written(tmp_path: Path, service: FakeService) -> None:
    done = hone_build(tmp_path, "dir:sqlite", "dir:sqlite", "--trace", str(tmp_path / "t.json"))
    assert done.exit_code == 0, done.output
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert {each["pid"] for each in events} == {1, 2}
    assert f"wrote {tmp_path / 't.json'}" in done.stderr


@pytest.mark.parametrize(
    ("words", "suite", "sets"),
    [
        (("dir:sqlite", "--train", "main"), "speedtest1", ("main",)),
        (("dir:postgresql", "--train", "point-query"), "sysbench:micro", ("point-query",)),
    ],
)
def test_training_is_by_the_suite_of_the_dbms_unless_another_is_named(
    tmp_path: Path, service: FakeService, words: tuple[str, ...], suite: str, sets: tuple[str]
) -> None:
    done = hone_build(tmp_path, *words, "--variant", "pgo")
    assert done.exit_code == 0, done.output
    assert [step.pass_ for step in service.compiled] == [Pass.INSTRUMENT, Pass.USE]
    (training,) = service.trainings
    assert training.workload.name == suite
    assert [each.partition("_")[0] for each in training.workload.chosen] == list(sets)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--train", "point-query"), "there is no set 'point-query'"),
        (("--train", "main", "--size", "vast"), "there is no size 'vast'"),
        (("--train", "main", "--suite", "tpcd"), "there is no suite 'tpcd'"),
        (("--train", "point-query", "--suite", "sysbench:micro"), "does not drive sqlite"),
    ],
)
def test_what_cannot_be_trained_on_is_told(
    tmp_path: Path, service: FakeService, words: tuple[str, ...], said: str
) -> None:
    done = hone_build(tmp_path, "dir:sqlite", "--variant", "pgo", *words)
    assert done.exit_code != 0
    assert said in str(done.exception) + done.output
    assert service.compiled == []


def test_fixes_and_options_are_part_of_what_is_built(tmp_path: Path, service: FakeService) -> None:
    words = ("--fix", "log-sys", "--fix", "./mine.patch", "--option", "-DWITH_X=ON")
    done = hone_build(tmp_path, "dir:mysql", *words)
    assert done.exit_code == 0, done.output
    inputs = service.compiled[0].inputs
    assert inputs.fixes == ("log-sys", "./mine.patch")
    assert inputs.options == ("-DWITH_X=ON",)


def test_all_targets_are_built_where_a_tree_has_more_than_the_server(
    tmp_path: Path, service: FakeService
) -> None:
    done = hone_build(tmp_path, "dir:postgresql", "--targets", "all", "--timings")
    assert done.exit_code == 0, done.output
    assert [step.inputs.targets for step in service.compiled] == ["all"]
    assert "postgresql 1.0, all targets" in done.stdout
    refused = hone_build(tmp_path, "dir:sqlite", "--targets", "all")
    assert "SQLite has no targets besides those that every build" in str(refused.exception)
    assert len(service.compiled) == 1


def test_a_profile_may_be_of_another_source(tmp_path: Path, service: FakeService) -> None:
    words = ("--variant", "lto+pgo", "--profile-source", "apt:sqlite3=3.39")
    done = hone_build(tmp_path, "dir:sqlite", *words)
    assert done.exit_code == 0, done.output
    assert [one.inputs.source for one in service.compiled] == ["apt:sqlite3=3.39", "dir:sqlite"]


def test_the_tree_decides_which_dbms_it_is_not_its_reference(
    tmp_path: Path, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "foresee_dbms", lambda _: "mysql")
    monkeypatch.setattr(module, "ensure_installed", lambda *_: None)
    monkeypatch.setattr(module, "recognise", lambda *_: "myrocks")
    done = hone_build(tmp_path, "git:mysql@fb-mysql-8.0.32")
    assert done.exit_code == 0, done.output
    assert [step.inputs.dbms for step in service.compiled] == ["myrocks"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("dir:mysql", "--profile-source", "dir:x"), "rel cannot take the profile of another"),
        (
            ("dir:mysql", "--variant", "pgo", "--profile-source", "deb:mariadb-server"),
            "deb:mariadb-server brings a ready-made server, which cannot be trained",
        ),
        (("dir:mysql", "--fix", "log-sis"), "there is no fix 'log-sis'"),
        (("dir:mysql", "--compiler", "icc"), "'icc' is not a compiler that hone knows"),
        (("deb:mariadb-server", "--fix", "log-sys"), "--fix has no effect: a ready-made server"),
        (("deb:mariadb-server", "--option", "lean"), "--option has no effect: a ready-made"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_fetched(
    tmp_path: Path, service: FakeService, words: tuple[str, ...], said: str
) -> None:
    done = hone_build(tmp_path, *words)
    assert said in str(done.exception) + done.output
    assert service.compiled == []
    assert not (tmp_path / "home").exists()
