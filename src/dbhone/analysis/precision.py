"""How precise a comparison is, and how many blocks more it needs.

A run stops when it is precise enough, not when a difference is significant: whoever looks again
and again, and stops at the first difference, finds one where there is none. Only a difference that
is far beyond significance may end a run early, if the user wants that (``verdict.is_clear``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

from dbhone.analysis.estimate import width
from dbhone.analysis.verdict import MINIMUM_BLOCKS, Analysis, Effect

_MOST_BLOCKS = 1_000_000


class Bounded(Protocol):
    """A ratio or a figure with an interval, ``low`` to ``high``; None where there is none."""

    @property
    def low(self) -> float | None:
        """The interval's lower end."""

    @property
    def high(self) -> float | None:
        """The interval's upper end."""


def half_width(bounded: Bounded) -> float | None:
    """Return half the interval's width as a fraction of the ratio, None without an interval.

    Without stalls the interval is symmetric on the logarithmic scale: 0.02 then means that its ends
    are the ratio times and divided by 1.02.
    """
    if bounded.low is None or bounded.high is None:
        return None
    return float((bounded.high / bounded.low) ** 0.5 - 1)


def precision(analysis: Analysis) -> float:
    """Return the widest half-width of the throughput effects' intervals, as a fraction.

    0.02 means that every effect is known to within 2 %. Infinite while an effect has no
    interval yet, or if there is no effect. Parts do not count: a rare kind of statement would take
    for ever.
    """
    return max((_half(effect) for effect in analysis.throughput_effects), default=math.inf)


def typical(analysis: Analysis) -> float:
    """Return the median half-width of the throughput effects' intervals, as a fraction.

    Half of the effects are known at least this well. Infinite if there is no effect.
    """
    halves = sorted(_half(effect) for effect in analysis.throughput_effects)
    return halves[len(halves) // 2] if halves else math.inf


def blocks_needed(analysis: Analysis, target: float) -> int | None:
    """Estimate how many blocks more bring every throughput effect to within ``target``.

    The estimate takes the noise to stay as it was. 0 when the target is met; None while an
    effect has no verdict, and if they are too many to tell.
    """
    effects = analysis.throughput_effects
    if not effects or any(effect.blocks < MINIMUM_BLOCKS for effect in effects):
        return None
    most = max(_needed(effect, target) for effect in _widest(effects))
    return None if math.isinf(most) else int(most)


def _widest(effects: Sequence[Effect]) -> Iterable[Effect]:
    """Return the widest of the effects that have equally many blocks: no other needs more."""
    best: dict[int, Effect] = {}
    for effect in effects:
        rival = best.get(effect.blocks)
        if rival is None or _half(effect) > _half(rival):
            best[effect.blocks] = effect
    return best.values()


def _half(effect: Effect) -> float:
    half = half_width(effect)
    return math.inf if half is None else half


def _needed(effect: Effect, target: float) -> float:
    """Find the fewest blocks by bisection, infinite if they are too many to tell."""
    if _half(effect) <= target:
        return 0
    spread = math.log1p(_half(effect)) / width(effect.blocks)
    low, high = effect.blocks, _MOST_BLOCKS
    while high - low > 1:
        middle = (low + high) // 2
        if spread * width(middle) <= math.log1p(target):
            high = middle
        else:
            low = middle
    return math.inf if high == _MOST_BLOCKS else high - effect.blocks
