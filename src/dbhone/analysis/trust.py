"""How far a run's verdicts can be trusted: one grade with its reason, the same everywhere.

The grade is by what the control shows, by what could have been found, and by what was left out.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dbhone.analysis.precision import half_width
from dbhone.analysis.verdict import (
    Analysis,
    Summary,
    Verdict,
    controls_of,
    differs,
    find_best,
    find_winner,
    likely,
    overall,
    reach_of,
    sound_scores,
)
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Code, Role, Run, Subject, Warning
from dbhone.units import count_of, listed

_LARGE = 0.1
"""A run that could have missed a larger difference than this has limited trust.

So has one without a winner whose control may read further off.
"""


class TrustGrade(StrEnum):
    """How far verdicts can be trusted."""

    GOOD = "good"
    LIMITED = "limited"
    NONE = "none"
    """What was found may be of something else than the builds: there is no winner, no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """The grade, and why it is that one, in a sentence."""

    grade: TrustGrade
    reason: str


def trust(
    run: Run,
    analysis: Analysis,
    warnings: Collection[Warning],
    *,
    history: bool,
    parts: Sequence[tuple[str, Trust]] = (),
) -> Trust:
    """Return how far the verdicts of a run can be trusted, given its warnings.

    Whoever names a winner, words a headline or answers with an exit code goes by this grade alone.
    A ``history`` has no winner. Of runs that were joined, ``parts`` are the titles and grades of
    those whose controls repeat another base: the whole is trusted no further.
    """
    best = None if history else find_best(analysis, trusted_subjects(run, warnings))
    controls = _judged_controls(run, analysis)
    reasons = (
        *(f"{name}: {part.reason}" for name, part in parts if part.grade is TrustGrade.NONE),
        _of_base(run),
        _of_control(run, analysis, controls, warnings),
        None if best is None else _of_work(run, best, warnings),
        None if best is None else _of_noise(best, controls),
    )
    reason = next((reason for reason in reasons if reason is not None), None)
    if reason is not None:
        return Trust(grade=TrustGrade.NONE, reason=reason)
    limits = [
        *_limits(run, analysis, controls, warnings, history=history),
        *(f"{name}: {part.reason}" for name, part in parts if part.grade is TrustGrade.LIMITED),
    ]
    if limits:
        return Trust(grade=TrustGrade.LIMITED, reason="; ".join(limits))
    reason = _noise(run, analysis, controls[0], history=history)
    return Trust(grade=TrustGrade.GOOD, reason=reason)


def trusted_subjects(run: Run, warnings: Collection[Warning]) -> tuple[Subject, ...]:
    """Return a run's subjects without the candidates of which nothing is to be believed.

    All who look for the best of a run look among these. If no candidate is left, all are: then the
    best of them is in doubt, and with it the run.
    """
    unlike = doing_other_work(run, warnings)
    left = tuple(subject for subject in run.subjects if subject.name not in unlike)
    sound = any(each.role is Role.CANDIDATE and each.broken is None for each in left)
    return left if sound else run.subjects


def doing_other_work(run: Run, warnings: Collection[Warning]) -> frozenset[str]:
    """Return the candidates that did other work than the base, since transactions were refused.

    Where the base or a control is one that refused many, it is not the candidates that are odd.
    """
    candidates = {subject.name for subject in run.of_role(Role.CANDIDATE)}
    refusing = frozenset(_refusing(warnings))
    return refusing if refusing <= candidates else frozenset()


def left_out(run: Run, analysis: Analysis, warnings: Collection[Warning]) -> tuple[Summary, ...]:
    """Return the candidates that seem faster than the best that can be believed, by their figures.

    They are none where no candidate can be believed.
    """
    trusted = trusted_subjects(run, warnings)
    others = [subject for subject in run.subjects if subject not in trusted]
    winner = find_winner(analysis, trusted)
    least = 1.0 if winner is None else winner.ratio
    return tuple(
        score
        for score in sound_scores(analysis, others, Role.CANDIDATE)
        if score.verdict == Verdict.FASTER and score.ratio > least
    )


def _judged_controls(run: Run, analysis: Analysis) -> list[Summary]:
    """Return the figures of the sound controls that have a verdict, the furthest from 1 first."""
    scores = controls_of(analysis, run.subjects)
    judged = [score for score in scores if score.verdict != Verdict.NOT_ENOUGH_DATA]
    return sorted(judged, key=_distance, reverse=True)


def _of_base(run: Run) -> str | None:
    """Return that the base broke, as it may have in one of the runs that are joined."""
    base = run.base
    return None if base is None or base.broken is None else f"the base {base.name} broke"


def _of_control(
    run: Run, analysis: Analysis, controls: Sequence[Summary], warnings: Collection[Warning]
) -> str | None:
    """Return why the base may differ from itself, None if the control says that it does not."""
    if any(warning.code == Code.CONTROL_DIFFERS for warning in warnings):
        return f"the base {analysis.base} differs from itself here"
    repeats = run.of_role(Role.CONTROL)
    if controls or not repeats:
        return None
    if all(subject.broken is not None for subject in repeats):
        return "the control broke"
    measured = find_best(analysis, trusted_subjects(run, warnings)) is not None
    return f"too little was measured {'of the control' if measured else 'for a verdict'}"


