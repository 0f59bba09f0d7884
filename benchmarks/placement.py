"""Does it matter where in memory a program lies? One SQLite build against itself.

Usage: ``.venv/bin/python -m benchmarks.placement --build FOLDER [--places N] [--runs N]``

FOLDER is a build of SQLite, as ``hone build`` prints it. Two copies of it run speedtest1's set cte
in turn, some times in one place, then some times in another, which they get by being read anew from
the disk. Told is, for each step, how far the ratio of the copies differs from place to place, and
from run to run in one place, with the F test of whether places matter.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dbhone.instance import page_cache

_STEP = re.compile(r"^ *(\d+) - .*?\.+ *([\d.]+)s", re.MULTILINE)
_FILES = ("bin/speedtest1", "lib/libsqlite3.so.0")
_COPIES = ("one", "other")
_DISK = "/var/tmp"
"""Where files come from a disk; /tmp may be memory."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--places", type=int, default=20)
    parser.add_argument("--runs", type=int, default=10, help="in each place")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=_DISK) as folder:
        copies = [Path(folder) / name for name in _COPIES]
        for copy in copies:
            shutil.copytree(arguments.build, copy, symlinks=True)
        places = list(_places(copies, arguments.places, arguments.runs))
    for step in places[0]:
        _tell(step, np.array([place[step] for place in places]))


def _places(copies: list[Path], places: int, runs: int) -> Iterator[dict[str, list[float]]]:
    """Yield, for each place, the logarithms of the copies' ratios in its runs, by step."""
    for _ in range(places):
        page_cache.evict_programs(copy / name for copy in copies for name in _FILES)
        for copy in copies:
            _seconds(copy)
        ratios: dict[str, list[float]] = {}
        for run in range(runs):
            order = copies if run % 2 else copies[::-1]
            took = {copy: _seconds(copy) for copy in order}
            one, other = (took[copy] for copy in copies)
            for step in one:
                ratios.setdefault(step, []).append(float(np.log(one[step] / other[step])))
        yield ratios


def _seconds(copy: Path) -> dict[str, float]:
    words = (copy / _FILES[0], "--size", "20", "--testset", "cte", ":memory:")
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=True)
    return {step: float(seconds) for step, seconds in _STEP.findall(done.stdout)}


def _tell(step: str, ratios: NDArray[np.float64]) -> None:
    """Print what is known of one step; ``ratios`` are places x runs."""
    places, runs = ratios.shape
    within = float(ratios.var(axis=1, ddof=1).mean())
    means = float(ratios.mean(axis=1).var(ddof=1))
    between = max(means - within / runs, 0.0)
    f = means * runs / within if within else float("inf")  # milliseconds may be all alike
    chance = float(stats.f.sf(f, places - 1, places * (runs - 1)))
    print(
        f"cte/{step}: from place to place {between**0.5:.2%}, from run to run {within**0.5:.2%}"
        f" (F = {f:.1f}, p = {chance:.2g})"
    )


if __name__ == "__main__":
    main()
