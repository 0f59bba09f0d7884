"""What is found in several runs as a whole, and in each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dbhone.analysis.trust import TrustGrade
from dbhone.measurement.metric import REFUSED_SHARE, THROUGHPUT
from dbhone.measurement.record import Run
from dbhone.measurement.sample_array import SampleArray
from dbhone.report.findings import findings_of_joined
from tests.analysis.columns import samples_of
from tests.analysis.histories import a_run

BLOCKS = 12
SWINGS = np.resize([1.0, -1.0], BLOCKS)


def measured(
    run: Run,
    ratios: Mapping[str, float],
    *,
    swings: Mapping[str, float] | None = None,
    refused: Mapping[str, float] | None = None,
) -> tuple[Run, SampleArray]:
    """Return a run with measurements: ratios to its base, which swing from block to block."""
    names = [subject.name for subject in run.subjects]
    shape = (len(names), len(run.steps), BLOCKS)
    rates, shares = np.empty(shape), np.empty(shape)
    for at, name in enumerate(names):
        swing = (swings or {}).get(name, 0.001) * SWINGS
        rates[at] = 100.0 * ratios.get(name, 1.0) * np.exp(swing)
        shares[at] = (refused or {}).get(name, 0.0)
    places = np.nonzero(rates)
    figures = {THROUGHPUT.name: rates[places], REFUSED_SHARE.name: shares[places]}
    return run, samples_of(names, (step.name for step in run.steps), places, figures)


def test_refusals_are_compared_with_the_base_of_all_runs() -> None:
    first = measured(a_run(1, "5.6", "5.7"), {}, refused={"5.7": 0.05})
    second = measured(
        a_run(2, "5.7", "8.0"), {}, refused={"5.7": 0.05, "control": 0.05, "8.0": 0.05}
    )
    found = findings_of_joined([first, second]).warnings
    refusing = {each.subject for each in found if each.code == "many-refused"}
    assert refusing == {"5.7", "8.0"}
    assert not [each for each in found if each.code == "refused-transactions"]


def test_a_history_has_no_winner_that_its_control_could_reach() -> None:
    first = measured(a_run(1, "5.6", "5.7"), {"5.7": 1.5})
    second = measured(a_run(2, "5.7", "8.0"), {"8.0": 1.01}, swings={"control": 0.02})
    for runs in ([second], [first, second]):
        found = findings_of_joined(runs)
        assert found.history is not None
        assert not [each for each in found.warnings if each.code == "control-noisy"]
        assert "winner" not in found.trust.reason


def test_a_control_that_differs_in_its_own_run_is_told_with_that_run() -> None:
    first = measured(a_run(1, "5.6", "5.7"), {"5.7": 1.5})
    second = measured(a_run(2, "5.7", "8.0"), {"8.0": 1.2, "control": 0.9})
    found = findings_of_joined([first, second]).warnings
    (told,) = (each for each in found if each.code == "control-differs")
    assert told.text.startswith("run 2: control is 5.7 over again and yet differs")


def test_runs_are_trusted_no_further_together_than_each_of_them_alone() -> None:
    first = measured(a_run(1, "5.6", "5.7"), {"5.7": 1.5})
    for control, grade in ((1.0, TrustGrade.GOOD), (1.2, TrustGrade.NONE)):
        second = measured(a_run(2, "5.7", "8.0"), {"control": control})
        assert findings_of_joined([first, second]).trust.grade is grade
    noisy = measured(a_run(2, "5.7", "8.0"), {}, swings={"control": 0.2})
    trust = findings_of_joined([first, noisy]).trust
    assert trust.grade is TrustGrade.LIMITED
    assert trust.reason.startswith("run 2: the A/A control's interval reaches")


def test_a_control_that_differs_is_told_once_where_all_runs_repeat_one_base() -> None:
    runs = [
        measured(a_run(number, "5.6", "5.7"), {"5.7": 1.5, "control": 0.9}) for number in (1, 2)
    ]
    found = findings_of_joined(runs).warnings
    (told,) = (each for each in found if each.code == "control-differs")
    assert told.text.startswith("control is 5.6 over again")


def test_what_changed_from_one_run_to_another_is_told() -> None:
    first = measured(a_run(1, "5.6", "5.7"), {})
    run, samples = measured(a_run(2, "5.7", "8.0"), {})
    later = replace(run, machine=replace(run.machine, governor="powersave"), hone_version="9.9")
    (how,) = (
        each
        for each in findings_of_joined([first, (later, samples)]).warnings
        if each.code == "joined"
    )
    governor, version = run.machine.governor, run.hone_version
    said = f"from one to another changed: governor {governor}, then powersave; hone {version}, then"
    assert said in how.text
    (alike,) = (
        each
        for each in findings_of_joined([first, (run, samples)]).warnings
        if each.code == "joined"
    )
    assert "changed" not in alike.text
