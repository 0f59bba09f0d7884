"""Which build won, if any did."""

from __future__ import annotations

from collections.abc import Iterable

from dbhone.analysis.verdict import Analysis, Summary, Verdict
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Role, Subject


def scored_in_sample(analysis: Analysis) -> bool:
    """Return whether subjects are judged in-sample: only where there is no held-out step."""
    return all(summary.in_sample for summary in analysis.summaries)


def overall(analysis: Analysis, subject: str) -> Summary | None:
    """Return the one figure that a subject is judged by: all groups, held-out if there is any."""
    return analysis.summary(subject, in_sample=scored_in_sample(analysis), metric=THROUGHPUT.name)


def find_winner(analysis: Analysis, subjects: Iterable[Subject]) -> Summary | None:
    """Return the overall summary of the winner, None if no build is faster than the base.

    The winner has the highest ratio of the candidates whose verdict is faster; neither a
    control nor a subject that broke can win.
    """
    scores = [
        overall(analysis, subject.name)
        for subject in subjects
        if subject.role is Role.CANDIDATE and subject.broken is None
    ]
    faster = [each for each in scores if each is not None and each.verdict == Verdict.FASTER]
    return max(faster, key=lambda each: each.ratio, default=None)