def _of_work(run: Run, best: Summary, warnings: Collection[Warning]) -> str | None:
    """Return who did not do the work that figures are of, None if all did that matter.

    The other candidates' refusals do not change how the best one compares with the base.
    """
    others = {subject.name for subject in run.of_role(Role.CANDIDATE)}
    refusing = [name for name in _refusing(warnings) if name not in others - {best.subject}]
    if not refusing:
        return None
    return f"the figures are not of the same work: transactions were refused, by {listed(refusing)}"


def _of_noise(best: Summary, controls: Sequence[Summary]) -> str | None:
    """Return why a difference may be noise, None if nothing says so."""
    if not differs(best):
        return None
    for control in controls:
        if likely(control) and _distance(control) >= _distance(best):
            return f"{best.subject} {_differs(best)}, and the A/A control {_differs(control)}"
    return None


def _refusing(warnings: Collection[Warning]) -> list[str]:
    """Return the subjects whose servers refused many transactions."""
    refusing = (warning.subject for warning in warnings if warning.code == Code.MANY_REFUSED)
    return [name for name in refusing if name is not None]


def _limits(
    run: Run,
    analysis: Analysis,
    controls: Sequence[Summary],
    warnings: Collection[Warning],
    *,
    history: bool,
) -> Iterator[str]:
    if run.unfinished:
        yield run.unfinished
    if not run.controls:
        yield "there is no A/A control to show how much is noise"
    unlike = [score for score in controls if likely(score)]
    if unlike:
        yield f"{analysis.base} likely differs from itself: the A/A control {_differs(unlike[0])}"
    if any(warning.code == Code.CONTROL_NOISY for warning in warnings):
        yield "the A/A control's interval reaches as far from 1 as the winner"
    yield from _of_failures(run, warnings)
    steps = {left_out.step for left_out in analysis.left_out if left_out.metric == THROUGHPUT.name}
    if steps:
        were = "was" if len(steps) == 1 else "were"
        yield f"{count_of(len(steps), 'step')} had too few blocks and {were} left out"
    trusted = trusted_subjects(run, warnings)
    if history:
        yield from _wide_control(controls)
    elif find_winner(analysis, trusted) is None:
        yield from _without_winner(run, analysis, controls, find_best(analysis, trusted))


def _of_failures(run: Run, warnings: Collection[Warning]) -> Iterator[str]:
    """Yield who refused transactions, broke, or failed now and then."""
    refusing = _refusing(warnings)
    if refusing:
        yield f"transactions were refused, by {listed(refusing)}"
    broken = run.broken_subjects
    if broken:
        yield f"{listed(broken)} broke"
    failed = [warning.subject for warning in warnings if warning.code == Code.FAILED_INVOCATIONS]
    unbroken = [name for name in failed if name and name not in broken]
    if unbroken:
        yield f"{listed(unbroken)} failed in some blocks"


def _without_winner(
    run: Run, analysis: Analysis, controls: Sequence[Summary], best: Summary | None
) -> Iterator[str]:
    """Yield why an answer is less than sure that names no winner, but the ``best`` candidate."""
    missed = _missed(run, analysis)
    if missed is not None and missed > _LARGE:
        yield f"half of such runs would have missed a difference of {_percent(missed)}"
    if best is not None and differs(best) and reach_of(controls) >= _distance(best):
        yield f"the A/A control's interval reaches as far from 1 as {best.subject}"
    elif missed is None or missed <= _LARGE:
        yield from _wide_control(controls)


def _wide_control(controls: Sequence[Summary]) -> Iterator[str]:
    """Yield that the base once more may read as far off as a large difference."""
    reach = math.expm1(reach_of(controls))
    if reach > _LARGE:
        yield f"the A/A control's interval reaches {_percent(reach)} from 1"


def _missed(run: Run, analysis: Analysis) -> float | None:
    """Return the largest difference that would not have been found."""
    compared = run.of_role(Role.CANDIDATE) or run.of_role(Role.CONTROL)
    scores = [overall(analysis, subject.name) for subject in compared]
    return max((score.findable for score in scores if score and score.findable), default=None)


def _noise(run: Run, analysis: Analysis, control: Summary, *, history: bool) -> str:
    """Return how far the base is from itself, and the winner from it."""
    noise = f"{analysis.base} against itself (A/A, {control.subject}) {_differs(control)}"
    winner = None if history else find_winner(analysis, run.subjects)
    if winner is not None:
        return f"{noise}, {winner.subject} {_differs(winner)}"
    missed = None if history else _missed(run, analysis)
    if missed is None:
        return noise
    return f"{noise}; half of such runs would have missed a difference of {_percent(missed)}"


def _distance(score: Summary) -> float:
    """Return how far a ratio is from 1, whichever way it points."""
    return abs(math.log(score.ratio))


def _differs(score: Summary) -> str:
    """Return how far a ratio is from 1: ``differs by 6.1 % (±1.2 %)``."""
    half = half_width(score)
    margin = "" if half is None else f" (±{_percent(half)})"
    return f"differs by {_percent(abs(score.ratio - 1))}{margin}"


def _percent(share: float) -> str:
    return f"{share * 100:.1f}\u00a0%"
