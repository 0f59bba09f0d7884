"""How the figures of a page are read, and for how many comparisons its verdicts are corrected."""

from __future__ import annotations

from collections.abc import Collection

from dbhone.analysis.verdict import Analysis
from dbhone.analysis.winner import overall
from dbhone.units import count_of


def legend(analysis: Analysis, controls: Collection[str] = ()) -> str:
    """Return how to read figures and verdicts; nothing if there is no figure.

    What is measured of ``controls`` is corrected on its own.
    """
    effects, summaries = analysis.throughput_effects, analysis.throughput_summaries
    if not effects + summaries:
        return ""
    steps = sum(each.subject not in controls for each in effects)
    others = sum(each.subject not in controls for each in summaries)
    own = len(effects) + len(summaries) - steps - others
    compared = dict.fromkeys(each.subject for each in summaries)
    judged = sum(overall(analysis, name) is not None for name in compared if name not in controls)
    of_control = f" and {count_of(own, 'figure')} of the control" if own else ""
    return (
        f"± is half of the {analysis.confidence * 100:.0f} % interval, relative to the ratio. "
        "+ faster (other metrics: better), - slower (worse), ~ no difference found, "
        "? not enough data. Verdicts are corrected (Holm) for the number of comparisons: "
        f"{count_of(steps, 'effect')} on steps, {judged} "
        f"{'summary' if judged == 1 else 'summaries'} by which subjects are judged, "
        f"{count_of(others - judged, 'other')}{of_control}, each kind by itself; so an "
        "interval that misses 1 may still come with no difference found."
    )
