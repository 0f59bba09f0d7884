"""Experiments that are histories: what `hone history` writes, and which orders are refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest

from dbhone.errors import ExperimentError, UnknownName, UsageError
from dbhone.experiment.declaration.load import load_shipped, parse
from dbhone.experiment.declaration.templates import (
    DesignOptions,
    WorkloadOptions,
    choose_versions,
    history_text,
)
from dbhone.measurement.record import Role
from dbhone.source.known_versions import KnownVersion, KnownVersions, known_versions

KNOWN = known_versions()
VERSIONS = choose_versions(KNOWN, "mysql", ("8.0.12", "5.6.14", "5.7"))
WORKLOAD = WorkloadOptions(suite=None, size="quick")
DESIGN = DesignOptions(budget=3600.0, target=0.02, seed=1)


def text_of(versions: Sequence[KnownVersion] = VERSIONS, **built: str) -> str:
    return history_text("mysql", versions, WORKLOAD, DESIGN, **built)  # type: ignore[arg-type]


TEXT = text_of()


class TestWhatIsWritten:
    def test_it_is_an_experiment_on_the_versions_and_a_control(self) -> None:
        experiment = parse(TEXT, name="x")
        assert experiment.title == "MySQL 5.6.14 to 8.0.12"
        assert {each.name: each.role for each in experiment.subjects} == {
            "5.6.14": Role.BASE,
            "control": Role.CONTROL,
            "5.7.22": Role.CANDIDATE,
            "8.0.12": Role.CANDIDATE,
        }
        assert {each.inputs.source for each in experiment.subjects} == {
            each.source for each in VERSIONS
        }
        assert experiment.workload.name == "sysbench:micro"
        assert experiment.design.budget_seconds == 3600.0
        assert experiment.workload.sets is None

    def test_it_says_what_was_asked_for(self) -> None:
        workload = WorkloadOptions(
            suite=None, size="smoke", sets=("scan", "insert"), threads=(1, 4)
        )
        design = DesignOptions(budget=90.0, target=0.005, seed=1)
        experiment = parse(history_text("mysql", VERSIONS, workload, design), name="x")
        assert experiment.workload.sets == ("scan_range=100", "insert_range=100")
        assert experiment.workload.scale.threads == (1, 4)
        assert experiment.size == "smoke"
        assert (experiment.design.budget_seconds, experiment.design.target) == (90.0, 0.005)

    def test_versions_are_in_the_order_of_their_age(self) -> None:
        assert '\norder = ["5.6.14", "5.7.22", "8.0.12"]\n' in TEXT

    def test_a_version_is_made_as_the_file_of_versions_says(self) -> None:
        own = dataclasses.replace(VERSIONS[1], source="dir:/opt/mysql", variant="ready-made")
        built = dataclasses.replace(own, name="8.0.36", source="git:/m@x", variant="lto")
        text = text_of((VERSIONS[0], own, built))
        made = {each.name: each.inputs.variant.name for each in parse(text, name="x").subjects}
        assert made == {
            "5.6.14": "ready-made",
            "control": "ready-made",
            "5.7.22": "ready-made",
            "8.0.36": "rel+lto",
        }

    def test_what_is_built_is_built_by_the_named_compiler(self) -> None:
        built = dataclasses.replace(VERSIONS[1], name="8.0.36", source="git:/m@x", variant=None)
        text = text_of((VERSIONS[0], built), variant="lto", compiler="clang-19")
        subjects = parse(text, name="x").subjects
        assert {each.name: each.inputs.compiler for each in subjects}["8.0.36"] == "clang-19"
        assert text.count("clang-19") == 1, "nothing compiles a ready-made version"

    def test_where_nothing_is_built_it_cannot_be_said_how(self) -> None:
        with pytest.raises(UsageError, match="are ready-made, and no compiler makes them"):
            text_of(compiler="clang")
        with pytest.raises(UsageError, match="are ready-made, and no variant makes them"):
            text_of(variant="lto")

    def test_it_needs_no_file_of_versions_to_be_repeated(self) -> None:
        assert "known:" not in TEXT
        assert parse(TEXT, name="x", versions=KnownVersions(())).base.name == "5.6.14"


class TestVersions:
    def test_without_names_the_usual_ones_are_taken(self) -> None:
        chosen = choose_versions(KNOWN, "mariadb", ())
        assert [each.name for each in chosen][:2] == ["10.1.23", "10.2.11"]
        assert all(each.usual for each in chosen)

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (("8.0.12",), "a history needs two versions or more"),
            (("5.7", "8.0.12", "5.7.22"), "5.7 and 5.7.22 are both 5.7.22"),
            (("5.7.22", "8.0.12", "5.7.22"), "5.7.22 is named twice"),
            (("5.7", "9.9"), "there is no known version of mysql '9.9'"),
        ],
    )
    def test_what_makes_no_history_is_refused(self, words: tuple[str, ...], said: str) -> None:
        with pytest.raises(UsageError) as error:
            choose_versions(KNOWN, "mysql", words)
        assert error.value.message == said
        assert error.value.hint != ""

    def test_a_dbms_of_which_nothing_is_known_is_told_where_to_add(self) -> None:
        with pytest.raises(UsageError) as error:
            choose_versions(KNOWN, "sqlite", ())
        assert error.value.hint == (
            "known of sqlite: none; more can be put into versions.toml in hone's home;"
            " 'hone history sqlite --source git:URL --versions A..B --output FILE' writes a file"
            " of a repository's releases"
        )


class TestOrder:
    @pytest.mark.parametrize(
        ("order", "said"),
        [
            ('["5.6.14", "5.7.22", "8.0.13"]', "there is no version '8.0.13'"),
            ('["5.6.14", "control"]', "there is no version 'control'"),
            ('["5.6.14", "5.7.22"]', "8.0.12 is missing"),
            ('["5.6.14", "5.7.22", "8.0.12", "5.7.22"]', "a version is named twice"),
            ('["5.7.22", "5.6.14", "8.0.12"]', "the oldest version, 5.7.22, has to be the base"),
            ('["5.6.14"]', "history.order: give 2 or more, not 1"),
        ],
    )
    def test_that_cannot_be_meant_is_refused_with_its_place(self, order: str, said: str) -> None:
        text = TEXT.replace('["5.6.14", "5.7.22", "8.0.12"]', order)
        with pytest.raises((ExperimentError, UnknownName)) as error:
            parse(text, name="mine.toml")
        assert error.value.message.startswith("mine.toml:7: history.order")
        assert said in error.value.message


class TestKnown:
    def test_stands_for_a_source_in_an_experiment(self) -> None:
        source = KNOWN.find("mysql", "5.7.22").source
        text = TEXT.replace(f'"{source}"', '"known:mysql@5.7"')
        assert "known:" in text
        assert parse(text, name="x").subjects == parse(TEXT, name="x").subjects

    def test_that_is_unknown_is_refused_with_its_place(self) -> None:
        source = KNOWN.find("mysql", "5.7.22").source
        text = TEXT.replace(f'"{source}"', '"known:mysql@5.8"')
        with pytest.raises(ExperimentError) as error:
            parse(text, name="mine.toml")
        assert "sources.5.7.22: there is no known version of mysql '5.8'" in error.value.message


@pytest.mark.parametrize("dbms", ["mysql", "mariadb", "postgresql"])
def test_a_history_that_ships_fits_into_an_hour_on_its_usual_versions(dbms: str) -> None:
    experiment = load_shipped(f"{dbms}-history")
    assert experiment.design.budget_seconds <= 3600
    sources = {each.inputs.source for each in experiment.subjects}
    assert sources <= {each.source for each in KNOWN.of(dbms) if each.usual}
    assert len(sources) >= 3
