"""How far a run's verdicts can be trusted: one grade with its reason, the same everywhere.

The grade is by what the control shows, by what could have been found, and by what was left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

from dbhone.analysis.gravity import CONTROL_DIFFERS, FAILED_INVOCATIONS, MANY_REFUSED
from dbhone.analysis.verdict import (
    Analysis,
    Summary,
    Verdict,
    find_winner,
    half_width,
    likely,
    overall,
)
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Role, Run, Warning
from dbhone.units import count_of, listed

_LARGE = 0.1
"""A run that could have missed a larger difference than this has limited trust."""


class TrustGrade(StrEnum):
    """How far verdicts can be trusted."""

    GOOD = "good"
    LIMITED = "limited"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """The grade, and why it is that one, in a sentence."""

    grade: TrustGrade
    reason: str


def trust(run: Run, analysis: Analysis, warnings: Collection[Warning], *, history: bool) -> Trust:
    """Return how far the verdicts of a run can be trusted, given its warnings.

    A ``history`` has no winner.
    """
    control = next((overall(analysis, name) for name in run.controls), None)
    if any(warning.code == CONTROL_DIFFERS for warning in warnings):
        text = f"the base {analysis.base} differs from itself here, so something else was measured"
        return Trust(grade=TrustGrade.NONE, reason=text)
    if run.controls and (control is None or control.verdict == Verdict.NOT_ENOUGH_DATA):
        return Trust(grade=TrustGrade.NONE, reason="too little was measured for a verdict")
    limits = list(_limits(run, analysis, warnings, history=history))
    if limits:
        return Trust(grade=TrustGrade.LIMITED, reason="; ".join(limits))
    assert control is not None, "its lack is a limit"
    return Trust(grade=TrustGrade.GOOD, reason=_noise(run, analysis, control, history=history))


def _limits(
    run: Run, analysis: Analysis, warnings: Collection[Warning], *, history: bool
) -> Iterator[str]:
    if not run.controls:
        yield "there is no A/A control to show how much is noise"
    scores = (overall(analysis, name) for name in run.controls)
    unlike = [score for score in scores if score is not None and likely(score)]
    if unlike:
        yield f"{analysis.base} likely differs from itself: the A/A control {_differs(unlike[0])}"
    if any(warning.code == "control-noisy" for warning in warnings):
        yield "the A/A control reads as far from 1 as the winner"
    many = [warning.subject for warning in warnings if warning.code == MANY_REFUSED]
    if many:
        yield f"transactions were refused, by {listed([name for name in many if name])}"
    broken = [subject.name for subject in run.subjects if subject.broken is not None]
    if broken:
        yield f"{listed(broken)} broke"
    failed = [warning.subject for warning in warnings if warning.code == FAILED_INVOCATIONS]
    unbroken = [name for name in failed if name and name not in broken]
    if unbroken:
        yield f"{listed(unbroken)} failed in some blocks"
    steps = {left_out.step for left_out in analysis.left_out if left_out.metric == THROUGHPUT.name}
    if steps:
        yield f"{count_of(len(steps), 'step')} had too few blocks and were left out"
    if not history and find_winner(analysis, run.subjects) is None:
        missed = _missed(run, analysis)
        if missed is not None and missed > _LARGE:
            yield f"half of such runs would have missed a difference of {_percent(missed)}"


def _missed(run: Run, analysis: Analysis) -> float | None:
    """Return the largest difference that would not have been found."""
    subjects = [subject for subject in run.subjects if subject.role is not Role.BASE]
    candidates = [subject for subject in subjects if subject.role is Role.CANDIDATE] or subjects
    scores = [overall(analysis, subject.name) for subject in candidates]
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


def _differs(score: Summary) -> str:
    """Return how far a ratio is from 1: ``differs by 6.1 % (±1.2 %)``."""
    half = half_width(score)
    margin = "" if half is None else f" (±{_percent(half)})"
    return f"differs by {_percent(abs(score.ratio - 1))}{margin}"


def _percent(share: float) -> str:
    return f"{share * 100:.1f}\u00a0%"
