import itertools
from dataclasses import replace

import numpy as np
import pytest

from dbhone.analysis.comparison import analyse
from dbhone.analysis.severity import CONTROL_CODES
from dbhone.analysis.warnings import _together, find_warnings
from dbhone.measurement.record import READY_MADE, Code, Group, Role, Run, RunState, Step, Warning
from dbhone.measurement.sample_array import SampleArray
from tests.analysis.columns import columns
from tests.report.sample_run import EFFECTS, SUBJECTS, Shape, a_run, samples


def _doubts(run: Run, of: SampleArray) -> tuple[Warning, ...]:
    analysis = analyse(
        of,
        base="rel",
        steps=run.steps,
    )
    return find_warnings(run, of, analysis)


QUIET = Shape(bursts=0.0)


def _codes(run: Run, shape: Shape = QUIET) -> list[str]:
    return [each.code for each in _doubts(run, samples(run, shape))]


def _sound() -> Run:
    """Return a run of which there is nothing to doubt: no short steps, target met."""
    run = a_run(stopped_by="target")
    return replace(run, steps=tuple(step for step in run.steps if step.set in ("main", "cte")))


def test_a_sound_run_raises_no_doubt() -> None:
    assert _codes(_sound()) == []


def test_a_candidate_that_is_the_base_byte_for_byte_and_differs_is_told_as_a_control_is() -> None:
    same = Warning(
        code=Code.IDENTICAL, text="pgo is byte for byte the same as the base", subject="pgo"
    )
    run = replace(_sound(), warnings=(same,))
    (told, *others) = _doubts(run, samples(run, QUIET))
    assert (told.code, told.subject) == ("control-differs", "pgo")
    assert told.text.startswith("pgo is byte for byte rel and yet differs from it in ")
    assert [each.code for each in others] == [Code.IDENTICAL]
    quiet = replace(QUIET, effects={})
    assert [each.code for each in _doubts(run, samples(run, quiet))] == [Code.IDENTICAL]


@pytest.mark.parametrize(
    ("code", "run", "shape"),
    [
        ("too-few-blocks", _sound(), Shape(blocks=5)),
        ("run-not-finished", replace(_sound(), state=RunState.INTERRUPTED), Shape()),
        ("base-drift", _sound(), Shape(blocks=40, drift=0.5)),
        (
            "target-not-met",
            replace(_sound(), stopped_by="budget"),
            Shape(blocks=6, spread=0.1),
        ),
        (
            "no-control",
            replace(_sound(), subjects=tuple(s for s in SUBJECTS if s.role is not Role.CONTROL)),
            Shape(),
        ),
        ("control-differs", _sound(), Shape(effects={**EFFECTS, "control": (1.05, 1.0)})),
        (
            "control-noisy",
            _sound(),
            Shape(
                blocks=8, seed=5, spread=0.02, effects={"pgo": (1.05, 1.05), "control": (0.98, 1)}
            ),
        ),
    ],
)
def test_what_is_doubtful_is_told(code: str, run: Run, shape: Shape) -> None:
    assert code in _codes(run, shape)


def test_a_control_that_broke_is_not_waited_for() -> None:
    shape = Shape(
        blocks=8, seed=5, spread=0.02, effects={"pgo": (1.05, 1.05), "control": (0.98, 1)}
    )
    broken = tuple(
        replace(each, broken="it crashed") if each.role is Role.CONTROL else each
        for each in _sound().subjects
    )
    assert "control-noisy" not in _codes(replace(_sound(), subjects=broken), shape)


def test_a_broken_subject_is_told_with_its_reason() -> None:
    broken = replace(SUBJECTS[4], broken="its results differ from rel's")
    run = replace(_sound(), subjects=(*SUBJECTS[:4], broken, *SUBJECTS[5:]))
    told = [each for each in _doubts(run, samples(run)) if each.code == "subject-broken"]
    assert [each.subject for each in told] == ["lto"]
    assert "its results differ from rel's" in told[0].text


def _ready_made(*compilers: str) -> Run:
    """Return a run of ready-made servers, by these compilers in turn."""
    run = _sound()
    by = itertools.chain(compilers, itertools.repeat(compilers[-1]))
    subjects = (
        replace(each, variant=READY_MADE, compiler=compiler)
        for each, compiler in zip(run.subjects, by, strict=False)
    )
    return replace(run, subjects=tuple(subjects))


@pytest.mark.parametrize("compilers", [("gcc 7.5.0",), (READY_MADE,), ("gcc 7.5.0", READY_MADE)])
def test_ready_made_servers_that_may_have_been_compiled_alike_are_not_told(
    compilers: tuple[str, ...],
) -> None:
    assert _codes(_ready_made(*compilers)) == []


