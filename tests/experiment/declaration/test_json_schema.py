"""Editors know what hone accepts, and refuse what it refuses."""

from __future__ import annotations

import tomllib
from typing import Any

import jsonschema
import pytest

from dbhone import registry
from dbhone.experiment.declaration.json_schema import experiment_schema
from dbhone.experiment.plan.starters import starter_text
from dbhone.source.known_versions import known_versions
from dbhone.workload import suite as suites

SHIPPED = registry.toml_files("dbhone.experiment.experiments")


def errors_of(text: str) -> list[str]:
    validator = jsonschema.Draft7Validator(experiment_schema())
    return [error.message for error in validator.iter_errors(tomllib.loads(text))]


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_every_experiment_that_ships_is_accepted(name: str) -> None:
    assert errors_of(SHIPPED[name].read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("question", ["settings", "queries"])
def test_a_file_to_begin_with_is_accepted(question: str) -> None:
    assert errors_of(starter_text("postgresql", question, known_versions())) == []


def test_no_name_of_a_suite_is_taken_for_a_path() -> None:
    assert not [name for name in suites.names() if "." in name or "/" in name]


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ("[design]", "[desing]", "'desing' was unexpected"),
        ('suite = "speedtest1"', 'suite = "speedtest"', "is not valid under any of"),
        ('budget = "8m"', "budget = 8", "is not of type 'string'"),
        ('dbms = "sqlite"', 'dbms = "sqlit"', "is not one of"),
        ("seed = 1", "seed = -1", "less than the minimum"),
    ],
)
def test_what_hone_refuses_is_refused(right: str, wrong: str, complaint: str) -> None:
    text = SHIPPED["try"].read_text(encoding="utf-8")
    assert right in text
    assert any(complaint in message for message in errors_of(text.replace(right, wrong)))


@pytest.mark.parametrize("data", ['"a.dump"', "{ rows = 1000 }", '{ dump = "a.dump" }'])
def test_data_is_a_path_or_a_table(data: str) -> None:
    text = SHIPPED["try"].read_text(encoding="utf-8")
    for section in ("[workload]", "[training]"):
        assert section in text
        assert errors_of(text.replace(section, f"{section}\ndata = {data}")) == []


def test_keys_are_explained_for_readers() -> None:
    schema: Any = experiment_schema()
    assert "title" not in schema["$defs"]["DesignSection"]["properties"]["budget"]
    assert "``" not in str(schema)
