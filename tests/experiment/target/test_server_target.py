"""What a target that is a server asks of its subjects' servers."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import cast

import pytest

from dbhone.dbms.mysql import Mysql
from dbhone.errors import ServerError
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.execution.recorder import RunRecorder
from dbhone.experiment.target import server_specs, server_target
from dbhone.experiment.target.observer import RunObservation
from dbhone.experiment.target.server_pool import ServerPool, ServerSpec, VerifiedServer
from dbhone.experiment.target.server_target import ServerTarget
from dbhone.experiment.target.warnings import ServerSetup
from dbhone.instance.running_settings import RunningSettings
from dbhone.instance.server import Server
from dbhone.measurement.record import Warning
from dbhone.session import Session
from tests.experiment.experiment_files import GOOD_SERVERS


@pytest.mark.parametrize(("design", "servers"), [("", 4), ('[design]\nservers = "one"\n', 1)])
def test_a_server_that_runs_alone_has_the_part_of_the_memory_that_it_is_measured_with(
    monkeypatch: pytest.MonkeyPatch, design: str, servers: int
) -> None:
    monkeypatch.setattr("dbhone.instance.memory.memory_for", lambda _: 2**36)
    experiment = parse(f"{GOOD_SERVERS}\n{design}", name="x.toml")
    given: dict[str, object] = {}
    monkeypatch.setattr(server_specs, "ServerPool", lambda *_, **options: given.update(options))
    server_specs.pool_of(experiment, cast("Session", None), lambda _: None)
    assert given["servers"] == servers


def test_a_server_that_did_not_answer_is_asked_again_for_what_it_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter(
        (ServerError("it does not answer"), RunningSettings(given={}, told={}, dbms=Mysql()))
    )
    kept: list[str] = []

    def ask(*_: object) -> RunningSettings:
        answer = next(answers)
        if isinstance(answer, ServerError):
            raise answer
        return answer

    monkeypatch.setattr(server_target, "ask", ask)
    target = ServerTarget.__new__(ServerTarget)
    target._asked = set()
    setup = SimpleNamespace(chosen=SimpleNamespace(values={}))
    target._setups = {"rel": cast("ServerSetup", setup)}
    recorder = SimpleNamespace(keep_running=lambda name, _: kept.append(name))
    target.recorder = cast("RunRecorder", recorder)
    server = cast("Server", SimpleNamespace(pid=os.getpid(), open_files=0))
    target._note_what_it_took("rel", server)
    assert kept == []
    for _ in range(2):
        target._note_what_it_took("rel", server)
    assert kept == ["rel"], "once it has answered, it is asked no more"


def test_what_the_base_refuses_is_told_at_once_and_kept_and_no_other_subject_s() -> None:
    target = ServerTarget.__new__(ServerTarget)
    target.experiment = parse(GOOD_SERVERS, name="x.toml")
    base, other, *_ = (subject.name for subject in target.experiment.subjects)
    assert base == target.experiment.base.name
    found = VerifiedServer(answers={"1": "a"}, refusals="2 statements")
    target._pool = cast("ServerPool", SimpleNamespace(verify=lambda *_: found))
    target._observation = cast("RunObservation", SimpleNamespace(check=lambda _: None, ask=print))
    target._specs = dict.fromkeys((base, other), cast("ServerSpec", None))
    kept: list[Warning] = []
    told: list[str] = []
    recorder = SimpleNamespace(warn=kept.append, note=told.append)
    target.recorder = cast("RunRecorder", recorder)
    for name in (other, base):
        assert target.verify(name) == {"1": "a"}
    (warning,) = kept
    assert warning.code == "refused-statements"
    assert warning.text.endswith("the base refused 2 statements")
    assert told == [warning.text]
