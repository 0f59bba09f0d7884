"""What an experiment, a build or a goal needs is known before anything is fetched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dbhone import requirements as installed
from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.variant import parse_variant
from dbhone.dbms.base import load_dbms, system_names
from dbhone.errors import SourceError, UnknownName, UsageError
from dbhone.experiment.declaration.load import load_shipped, parse
from dbhone.experiment.plan.estimates import BuildEstimator
from dbhone.experiment.plan.goals import (
    foresee_dbms,
    goal_names,
    goals,
    missing_for,
    missing_for_build,
    together,
)
from dbhone.sandbox import TRUST_VARIABLE
from dbhone.verification.checks.base import checks_for
from dbhone.verification.outcome import Grade
from tests.experiment.experiment_files import GOOD_SERVERS, on_data


class Known(BuildEstimator):
    """What is known of sources: nothing is kept, and all are of one version."""

    def __init__(self, version: str = "") -> None:
        self._version = version

    def is_kept(self, reference: str) -> bool:
        return False

    def version(self, inputs: BuildInputs) -> str:
        return self._version


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the machine have nothing at all, but sandboxes."""
    monkeypatch.setattr(installed.Requirement, "is_met", lambda _: False)


def postgresql() -> BuildInputs:
    return BuildInputs(dbms="postgresql", source="apt:postgresql-15", variant=parse_variant("rel"))


def mysql() -> BuildInputs:
    return BuildInputs(dbms="mysql", source="apt:mysql-8.0", variant=parse_variant("rel"))


@pytest.mark.usefixtures("bare")
def test_a_shipped_experiment_names_all_packages_at_once() -> None:
    packages = missing_for(load_shipped("postgresql-builds"), Known("15.18")).packages
    assert set(packages) == {
        *("apt", "dpkg-dev", "gcc", "libc6-dev", "bison", "flex", "perl", "make", "sysbench")
    }


@pytest.mark.usefixtures("bare")
def test_data_of_one_s_own_requires_a_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = on_data(parse(GOOD_SERVERS, name="x.toml"), "dump", tmp_path / "shop.sql")
    assert installed.SANDBOX in missing_for(experiment, Known()).requirements
    monkeypatch.setenv(TRUST_VARIABLE, "1")
    assert installed.SANDBOX not in missing_for(experiment, Known()).requirements


@pytest.mark.usefixtures("bare")
def test_optional_subjects_require_nothing() -> None:
    packages = missing_for(load_shipped("try"), Known()).packages
    assert "clang" not in packages
    assert "tcl" in packages


@pytest.mark.usefixtures("bare")
def test_the_version_decides_where_it_is_known() -> None:
    assert "libtirpc-dev" not in missing_for_build(mysql(), Known("5.7.44"), None).packages
    assert "libtirpc-dev" in missing_for_build(mysql(), Known("8.0.36"), None).packages


def test_what_only_some_versions_require_is_no_reason_to_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lacking = {"libtirpc-dev"}
    monkeypatch.setattr(installed.Requirement, "is_met", lambda need: need.package not in lacking)
    assert not missing_for_build(mysql(), Known(), None)
    lacking.add("bison")
    assert set(missing_for_build(mysql(), Known(), None).packages) == lacking


@pytest.mark.usefixtures("bare")
def test_training_a_server_requires_its_driver() -> None:
    assert "sysbench" not in missing_for_build(postgresql(), Known(), None).packages
    assert "sysbench" in missing_for_build(postgresql(), Known(), "sysbench:micro").packages


def test_there_is_a_goal_for_each_dbms() -> None:
    assert set(system_names()) < set(goal_names())
    with pytest.raises(UnknownName, match="there is no goal 'postgres'") as caught:
        goals(("postgres",))
    assert caught.value.hint == "did you mean 'postgresql'?"


@pytest.mark.usefixtures("bare")
def test_a_goal_says_what_it_needs() -> None:
    sqlite, postgresql = goals(("sqlite", "postgresql"))
    assert sqlite.describe() == (
        "needs 8 packages (gcc libc6-dev make tcl apt dpkg-dev bubblewrap tcl-dev)"
    )
    assert not sqlite.ready
    assert together((sqlite.missing, postgresql.missing)).packages.count("gcc") == 1


@pytest.mark.parametrize(
    ("lacking", "described"),
    [
        ({"libtirpc-dev"}, "ready; some versions need 1 package (libtirpc-dev)"),
        ({"sqlsmith"}, "ready; verifying needs 1 package (sqlsmith)"),
        (
            {"libtirpc-dev", "sqlsmith"},
            "ready; some versions and verifying need 2 packages (libtirpc-dev sqlsmith)",
        ),
        (set(), "ready"),
    ],
)
def test_a_goal_is_ready_if_only_some_versions_or_verifying_need_more(
    monkeypatch: pytest.MonkeyPatch, lacking: set[str], described: str
) -> None:
    monkeypatch.setattr(installed.Requirement, "is_met", lambda need: need.package not in lacking)
    monkeypatch.setattr(
        "dbhone.experiment.plan.goals.checks_for", lambda _: checks_for("postgresql")
    )
    (goal,) = goals(("mysql",))
    assert goal.ready
    assert goal.describe() == described
    assert set(goal.missing.packages) == lacking


def test_an_embedded_dbms_is_built_without_a_sandbox_and_verified_in_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(installed.Requirement, "is_met", lambda need: need.package != "bubblewrap")
    (goal,) = goals(("sqlite",))
    assert goal.describe() == "ready; verifying needs 1 package (bubblewrap)"


@pytest.mark.usefixtures("bare")
def test_an_experiment_with_a_grade_needs_what_its_checks_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(TRUST_VARIABLE, raising=False)
    experiment = load_shipped("postgresql-builds")
    graded = replace(experiment, verification=Grade.SMOKE)
    more = set(missing_for(graded, Known("15.18")).packages)
    assert more - set(missing_for(experiment, Known("15.18")).packages) == {
        "bubblewrap",
        "diffutils",
        "sqlsmith",
    }


@pytest.mark.parametrize("name", system_names())
def test_the_usual_programs_of_a_recipe_are_among_its_requirements(
    name: str, tmp_path: Path
) -> None:
    dbms = load_dbms(name)
    assert set(dbms.required_programs(tmp_path)) <= {need.name for need in dbms.requirements}


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("apt:sqlite3", "sqlite"),
        ("apt:postgresql-15", "postgresql"),
        ("git:https://github.com/mysql/mysql-server@mysql-8.0.36", "mysql"),
        ("git:https://github.com/percona/percona-server@8.0", "percona"),
        ("git:https://example.org/postgresql/tools@main", None),
    ],
)
def test_a_reference_tells_its_dbms_by_its_last_part(reference: str, name: str | None) -> None:
    assert foresee_dbms(reference) == name


def test_a_folder_is_looked_at(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not the source tree of a DBMS"):
        foresee_dbms(f"dir:{tmp_path}")
    with pytest.raises(UsageError, match="cannot read the source folder"):
        foresee_dbms(f"dir:{tmp_path / 'absent'}")
