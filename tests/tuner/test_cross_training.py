"""The experiment that trains on one workload and tests on another."""

from __future__ import annotations

from typing import Any

import pytest

from dbhone.dbms.base import load_dbms
from dbhone.errors import UnknownName, UsageError
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.templates import DesignOptions, WorkloadOptions
from dbhone.measurement.record import Role
from dbhone.tuner.cross_training import cross_training_text

SETS = ("point-query", "scan", "insert")


def text_of(
    sets: tuple[str, ...] = SETS, *, dbms: str = "postgresql", variant: str = "lto+pgo", **more: Any
) -> str:
    workload = WorkloadOptions(suite=None, size="smoke", sets=sets)
    design = DesignOptions(budget=None, target=0.02, seed=1)
    system = load_dbms(dbms)
    return cross_training_text(system, system.reference, variant, workload, design, **more)


def test_a_build_is_trained_on_each_set_on_each_mix_and_on_all() -> None:
    experiment = parse(text_of(mixes=(("scan", "insert"),)), name="x")
    trained = {
        each.name: each.training.workload.chosen for each in experiment.subjects if each.training
    }
    point, scan, insert = experiment.workload.chosen
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
    subjects = parse(text_of(earlier="apt:postgresql-14"), name="x").subjects
    own, aged = subjects[-2:]
    assert (own.name, aged.name) == ("on-all", "on-all-earlier")
    assert aged.inputs.profile_source == "apt:postgresql-14"
    assert aged.training == own.training


def test_one_more_build_is_trained_for_another_time() -> None:
    subjects = parse(text_of(sizes=("quick", "full")), name="x").subjects
    sizes = {one.name: one.training.workload.scale.size for one in subjects[-3:] if one.training}
    assert sizes == {"on-all": "smoke", "on-all-quick": "quick", "on-all-full": "full"}


def test_long_mixes_that_begin_alike_have_names_of_their_own() -> None:
    sets = ("parsenumber", "rtree", "main", "star", "json", "app", "cte", "orm")
    mixes = (sets[:6], sets[:7])
    subjects = parse(text_of(sets, dbms="sqlite", mixes=mixes), name="x").subjects
    trained = {one.name: one.training.workload.chosen for one in subjects if one.training}
    assert len(trained) == len(sets) + len(mixes) + 1
    assert set(mixes) <= set(trained.values())


def test_a_mix_of_all_sets_is_the_training_on_all() -> None:
    mixed = parse(text_of(mixes=(SETS[::-1],)), name="x").subjects
    assert mixed == parse(text_of(), name="x").subjects


def test_all_sets_of_a_suite_are_taken_where_none_is_named() -> None:
    experiment = parse(text_of((), dbms="sqlite", variant="pgo"), name="x")
    assert len(experiment.subjects) == 2 + len(experiment.workload.chosen) + 1


@pytest.mark.parametrize(
    ("sets", "sizes", "error", "said"),
    [
        ((), (), UsageError, "2 to 12 sets can be trained on in turn, not 32"),
        (("scan",), (), UsageError, "not 1"),
        (("scan", "nonsense"), (), UnknownName, "nonsense"),
        (SETS, ("smoke",), UsageError, "trained at the size smoke"),
    ],
)
def test_what_cannot_be_trained_on_in_turn_is_refused(
    sets: tuple[str, ...], sizes: tuple[str, ...], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        text_of(sets, sizes=sizes)
