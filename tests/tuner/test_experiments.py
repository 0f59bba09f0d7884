"""The runs of a search, and whether the machine has room for the first."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from dbhone.errors import MachineError
from dbhone.experiment.declaration.model import Servers
from dbhone.experiment.declaration.schema import SEEDS
from dbhone.experiment.declaration.templates import DesignOptions
from dbhone.experiment.plan.plan import Cost, DataCost
from dbhone.home import Home
from dbhone.tuner.experiments import check_room, confirmation, rung
from dbhone.tuner.request import Request
from tests.experiment.planned import Known
from tests.tuner.searches import request, request_for_servers

GIB = 1024**3


def let_be_free(monkeypatch: pytest.MonkeyPatch, memory: int, disk: int) -> None:
    found = SimpleNamespace(available=memory, total=256 * GIB)
    monkeypatch.setattr("psutil.virtual_memory", lambda: found)
    usage = SimpleNamespace(free=disk)
    monkeypatch.setattr("dbhone.experiment.plan.room.shutil.disk_usage", lambda _: usage)


def all_built(asked: Request) -> Known:
    """Return an estimator that finds all builds of the first choosing run, and no data."""
    subjects = rung(asked, asked.candidates, 0, 3600.0).subjects
    data = DataCost(label="rows", name="data", load=Cost(seconds=9.0), size=GIB, copy_seconds=1.0)
    return Known(kept={subject.inputs.variant.name: 9 for subject in subjects}, data=data)


def test_builds_that_are_here_already_need_no_more_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_be_free(monkeypatch, memory=64 * GIB, disk=1)
    asked = request()
    with pytest.raises(MachineError, match="the builds and data of 5 subjects need") as error:
        check_room(asked, Known(), Home(tmp_path))
    assert "--variant" in (error.value.hint or "")
    let_be_free(monkeypatch, memory=64 * GIB, disk=20 * GIB)
    check_room(asked, all_built(asked), Home(tmp_path))


def test_data_that_exceeds_the_disk_is_told_though_all_builds_are_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_be_free(monkeypatch, memory=64 * GIB, disk=1)
    asked = request_for_servers()
    with pytest.raises(MachineError, match="of disk"):
        check_room(asked, all_built(asked), Home(tmp_path))


def test_a_rung_whose_servers_do_not_fit_into_the_free_memory_has_one_up_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = request_for_servers()
    let_be_free(monkeypatch, memory=64 * GIB, disk=GIB)
    assert rung(asked, asked.candidates, 0, 3600.0).servers is Servers.ALL
    let_be_free(monkeypatch, memory=GIB, disk=GIB)
    assert rung(asked, asked.candidates, 0, 3600.0).servers is Servers.ONE


def test_each_run_of_a_search_with_the_largest_seed_has_a_seed_of_its_own() -> None:
    largest = DesignOptions(budget=3600.0, target=0.02, seed=SEEDS - 1)
    asked = request(design=largest)
    experiments = (
        rung(asked, asked.candidates, 0, 3600.0),
        rung(asked, asked.candidates, 1, 3600.0),
        confirmation(asked, asked.candidates[0], 0, 3600.0),
    )
    assert [each.design.seed for each in experiments] == [SEEDS - 1, 0, 999]


def test_all_subjects_of_a_search_by_a_distributions_rules_are_built_by_them() -> None:
    asked = request_for_servers(packaging="deb")
    for experiment in (
        rung(asked, asked.candidates, 0, 3600.0),
        confirmation(asked, asked.candidates[0], 0, 3600.0),
    ):
        assert {each.inputs.packaging for each in experiment.subjects} == {"deb"}
    assert asked.name != request_for_servers().name


def test_a_server_that_does_not_fit_alone_is_refused_before_anything_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_be_free(monkeypatch, memory=GIB // 64, disk=1024 * GIB)
    with pytest.raises(MachineError, match="a server with a cache of"):
        check_room(request_for_servers(), Known(), Home(tmp_path))
