"""An experiment is enclosed in a package only if it names nothing that is its user's."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import pytest

from dbhone import registry
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.execution.packaged import repeated_text
from dbhone.measurement.record import Design
from dbhone.package.repetition import Gain, as_measured, gains, public_part, why_private
from tests.report.sample_run import a_run

OPEN: dict[str, Any] = {
    "title": "Our shop's secret plan",
    "base": "rel",
    "sources": {"postgresql": "apt:postgresql-15", "tree": "git:https://example.org/a.git@v1"},
    "subjects": {
        "rel": {"dbms": "postgresql", "source": "postgresql"},
        "pgo": {"like": "rel", "variant": "pgo", "settings": {"work_mem": "64MB"}},
    },
    "training": {"sets": ["point-query"]},
    "workload": {"suite": "sysbench:micro"},
    "config": {"set": {"fsync": "off"}},
    "design": {"budget": "20m", "blocks": {"min": 6, "max": 9}},
}


def test_what_names_only_what_everybody_has_is_enclosed_without_its_title() -> None:
    assert why_private(OPEN) is None
    assert "title" not in public_part(OPEN)


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ("workload", "suite", "./shop.workload"),
        ("workload", "suite", "/home/me/shop.toml"),
        ("training", "suite", "./shop.workload"),
        ("training", "command", ["./test.sh"]),
        ("sources", "postgresql", "dir:/home/me/postgresql"),
        ("sources", "postgresql", "git:../postgresql@v1"),
        ("subjects", "rel", {"fixes": ["./mine.patch"]}),
        ("sources", "postgresql", "git:https://me:secret@example.org/a.git@v1"),
        ("config", "set", {"ssl_key_file": "/etc/key"}),
        ("config", "set", {"primary_conninfo": "password=secret"}),
        ("config", "set", {"master_password": "abc"}),
        ("config", "file", "my.cnf"),
        ("workload", "data", {"folder": "/srv/data"}),
        ("subjects", "rel", {"compiler": "/opt/gcc/bin/gcc"}),
        ("subjects", "rel", {"options": ["-DWITH_SSL=/opt/ssl"]}),
        ("subjects", "rel", {"train_suite": "./shop.workload"}),
        ("subjects", "rel", {"vary": {"search_path": ["a, b", "c"]}}),
    ],
)
def test_what_names_something_of_its_users_is_not(table: str, key: str, value: object) -> None:
    assert why_private({**OPEN, table: {**OPEN[table], key: value}}) is not None


def test_it_is_repeated_with_the_design_by_which_it_was_measured() -> None:
    text = '[design]\nbudget = "20m"\nblocks = { min = 6, max = 9 }\n'
    design = Design(seed=1, target=0.02, budget_seconds=1200.0, min_blocks=6, max_blocks=9)
    usual = a_run(experiment=text, design=design)
    assert as_measured(OPEN, usual) == OPEN
    longer = replace(design, budget_seconds=7200.0, target=0.005, seed=7)
    again = as_measured(OPEN, replace(usual, design=longer))
    assert again["design"] == {
        "budget": "2h",
        "blocks": {"min": 6, "max": 9},
        "target": "0.5%",
        "seed": 7,
    }
    assert {**again, "design": OPEN["design"]} == OPEN


@pytest.mark.parametrize("name", sorted(registry.toml_files("dbhone.experiment.experiments")))
def test_every_experiment_that_ships_can_be_repeated(name: str) -> None:
    file = registry.toml_files("dbhone.experiment.experiments")[name]
    declared = tomllib.loads(file.read_text(encoding="utf-8"))
    assert why_private(declared) is None
    again = parse(repeated_text(public_part(declared), "server-1.0"), name="package")
    first = parse(file.read_text(encoding="utf-8"), name=name)
    assert again.subjects == first.subjects
    assert again.workload == first.workload
    assert again.design == first.design


def _gain(low: float, ratio: float, high: float) -> Gain:
    return Gain(in_sample=False, ratio=ratio, low=low, high=high, verdict="faster")


def test_two_measurements_agree_as_far_as_their_intervals_allow() -> None:
    assert _gain(1.08, 1.1, 1.12).agrees_with(_gain(1.09, 1.12, 1.15))
    assert not _gain(1.08, 1.1, 1.12).agrees_with(_gain(1.18, 1.2, 1.22))


def test_gains_are_those_of_one_subject_over_all_steps_alike_in_sample() -> None:
    whole = {
        "subject": "pgo",
        "metric": "throughput",
        "group": None,
        "in_sample": False,
        "ratio": 1.1,
        "low": 1.0,
        "high": 1.2,
        "verdict": "faster",
        "blocks": 6,
    }
    others = (
        {**whole, "subject": "lto"},
        {**whole, "metric": "cpu_seconds"},
        {**whole, "group": "point"},
        {**whole, "low": None},
    )
    (found,) = gains([*others, whole], "pgo")
    assert (found.ratio, found.steps) == (1.1, "held-out")
