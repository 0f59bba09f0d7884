"""How the figures of a page are read, and for how many comparisons its verdicts are corrected."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from dbhone.analysis.estimate import trimmed
from dbhone.analysis.verdict import Analysis, overall
from dbhone.report.wording import joined
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
    word = "summary" if judged == 1 else "summaries"
    kinds = {
        f"{count_of(steps, 'effect')} on steps": steps,
        f"{judged} {word} by which subjects are judged": judged,
        count_of(others - judged, "other"): others - judged,
        f"{count_of(own, 'figure')} of the control": own,
    }
    named = [what for what, count in kinds.items() if count]
    apart = ", each kind by itself" if len(named) > 1 else ""
    return (
        f"± is half of the {analysis.confidence * 100:.0f} % interval, relative to the ratio. "
        "+ faster (other metrics: better), - slower (worse), ~ no difference found, "
        "? not enough data. Verdicts are corrected (Holm) for the number of comparisons: "
        f"{joined(named)}{apart}, and those of all other metrics; so an interval that misses 1 may "
        f"still come with no difference found.{_trimming(analysis.blocks)}"
    )


def _trimming(blocks: int) -> str:
    """Tell what the trimmed mean leaves out; nothing if that is nothing."""
    cut = int(trimmed(np.array([blocks]))[0])
    if not cut:
        return ""
    number = f"{cut} highest and {cut} lowest" if cut > 1 else "highest and the lowest"
    return f" Of {blocks} blocks, the {number} ratios are cut off (a trimmed mean)."
