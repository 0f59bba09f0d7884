from dataclasses import replace

from dbhone.analysis.comparison import analyse
from dbhone.analysis.verdict import find_winner
from dbhone.measurement.record import Run, Subject
from tests.report.sample_run import SUBJECTS, Shape, a_run, samples


def _winner(run: Run, shape: Shape | None = None) -> str | None:
    analysis = analyse(
        samples(run, shape),
        base="rel",
        steps=run.steps,
    )
    found = find_winner(analysis, run.subjects)
    return found.subject if found else None


def _with(name: str, **changes: str) -> tuple[Subject, ...]:
    return tuple(
        replace(each, **changes) if each.name == name else each  # type: ignore[arg-type]
        for each in SUBJECTS
    )


def test_winner_is_judged_on_what_was_not_trained_on() -> None:
    shape = Shape(effects={"pgo": (1.05, 1.5), "o3": (1.15, 1.0)}, blocks=20)
    assert _winner(a_run(), shape) == "o3"


def test_without_held_out_steps_the_winner_is_judged_in_sample() -> None:
    run = a_run()
    run = replace(run, steps=tuple(step for step in run.steps if step.in_sample))
    assert _winner(run, Shape(effects={"pgo": (1.0, 1.5)})) == "pgo"


def test_nobody_wins_by_noise() -> None:
    assert _winner(a_run(), Shape(effects={})) is None


def test_a_control_cannot_win() -> None:
    assert _winner(a_run(), Shape(effects={"control": (1.5, 1.5)})) is None


def test_a_broken_subject_cannot_win() -> None:
    of = a_run()
    shape = Shape(effects={"pgo": (1.1, 1.1), "lto": (1.3, 1.3)})
    measured = samples(of, shape)
    broken = replace(of, subjects=_with("lto", broken="the driver failed in block 9"))
    analysis = analyse(
        measured,
        base="rel",
        steps=of.steps,
    )
    won = find_winner(analysis, of.subjects)
    assert won is not None
    assert won.subject == "lto"
    rest = find_winner(analysis, broken.subjects)
    assert rest is not None
    assert rest.subject == "pgo"


def test_too_few_blocks_have_no_winner() -> None:
    assert _winner(a_run(), Shape(blocks=5, effects={"pgo": (2.0, 2.0)})) is None
