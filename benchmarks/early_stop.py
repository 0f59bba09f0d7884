"""What stopping early costs and brings: simulated runs that are looked at after every block.

Usage: ``.venv/bin/python -m benchmarks.early_stop [--runs N]``

Prints a table for docs/statistics.md: by how much the candidate is slower, in how many runs that is
told without and with looks, how many blocks runs take with looks, and by how much the ratio is
flattered in those that ended early. The noise is that of ``benchmarks.statistics``.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.statistics.kinds import CHOSEN_ON, HELD_OUT, USUAL
from benchmarks.statistics.methods.base import ALPHA
from benchmarks.statistics.piece import Array
from dbhone.analysis.estimate import estimate
from dbhone.analysis.verdict import CLEAR, MINIMUM_BLOCKS
from dbhone.measurement.sample_array import Logs

_SLOWER = (0.0, 0.01, 0.02, 0.05, 0.1)


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=4000, help="of each kind of noise")
    runs = parser.parse_args().runs
    logs = np.concatenate(
        [each.piece(runs, USUAL, seed=1).logs for each in (*CHOSEN_ON, *HELD_OUT)]
    )
    blocks = (logs[..., 1] - logs[..., 0]).mean(axis=(2, 3))
    looks = range(MINIMUM_BLOCKS, USUAL.restarts + 1)
    print(
        "| slower by | told at the end | with looks at p < 0.001 | with looks at p < 0.05 "
        f"| blocks of {USUAL.restarts} | flattered by |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for slower in _SLOWER:
        shifted = blocks + np.log1p(-slower)
        looked = [estimate(Logs.without_rounds(shifted[:, :look])) for look in looks]
        p = np.stack([found.p for found in looked])
        centre = np.stack([found.centre for found in looked])
        print(_row(slower, p, centre))


def _row(slower: float, p: Array, centre: Array) -> str:
    clear = p[:-1] < CLEAR
    early = clear.any(axis=0)
    first = np.where(early, clear.argmax(axis=0), len(p) - 1)
    told = early | (p[-1] < ALPHA)
    flattered = np.abs(centre[first, np.arange(p.shape[1])][early]) - abs(np.log1p(-slower))
    words = f"{np.mean(flattered) * 100:.2f} %" if early.mean() > ALPHA else "–"
    return (
        f"| {slower:.0%} | {np.mean(p[-1] < ALPHA):.1%} | {np.mean(told):.1%}"
        f" | {np.mean((p < ALPHA).any(axis=0)):.1%} | {np.mean(first) + MINIMUM_BLOCKS:.1f}"
        f" | {words} |"
    )


if __name__ == "__main__":
    main()
