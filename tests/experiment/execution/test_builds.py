"""What makes builds and profiles takes turns with other hones."""

from __future__ import annotations

import dataclasses
import os
import shutil
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from dbhone.compilation import profile
from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import Build
from dbhone.compilation.profile import Profile, ProfileFacts
from dbhone.compilation.transforms.base import Pass
from dbhone.compilation.variant import parse_variant
from dbhone.errors import ProfileError, SourceError, UntrustedFileError, UsageError
from dbhone.experiment.declaration.model import SubjectDeclaration, Training
from dbhone.experiment.execution import builds
from dbhone.experiment.execution.builds import BuildService, check_trainable
from dbhone.experiment.plan.events import Ended, Event, Note, Stage, WaitBegan, WaitEnded
from dbhone.experiment.plan.plan import DONE, Train
from dbhone.experiment.target.target import BuildResult
from dbhone.host_lock import hold_host_lock
from dbhone.measurement.record import Role
from dbhone.session import Session
from dbhone.source.recognise import recognise
from dbhone.workload.task import Scale
from dbhone.workload.workload import Workload
from tests.compilation.tiny import make_tree
from tests.dbms.mysql_trees import Tree
from tests.experiment.pretended import pretended_build
from tests.files import put
from tests.source.make_elf import elf
from tests.source.repositories import Repository


def inputs(source: Path, dbms: str = "mysql") -> BuildInputs:
    return BuildInputs(dbms=dbms, source=f"dir:{source}", variant=parse_variant("rel"))


def test_a_ready_made_server_that_is_to_be_built_is_told_as_such(
    session: Session, tmp_path: Path
) -> None:
    program = tmp_path / "brought" / "bin" / "mysqld"
    program.parent.mkdir(parents=True)
    program.write_bytes(elf())
    service = BuildService(session, lambda _: None)
    with pytest.raises(SourceError) as planned:
        service.spec(inputs(tmp_path / "brought"), Pass.PLAIN, None)
    with pytest.raises(SourceError) as asked:
        recognise(tmp_path / "brought", "dir:brought")
    for error in (planned.value, asked.value):
        assert error.message.endswith("; it holds a ready-made server, bin/mysqld")
        assert error.hint is not None
        assert 'variant = "ready-made"' in error.hint


def test_a_tree_is_built_as_it_needs_to_be(session: Session, tmp_path: Path) -> None:
    tree = Tree(version="5.6.35", folders=("storage/rocksdb",)).write(tmp_path / "myrocks")
    script = Path("storage/rocksdb/get_rocksdb_files.sh")
    (tree / script).write_text("bv=rocksdb/util/build_version.cc\n")
    told: list[Event] = []
    spec = BuildService(session, told.append).spec(inputs(tree, "myrocks"), Pass.PLAIN, None)
    assert (spec.tree.path / script).read_text() == "bv=/dev/null\n"
    assert spec.tree.label == f"dir:{tree} with nothing-written-into-the-tree"
    assert any(f"changing {script}: " in str(each) for each in told)


