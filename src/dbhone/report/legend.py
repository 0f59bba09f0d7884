"""How the figures of a page are read, and for how many comparisons its verdicts are corrected."""

from __future__ import annotations

from dbhone.analysis.verdict import Analysis
from dbhone.analysis.winner import overall
from dbhone.measurement.metric import THROUGHPUT
from dbhone.units import count_of


def legend(analysis: Analysis) -> str:
    """Return how to read figures and verdicts; nothing if there is no figure."""
    steps = sum(each.metric == THROUGHPUT.name for each in analysis.effects)
    summaries = sum(each.metric == THROUGHPUT.name for each in analysis.summaries)
    if not steps + summaries:
        return ""
    judged = sum(overall(analysis, name) is not None for name in _compared(analysis))
    return (
        f"± is half of the {analysis.confidence * 100:.0f} % interval, relative to the ratio. "
        "+ faster (other metrics: better), - slower (worse), ~ no difference found, "
        "? not enough data. Verdicts are corrected (Holm) for the number of comparisons: "
        f"{count_of(steps, 'effect')} on steps, {judged} "
        f"{'summary' if judged == 1 else 'summaries'} by which subjects are judged, "
        f"{count_of(summaries - judged, 'other')}; so an interval that misses 1 may still come "
        "with no difference found."
    )


def _compared(analysis: Analysis) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.subject for each in analysis.summaries))
