"""How well, and how cheaply, a search chooses: sequential halving beside measuring all equally.

Simulated candidates have known gains; a block of a candidate is its gain with normal noise. One
unit of cost is a block of one subject, the base included. ``python -m benchmarks.selection`` prints
the table of docs/tune.md, the same each time.
"""

from __future__ import annotations

import numpy as np

from dbhone.analysis.selection import blocks_of_rung, pooled, standings, survivors
from dbhone.measurement.sample_array import Array

_RUNGS = 3
_SPREAD = 0.03
"""How far the gains of the candidates that are not close lie apart, as a standard deviation."""
_TIMES = 1000


def race(
    gains: Array, noise: float, random: np.random.Generator, rungs: int = _RUNGS
) -> tuple[int, int]:
    """Return which candidate sequential halving chooses, and its cost; as ``hone tune`` does it."""
    contenders = [str(at) for at in range(len(gains))]
    parts: list[dict[str, Array]] = []
    lengths: list[int] = []
    cost = 0
    for number in range(rungs):
        blocks = blocks_of_rung(number)
        parts.append({name: random.normal(gains[int(name)], noise, blocks) for name in contenders})
        lengths.append(blocks)
        cost += blocks * (len(contenders) + 1)
        ranked = standings(pooled(parts, lengths))
        present = [standing for standing in ranked if standing.name in contenders]
        contenders = list(survivors(present))
        if len(contenders) == 1:
            break
    return int(contenders[0]), cost


def equal(gains: Array, noise: float, random: np.random.Generator, blocks: int) -> int:
    """Return which candidate looks best when all are measured in so many blocks."""
    return int(np.argmax(random.normal(gains, noise / np.sqrt(blocks))))


def gains_of(count: int, gap: float, random: np.random.Generator) -> Array:
    """Return the gains of candidates, the best first; the second is worse by ``gap``."""
    below = np.sort(np.abs(random.normal(0, _SPREAD, count - 2))) + gap
    return np.concatenate([[0.0, -gap], -below])


def row(count: int, gap: float, noise: float, seed: int = 1) -> tuple[float, float, float, float]:
    """Return the share of right choices and the mean cost of a race, then two shares of measuring
    all equally: at the same cost, and the cost at which it is as often right.
    """
    random = np.random.default_rng(seed)
    cases = [gains_of(count, gap, random) for _ in range(_TIMES)]
    raced = [race(gains, noise, random) for gains in cases]
    right = float(np.mean([chosen == 0 for chosen, _ in raced]))
    cost = float(np.mean([spent for _, spent in raced]))
    blocks = 1
    same = 0.0
    while True:
        share = float(np.mean([equal(gains, noise, random, blocks) == 0 for gains in cases]))
        if blocks * (count + 1) <= cost:
            same = share
        if share >= right and blocks * (count + 1) > cost:
            return right, cost, same, blocks * (count + 1)
        if blocks > 500:
            return right, cost, same, float("inf")
        blocks += 1


def main() -> None:
    """Print the table."""
    print("| candidates | second best | noise | halving: right | cost | equal, same cost | cost |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for count in (6, 14):
        for gap in (0.005, 0.01, 0.02):
            for noise in (0.01, 0.02):
                right, cost, same, needed = row(count, gap, noise)
                print(
                    f"| {count} | {gap:.1%} | {noise:.0%} | {right:.0%} | {cost:.0f} | {same:.0%}"
                    f" | {needed:.0f} |"
                )


if __name__ == "__main__":
    main()