def test_what_is_neither_source_nor_server_gets_the_dbmss_own_advice(
    session: Session, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("one")
    with pytest.raises(SourceError) as error:
        BuildService(session, lambda _: None).spec(inputs(tmp_path / "other"), Pass.PLAIN, None)
    assert error.value.hint == "give the whole source tree of MySQL"


def test_a_tree_that_cannot_be_built_as_it_is_is_recognised_and_refused(
    session: Session, tmp_path: Path
) -> None:
    tree = tmp_path / "configured"
    put(tree / "configure", "PACKAGE_NAME='PostgreSQL'\nPACKAGE_VERSION='18.1'\n")
    put(tree / "src/backend/Makefile")
    put(tree / "src/include/pg_config.h")
    assert recognise(tree, f"dir:{tree}") == "postgresql"
    with pytest.raises(SourceError, match="configured in its own folder"):
        BuildService(session, lambda _: None).spec(inputs(tree, "postgresql"), Pass.PLAIN, None)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_source_that_is_fetched_to_recognise_its_dbms_is_told_once(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = Repository(tmp_path / "repository").commit("one")
    reference = f"git:{tmp_path / 'repository'}@{commit}"
    build = pretended_build(tmp_path / "build")

    def compile(service: BuildService, *_: object) -> BuildResult:
        return BuildResult(build=build, tree=service.tree(reference), reused=True)

    monkeypatch.setattr(BuildService, "compile", compile)
    subject = SubjectDeclaration(
        name="a",
        role=Role.BASE,
        inputs=BuildInputs(dbms="mysql", source=reference, variant=parse_variant("rel")),
    )
    for is_kept in (False, True):
        told: list[Event] = []
        service = BuildService(session, told.append)
        service.fetch(reference)
        service.make_builds(subject)
        fetches = [each for each in told if isinstance(each, Ended) and each.stage is Stage.SOURCE]
        assert [each.reused for each in fetches] == [is_kept]


def test_a_wait_for_another_hone_counts_while_it_lasts_and_no_longer(session: Session) -> None:
    holding, release = threading.Event(), threading.Event()
    told: list[Event] = []

    def other() -> None:
        with hold_host_lock(session.home, lambda _: None):
            holding.set()
            release.wait()

    def listen(event: Event) -> None:
        told.append(event)
        if isinstance(event, WaitBegan):
            sofar = service.waited
            while service.waited <= sofar:
                pass
            release.set()

    service = BuildService(session, listen)
    thread = threading.Thread(target=other)
    thread.start()
    holding.wait()
    with service.exclusive():
        during = service.waited
    thread.join()
    told_whom = f"another hone (process {os.getpid()})"
    assert told == [
        Note(text=f"waiting: {told_whom} is working on this machine"),
        WaitBegan(other=told_whom),
        WaitEnded(),
    ]
    assert during > 0
    assert service.waited == during


def training_step(build: Build) -> Train:
    return Train(
        label="rel",
        subjects=("rel",),
        makes="profile",
        cost=DONE,
        needs=("instrumented",),
        inputs=build.manifest.inputs,
        training=Training(
            workload=Workload(name="speedtest1", scale=Scale(size="smoke"), sets=("main",))
        ),
    )


def test_what_another_hone_has_trained_while_this_one_waited_is_not_trained_again(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would replace a profile of which a build was made already."""
    service = BuildService(session, lambda _: None)
    build = pretended_build(tmp_path / "build")
    result = BuildResult(build=build, tree=make_tree(tmp_path / "source"), reused=True)
    monkeypatch.setattr(service, "_results", {"instrumented": result})
    monkeypatch.setattr(builds, "check_trainable", lambda *_: None)
    found = Profile(tmp_path, cast(ProfileFacts, None))
    answers = iter((None, found))
    monkeypatch.setattr(profile, "find_profile", lambda *_: next(answers))
    service.perform(training_step(build))
    assert service._results["profile"] is found


def test_a_trained_server_that_left_something_else_than_counters_has_no_profile(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(*_: object) -> int:
        raise UntrustedFileError("a.gcda is a link, not an ordinary file")

    service = BuildService(session, lambda _: None)
    build = pretended_build(tmp_path / "build")
    result = BuildResult(build=build, tree=make_tree(tmp_path / "source"), reused=True)
    monkeypatch.setattr(service, "_results", {"instrumented": result})
    monkeypatch.setattr(service, "compiler", lambda _: None)
    monkeypatch.setattr(builds, "check_trainable", lambda *_: None)
    monkeypatch.setattr(builds, "counters_of_build", lambda *_: None)
    monkeypatch.setattr(builds, "target_class", lambda _: SimpleNamespace(train=train))
    with pytest.raises(ProfileError, match=r"a\.gcda is a link, not an ordinary file"):
        service.perform(training_step(build))


def test_a_set_that_a_version_lacks_cannot_be_trained_on(tmp_path: Path) -> None:
    program = tmp_path / "test" / "speedtest1.c"
    program.parent.mkdir()
    program.write_text('if( strcmp(zThisTest,"main")==0 ){ }')
    workload = Workload(name="speedtest1", scale=Scale(size="smoke"), sets=("main", "json"))
    training = Training(workload=workload)
    with pytest.raises(UsageError, match="this version has no sets json"):
        check_trainable(training, tmp_path)
    main = dataclasses.replace(workload, sets=("main",))
    check_trainable(Training(workload=main), tmp_path)
