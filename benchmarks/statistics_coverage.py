"""Compares ways to tell a ratio and its interval, on noise like that of real machines.

Usage: ``python benchmarks/statistics_coverage.py``; it prints the tables of
``docs/statistics.md`` in less than a minute. Everything is seeded. A run is 6 subjects and 60
steps, all compared with one base: 360 comparisons, corrected for being many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from dbhone.analysis.estimate import estimate

Array = NDArray[np.float64]

SUBJECTS, STEPS, RUNS = 6, 60, 250
BLOCKS = (6, 10, 14, 25)
COMPARISONS = SUBJECTS * STEPS
SUMMARIES = SUBJECTS * 8
ALPHA = 0.05
SPREAD = 0.02
ROWS_FOR_INTERVALS = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a method says of many rows of log ratios: an interval and a p value for each."""

    low: Array
    high: Array
    p: Array


Method = Callable[[Array], Result]
Noise = Callable[[np.random.Generator, tuple[int, ...]], Array]


def quiet(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return normal noise: a machine with nothing else to do."""
    return rng.normal(0, SPREAD, shape)


def heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return heavy-tailed noise (Student's t, 3 degrees of freedom)."""
    return rng.standard_t(3, shape) * SPREAD * 0.7


def bursts(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return noise whose spread is tenfold in bursts of blocks, the same for all subjects."""
    loud = np.zeros((shape[0], shape[-1]), dtype=bool)
    loud[:, 0] = rng.random(shape[0]) < 0.3
    for block in range(1, shape[-1]):
        chance = np.where(loud[:, block - 1], 0.8, 0.0857)
        loud[:, block] = rng.random(shape[0]) < chance
    scale = np.where(loud, 10.0, 1.0).reshape(shape[0], *(1,) * (len(shape) - 2), shape[-1])
    return rng.normal(0, SPREAD, shape) * scale


def humps(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return two-humped noise: three slices in ten are slower by a seventh."""
    return heavy(rng, shape) - 0.15 * (rng.random(shape) < 0.3)


def stalls(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return one-sided noise: mostly little time is lost, sometimes much."""
    return -(rng.exponential(1.0, shape) ** 2) * SPREAD


NOISES: dict[str, Noise] = {each.__name__: each for each in (quiet, heavy, bursts, humps, stalls)}


def dbhone(rows: Array) -> Result:
    """Estimate as dbhone does."""
    found = estimate(rows, 1 - ALPHA)
    return Result(low=found.centre - found.half, high=found.centre + found.half, p=found.p)


def mean_t(rows: Array) -> Result:
    """Estimate by the mean and Student's t."""
    count = rows.shape[-1]
    error = rows.std(axis=-1, ddof=1) / np.sqrt(count)
    return _t(rows.mean(axis=-1), error, count - 1)


def trimmed_t(rows: Array) -> Result:
    """Estimate by the 20 % trimmed mean and Tukey and McLaughlin's t, as textbooks do."""
    count = rows.shape[-1]
    cut = int(0.2 * count)
    kept = count - 2 * cut
    ordered = np.sort(rows, axis=-1)
    pulled = np.clip(rows, ordered[..., [cut]], ordered[..., [count - cut - 1]])
    error = np.sqrt(pulled.var(axis=-1) * count / (kept * (kept - 1)))
    return _t(ordered[..., cut : count - cut].mean(axis=-1), error, kept - 1)


def signed_rank(rows: Array) -> Result:
    """Estimate by Hodges and Lehmann's median and the exact signed-rank interval and test."""
    count = rows.shape[-1]
    below = _signed_rank_distribution(count)
    ranks = np.argsort(np.argsort(np.abs(rows), axis=-1), axis=-1) + 1
    total = np.sum(np.where(rows > 0, ranks, 0), axis=-1)
    least = np.minimum(total, count * (count + 1) // 2 - total)
    few = rows.reshape(-1, count)[:ROWS_FOR_INTERVALS]
    first, second = np.triu_indices(count)
    means = np.sort((few[:, first] + few[:, second]) / 2, axis=-1)
    out = int(np.searchsorted(below, ALPHA / 2, side="right"))
    return Result(low=means[:, out - 1], high=means[:, -out], p=np.minimum(2 * below[least], 1.0))


def _t(centre: Array, error: Array, freedom: int) -> Result:
    half = stdtrit(freedom, 1 - ALPHA / 2) * error
    p = 2 * stdtr(freedom, -np.abs(centre / error))
    return Result(low=centre - half, high=centre + half, p=p)


def _signed_rank_distribution(count: int) -> Array:
    """Return the distribution function of the signed-rank sum of ``count`` blocks."""
    ways = np.zeros(count * (count + 1) // 2 + 1)
    ways[0] = 1
    for rank in range(1, count + 1):
        ways[rank:] += ways[:-rank].copy()
    total: Array = np.cumsum(ways) / ways.sum()
    return total


METHODS: dict[str, Method] = {
    "dbhone": dbhone,
    "mean, t": mean_t,
    "20 % trimmed, t": trimmed_t,
    "signed rank": signed_rank,
}


def ratios(rng: np.random.Generator, noise: Noise, blocks: int) -> Array:
    """Return the log ratios of A/A runs: runs x steps x subjects x blocks; the truth is 0."""
    values = noise(rng, (RUNS, STEPS, SUBJECTS + 1, blocks))
    return values[:, :, 1:] - values[:, :, :1]


def found(method: Method, rows: Array, difference: float, comparisons: int) -> float:
    """Return the share of true differences that survive the correction."""
    return float(np.mean(method(rows + np.log1p(difference)).p < ALPHA / comparisons))


def line(method: Method, rows: Array) -> str:
    """Return one method's figures as the cells of a table."""
    result = method(rows)
    covered = np.mean((result.low <= 0) & (result.high >= 0))
    half = np.median(result.high - result.low) / 2
    false = np.mean(np.any(result.p < ALPHA / COMPARISONS, axis=(1, 2)))
    steps = [found(method, rows, each, COMPARISONS) for each in (0.05, 0.1)]
    over_steps = rows[:, :24].mean(axis=1)
    summary = found(method, over_steps, 0.02, SUMMARIES)
    cells = [f"{covered:.1%}", f"{half:.1%}", f"{false:.1%}"]
    cells += [f"{each:.0%}" for each in (*steps, summary)]
    return " | ".join(cells)


def main() -> None:
    """Print one table for each kind of noise."""
    for name, noise in NOISES.items():
        print(f"\n**{name}**\n")
        print(
            "| blocks | method | coverage | ± | A/A runs with a false alarm "
            "| steps: 5 % found | 10 % found | summaries: 2 % found |"
        )
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for blocks in BLOCKS:
            rows = ratios(np.random.default_rng(blocks), noise, blocks)
            for title, method in METHODS.items():
                print(f"| {blocks} | {title} | {line(method, rows)} |")


if __name__ == "__main__":
    main()
