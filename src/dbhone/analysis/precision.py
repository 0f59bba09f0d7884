"""How precise a run is, and how much more it needs: the stopping rule's two questions.

Stopping by precision, never by significance, keeps the verdicts honest: to look again and
again and to stop at the first difference would find one where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from dbhone.analysis.estimate import MINIMUM_FOR_INTERVAL, degrees, reach, trimmed
from dbhone.analysis.verdict import MINIMUM_BLOCKS, Analysis, Effect, half_width

_MOST_BLOCKS = 1_000_000


def precision(analysis: Analysis) -> float:
    """Return the widest half-width of the throughput effects' intervals, as a fraction.

    0.02 means that every effect is known to within 2 %. Infinite while an effect has no
    interval yet, or if there is no effect.
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

    The estimate takes the noise to stay as it was. 0 when the target is met; None while too
    little was measured to tell.
    """
    effects = analysis.throughput_effects
    if not effects or any(effect.blocks < MINIMUM_FOR_INTERVAL for effect in effects):
        return None
    return max(_needed(effect, target, analysis.confidence) for effect in _widest(effects))


def _widest(effects: Sequence[Effect]) -> Iterable[Effect]:
    """Return of the effects with as many blocks only the widest: no other needs more."""
    found: dict[int, Effect] = {}
    for effect in effects:
        rival = found.get(effect.blocks)
        if rival is None or _half(effect) > _half(rival):
            found[effect.blocks] = effect
    return found.values()


def _half(effect: Effect) -> float:
    half = half_width(effect)
    return math.inf if half is None else half


def _needed(effect: Effect, target: float, confidence: float) -> int:
    """Find the fewest blocks by bisection: the width falls as blocks are added."""
    missing = max(MINIMUM_BLOCKS - effect.blocks, 0)
    if _half(effect) <= target:
        return missing
    spread = math.log1p(_half(effect)) / _width(effect.blocks, confidence)
    low, high = effect.blocks, _MOST_BLOCKS
    while high - low > 1:
        middle = (low + high) // 2
        if spread * _width(middle, confidence) <= math.log1p(target):
            high = middle
        else:
            low = middle
    return max(high - effect.blocks, missing)


def _width(blocks: int, confidence: float) -> float:
    """Return the half-width of the interval for noise of spread 1, up to a constant."""
    count = np.array([blocks], dtype=np.intp)
    kept = int(count[0] - 2 * trimmed(count)[0])
    return float(reach(degrees(count), confidence)[0]) / math.sqrt(kept)
