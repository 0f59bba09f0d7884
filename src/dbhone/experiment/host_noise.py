"""What disturbed a run from outside: other processes, the hypervisor, heat, quotas. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbhone.measurement.conditions import Condition
from dbhone.measurement.store import Done


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limit:
    """From which mean on a condition is worth a word, and the word."""

    condition: Condition
    above: float
    code: str
    text: str


_LIMITS = (
    _Limit(
        condition=Condition.OTHERS,
        above=0.15,
        code="other-load",
        text="other processes kept {mean:.2f} cores busy while it was measured (up to {most:.2f})",
    ),
    _Limit(
        condition=Condition.STEAL,
        above=0.01,
        code="steal",
        text="the hypervisor gave {mean:.1%} of the CPU time to others (up to {most:.1%})",
    ),
    _Limit(
        condition=Condition.THROTTLED,
        above=0.001,
        code="throttled",
        text="a CPU quota held it up for {mean:.3f} s in a driver run on average",
    ),
    _Limit(
        condition=Condition.THERMAL,
        above=0.001,
        code="hot",
        text="heat slowed the CPU down for {mean:.3f} s in a driver run on average",
    ),
)


def disturbances(done: Sequence[Done]) -> Iterator[tuple[str, str]]:
    """Yield the code and the text of a warning for each thing that disturbed these invocations."""
    for limit in _LIMITS:
        seen = [
            each.conditions[limit.condition] for each in done if limit.condition in each.conditions
        ]
        if seen and statistics.fmean(seen) > limit.above:
            yield limit.code, limit.text.format(mean=statistics.fmean(seen), most=max(seen))
