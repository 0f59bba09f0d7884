"""The steps that go another way than all of them together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dbhone.analysis.verdict import Analysis, Effect, Summary, Verdict
from dbhone.measurement.record import Run
from dbhone.report.context import short_names
from dbhone.report.wording import joined, spoken

_NAMED = 2


def apart(run: Run, analysis: Analysis, score: Summary) -> str:
    """Return a sentence on the steps whose verdict is another difference than the score's.

    ``score`` is a subject's figure over all steps that it is judged by; of these, those count
    whose own verdict, corrected for their number, says faster where the score does not, or
    slower where it does not. Empty if there is none.
    """
    steps = [
        each
        for each in analysis.throughput_effects
        if each.subject == score.subject and each.in_sample is score.in_sample
    ]
    short = short_names(run)
    told: list[str] = []
    for verdict in (Verdict.FASTER, Verdict.SLOWER):
        found = [each for each in steps if each.verdict == verdict != score.verdict]
        if found:
            of = "" if told else f" of {len(steps)} steps"
            told.append(f"{verdict} on {len(found)}{of} ({_named(found, short)})")
    return f"{score.subject} is {' and '.join(told)}." if told else ""


def _named(steps: Sequence[Effect], short: Mapping[str, str]) -> str:
    """Return the steps with their ratios, the largest differences first."""
    ordered = sorted(steps, key=lambda each: (-abs(math.log(each.ratio)), each.step))
    named = [f"{short[each.step]} {spoken(each.ratio, each)}" for each in ordered[:_NAMED]]
    return joined(named) if len(steps) <= _NAMED else f"most on {joined(named)}"
