"""The experiment that trains on one workload and tests on another."""

from __future__ import annotations

import dataclasses

import pytest

from dbhone.dbms.base import load_dbms
from dbhone.errors import UnknownName, UsageError
from dbhone.experiment.load import parse
from dbhone.experiment.templates import DesignOptions, WorkloadOptions
from dbhone.measurement.record import Role
from dbhone.tuner.cross_training import CrossTrainingRequest, cross_training_text

REQUEST = CrossTrainingRequest(
    dbms=load_dbms("postgresql"),
    source="apt:postgresql-15",
    variant="lto+pgo",
    workload=WorkloadOptions(suite=None, size="smoke", sets=("point-query", "scan", "insert")),
    mixes=(("scan", "insert"),),
    earlier=None,
    sizes=(),
    design=DesignOptions(budget=None, target=0.02, seed=1),
)


def with_sets(*sets: str, suite: str | None = None) -> CrossTrainingRequest:
    workload = dataclasses.replace(REQUEST.workload, sets=sets, suite=suite)
    return dataclasses.replace(REQUEST, workload=workload, mixes=())


def test_a_build_is_trained_on_each_set_on_each_mix_and_on_all() -> None:
    experiment = parse(cross_training_text(REQUEST), name="x")
    trained = {
        subject.name: subject.training.sets for subject in experiment.subjects if subject.training
    }
    point, scan, insert = experiment.sets or ()
    assert trained == {
        "on-point-query": (point,),
        "on-scan": (scan,),
        "on-insert": (insert,),
        "on-scan+insert": (scan, insert),
        "on-all": (point, scan, insert),
    }
    assert [subject.role for subject in experiment.subjects][:2] == [Role.BASE, Role.CONTROL]
    assert {subject.inputs.variant.name for subject in experiment.subjects} == {
        *("rel", "rel+lto+pgo"),
    }


def test_one_more_build_takes_the_profile_of_an_earlier_source() -> None:
    request = dataclasses.replace(REQUEST, earlier="apt:postgresql-14")
    subjects = parse(cross_training_text(request), name="x").subjects
    own, aged = subjects[-2:]
    assert (own.name, aged.name) == ("on-all", "on-all-earlier")
    assert aged.inputs.profile_source == "apt:postgresql-14"
    assert aged.training == own.training


def test_one_more_build_is_trained_for_another_time() -> None:
    request = dataclasses.replace(REQUEST, sizes=("quick", "full"))
    subjects = parse(cross_training_text(request), name="x").subjects
    sizes = {one.name: one.training.size for one in subjects[-3:] if one.training}
    assert sizes == {"on-all": "smoke", "on-all-quick": "quick", "on-all-full": "full"}


def test_all_sets_of_a_suite_are_taken_where_none_is_named() -> None:
    request = dataclasses.replace(
        with_sets(), dbms=load_dbms("sqlite"), source="apt:sqlite3", variant="pgo"
    )
    experiment = parse(cross_training_text(request), name="x")
    assert len(experiment.subjects) == 2 + len(experiment.sets or ()) + 1


@pytest.mark.parametrize(
    ("request_", "error", "said"),
    [
        (with_sets(), UsageError, "2 to 12 sets can be trained on in turn, not 32"),
        (with_sets("scan"), UsageError, "not 1"),
        (with_sets("scan", "nonsense"), UnknownName, "nonsense"),
        (dataclasses.replace(REQUEST, sizes=("smoke",)), UsageError, "trained at the size smoke"),
    ],
)
def test_what_cannot_be_trained_on_in_turn_is_refused(
    request_: CrossTrainingRequest, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        cross_training_text(request_)