def test_ready_made_servers_that_were_not_compiled_alike_are_told() -> None:
    run = _ready_made("gcc 4.4.7", "gcc 7.5.0", "gcc 4.4.7", READY_MADE)
    (told,) = _doubts(run, samples(run, QUIET))
    first, second, third, *_ = (each.name for each in run.subjects)
    assert f"({first}, {third} by gcc 4.4.7; {second} by gcc 7.5.0)" in told.text


def test_parts_of_a_step_do_not_show_that_the_machine_changed() -> None:
    of = samples(_sound(), Shape(bursts=0.0, blocks=40))
    steps = tuple(
        Step(set="mix", key=str(at or ""), title="t", group=Group.WRITE, in_sample=False)
        for at in range(len(of.steps))
    )
    values = of.values.copy()
    values[:, 1:, of.metrics.index("throughput")] *= np.exp(np.linspace(0, 0.5, 40))
    mixed = replace(of, steps=tuple(step.name for step in steps), values=values)
    codes = [each.code for each in _doubts(replace(_sound(), steps=steps), mixed)]
    assert "base-drift" not in codes


def test_drift_that_is_only_noise_is_not_told() -> None:
    run = _sound()
    for seed in range(20):
        assert "base-drift" not in _codes(run, Shape(blocks=20, seed=seed))


def test_values_without_a_ratio_are_told() -> None:
    run = _sound()
    of = samples(run)
    changed = columns(of)
    changed.values["cpu_seconds"][:3] = 0
    of = changed.array()
    assert "3 measured values" in next(
        each.text for each in _doubts(run, of) if each.code == "unusable-values"
    )


def test_steps_left_out_of_a_summary_are_told() -> None:
    run = _sound()

    def missing(subject: str, step: str, block: int) -> bool:
        return subject == "pgo" and step == "cte/300" and block > 2

    told = [
        each
        for each in _doubts(run, samples(run, Shape(missing=missing)))
        if each.code == "steps-left-out" and each.text.startswith("the throughput")
    ]
    assert [each.subject for each in told] == ["pgo"]
    assert "throughput summaries of pgo leave out cte/300," in told[0].text


def test_steps_that_several_subjects_do_without_are_told_once() -> None:
    run = _sound()

    def missing(subject: str, step: str, block: int) -> bool:
        return subject in {"pgo", "control"} and step == "cte/300" and block > 2

    told = [
        each
        for each in _doubts(run, samples(run, Shape(missing=missing)))
        if each.code == "steps-left-out" and each.text.startswith("the throughput")
    ]
    assert len(told) == 1
    assert "control" in told[0].text
    assert "pgo" in told[0].text


def test_the_gravest_warnings_come_first_and_the_runs_own_among_them() -> None:
    own = Warning(code="steal", text="another guest took 12% of the CPU")
    how = Warning(code="awake", text="no CPU slept")
    run = replace(_sound(), warnings=(how, own), state=RunState.INTERRUPTED)
    found = _doubts(run, samples(run, replace(QUIET, effects={"control": (1.05, 1.05)})))
    assert found[0].code in CONTROL_CODES
    assert [each.code for each in found[1:]] == ["run-not-finished", "steal", "awake"]


def test_steps_together_are_told_with_the_part_that_they_are_of() -> None:
    run = replace(
        _sound(), steps=tuple(replace(s, in_sample=s.set == "main") for s in _sound().steps)
    )
    both = analyse(samples(run, Shape()), base="rel", steps=run.steps)
    said = {(each.in_sample, each.group): _together(each, both) for each in both.summaries}
    assert said[False, None] == "all held-out steps together"
    assert said[True, None] == "all in-sample steps together"
    alone = analyse(samples(_sound(), Shape()), base="rel", steps=_plain(_sound()))
    assert {_together(each, alone) for each in alone.summaries if each.group is None} == {
        "all steps together"
    }


def _plain(run: Run) -> tuple[Step, ...]:
    return tuple(replace(each, in_sample=False) for each in run.steps)


def test_a_warning_that_the_run_carries_is_not_repeated() -> None:
    own = Warning(code="too-few-blocks", text="the machine was needed")
    run = replace(_sound(), warnings=(own,))
    codes = [each for each in _doubts(run, samples(run, Shape(blocks=4))) if each.code == own.code]
    assert codes == [own]


def test_step_that_the_base_never_had_does_not_stop_the_checks() -> None:
    def missing(subject: str, step: str, block: int) -> bool:
        return subject == "rel" and (step == "main/100" or (step == "cte/100" and block % 3 == 0))

    shape = Shape(blocks=40, drift=0.5, missing=missing)
    assert "base-drift" in _codes(_sound(), shape)


def test_nothing_measured_raises_no_doubt_of_figures() -> None:
    run = _sound()
    of = samples(run, Shape(blocks=0))
    assert _doubts(run, of) == ()
    assert not len(of.blocks)
