"""Shows what dbhone's verdicts are worth beside those of others, on noise of which all is known.

Usage: ``python -m benchmarks.statistics [--runs N] [--promise-runs N] [--seed N] [--write]``.
It simulates runs on synthetic noise and on the recordings in ``traces/``, prints tables, and with
``--write`` puts them into ``docs/statistics-validation.md``. Whether dbhone keeps its promise is
asked of more runs than how it compares with others. Everything is seeded. It takes some minutes on
one core.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.statistics import kinds, promise, study
from benchmarks.statistics.cutting import RecordingError, recordings
from benchmarks.statistics.document import DocumentError, placed
from benchmarks.statistics.methods.base import Method
from benchmarks.statistics.methods.dbhone import OVER_STEPS, PASSES, ROUNDS
from benchmarks.statistics.methods.sequential import BEST_OF, MANN_WHITNEY, ONE_RUN, WELCH
from benchmarks.statistics.table import tables

DOCUMENT = Path(__file__).parents[2] / "docs" / "statistics-validation.md"
TRACES = Path(__file__).parent / "traces"
METHODS = (ROUNDS, OVER_STEPS, PASSES, ONE_RUN, BEST_OF, MANN_WHITNEY, WELCH)
"""The methods that are compared, in the order in which tables show them."""


def texts(runs: int, promise_runs: int, seed: int, traces: Path) -> dict[str, str]:
    """Return what belongs into the document, by the name of its place."""
    recorded = tuple(recordings(traces))
    compared = tuple(study.rows(METHODS, recorded, runs, seed))
    kept = tuple(promise.rows(recorded, promise_runs, seed))
    return {
        "noises": kinds.table((*kinds.CHOSEN_ON, *kinds.HELD_OUT, *kinds.SERVERS)),
        "promise": promise.table(kept, promise_runs),
        "broken": promise.broken(kept),
        "comparison": tables(compared, titles(METHODS), runs=runs),
    }


def titles(methods: Sequence[Method]) -> tuple[str, ...]:
    """Return what tables call the methods."""
    return tuple(each.title for each in methods)


def main() -> int:
    """Simulate, print, and write if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.statistics")
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--promise-runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--traces", type=Path, default=TRACES)
    parser.add_argument("--write", action="store_true", help="put the tables into the document")
    asked = parser.parse_args()
    try:
        found = texts(asked.runs, asked.promise_runs, asked.seed, asked.traces)
        for name, text in found.items():
            print(f"\n{name}\n\n{text}")
        if asked.write:
            write(found)
    except (RecordingError, DocumentError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def write(found: Mapping[str, str]) -> None:
    """Put the texts into their places in the document."""
    document = DOCUMENT.read_text(encoding="utf-8")
    for name, text in found.items():
        document = placed(document, name, text)
    DOCUMENT.write_text(document, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
