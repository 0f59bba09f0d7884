"""How to repeat a run: the command says what the file does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbhone.measurement.record import Design
from dbhone.report.reproduction import repeat
from tests.report.sample_run import EXPERIMENT, Shape, a_run, run_page

DECLARED = f"""{EXPERIMENT}
[design]
target = "1%"
budget = "2h"
seed = 3
"""
AS_DECLARED = Design(seed=3, target=0.01, budget_seconds=7200.0, min_blocks=6, max_blocks=200)


def command(text: str, **changes: float) -> str:
    design = replace(AS_DECLARED, **changes)  # type: ignore[arg-type]
    return repeat(a_run(experiment=text, experiment_name="/home/dba/mine", design=design)).command


def test_a_run_that_was_measured_as_its_file_says_needs_no_options() -> None:
    assert command(DECLARED) == "hone run mine.toml"
    usual = {"seed": 1, "target": 0.02, "budget_seconds": 480.0}
    assert command(EXPERIMENT, **usual) == "hone run mine.toml"


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"budget_seconds": 900.0}, "--budget 15m"),
        ({"target": 0.07}, "--target 7%"),
        ({"seed": 0}, "--seed 0"),
        (
            {"budget_seconds": 905.0, "target": 0.0025, "seed": 4},
            "--budget 905s --target 0.25% --seed 4",
        ),
    ],
)
def test_what_the_command_line_said_instead_of_the_file_is_said_again(
    changes: dict[str, float], options: str
) -> None:
    assert command(DECLARED, **changes) == f"hone run mine.toml {options}"


def test_a_text_that_is_no_experiment_has_the_usual_design() -> None:
    wrong = '[design]\ntarget = "much"\nbudget = 3\nseed = "x"\n'
    for text in (wrong, "design = 1", "no TOML"):
        told = command(text)
        assert told == "hone run mine.toml --budget 2h --target 1% --seed 3"


def test_one_core_and_one_block_are_not_many() -> None:
    run = a_run()
    alone = replace(run, machine=replace(run.machine, cores=1))
    facts = dict(run_page(alone, Shape(blocks=1)).environment)
    assert facts["CPU"].endswith(", 1 core")
    assert facts["Design"].startswith("1 block, ")
