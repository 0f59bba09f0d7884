"""What is explained if nobody says what: the step on which a subject differs most."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dbhone.analysis.comparison import analyse
from dbhone.analysis.stacks import OTHER
from dbhone.analysis.verdict import Analysis
from dbhone.dbms.base_server import load_server_dbms
from dbhone.experiment.explaining import calls_of, most_different
from dbhone.measurement.stack_sampling import StackFrame, StackSample
from tests.report.sample_servers import Shape, a_server_run, server_samples


def _analysis() -> Analysis:
    run = a_server_run()
    return analyse(
        server_samples(run, Shape(blocks=6)), base="rel", steps=run.steps, controls=run.controls
    )


def test_it_is_the_largest_of_all_effects_on_throughput() -> None:
    analysis = _analysis()
    found = most_different(analysis, ("control",))
    assert found is not None
    sizes = [
        max(effect.ratio, 1 / effect.ratio)
        for effect in analysis.throughput_effects
        if effect.subject != "control"
    ]
    assert max(found.ratio, 1 / found.ratio) == max(sizes)


def test_a_part_of_a_set_and_a_control_are_passed_over() -> None:
    analysis = _analysis()
    largest = most_different(analysis, ("control",))
    assert largest is not None
    effects = [
        replace(effect, part=effect.step == largest.step, ratio=9.0)
        if effect.subject == "control" or effect.step == largest.step
        else effect
        for effect in analysis.effects
    ]
    found = most_different(replace(analysis, effects=tuple(effects)), ("control",))
    assert found is not None
    assert found.step != largest.step
    assert found.subject != "control"


def test_what_is_named_is_taken() -> None:
    analysis = _analysis()
    found = most_different(analysis, ("control",), step="update-index")
    assert found is not None
    assert found.step.startswith("update-index")
    assert most_different(analysis, ("control",), subject="nobody") is None


def test_waiting_is_of_the_module_that_waits() -> None:
    program = Path("/opt/mysql/bin/mysqld")
    names = ("ut_delay", "", "log_wait_for_flush", "trx_commit")
    frames = tuple(StackFrame(name, str(program)) for name in names)
    sample = StackSample(at=0.0, frames=frames)
    calls = calls_of(sample, load_server_dbms("mysql"), program.parents[1])
    log, transactions = "InnoDB's log", "InnoDB's transactions"
    assert [call.module for call in calls] == [log, OTHER, log, transactions]
