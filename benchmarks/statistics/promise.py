"""Whether dbhone's verdicts keep their promise, on every kind of noise, and what readers are told.

The promise: of runs without a difference at most one in twenty tells of one, and 95 % of the
intervals hold the truth, which is the ratio that a report names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.statistics.cutting import Recording
from benchmarks.statistics.kinds import CHOSEN_ON, HELD_OUT, SERVERS
from benchmarks.statistics.methods.base import ALPHA, Method
from benchmarks.statistics.methods.dbhone import OVER_STEPS, ROUNDS
from benchmarks.statistics.notes import codes
from benchmarks.statistics.piece import Piece

COVERAGE_WANTED = (0.93, 0.97)
"""Where coverage has to be."""
NOTES = ("stalls", "outliers", "two-humped")
"""The footnotes of which it is counted how many runs have them."""
_NOTED_RUNS = 100
_Z = 1.96


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share of runs; it is known to within ``error``, in 95 of 100 cases."""

    value: float
    error: float

    @classmethod
    def of(cls, found: NDArray[np.bool_]) -> Share:
        """Return the share of what was found, runs x steps. Steps of one run are not independent.

        Where all runs agree, three in so many may yet differ.
        """
        runs = found.astype(np.float64).mean(axis=-1)
        error = _Z * float(np.std(runs)) / np.sqrt(len(runs))
        return cls(value=float(np.mean(runs)), error=max(float(error), 3 / len(runs)))

    def __str__(self) -> str:
        return f"{self.value:.1%} ±{self.error:.1%}".replace("%", " %")


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What became of the promise: on steps, corrected for being several, or on all steps as one."""

    false_alarms: Share
    coverage: Share

    def broken(self) -> Iterator[str]:
        """Yield in words how it was broken, by more than the figures' own error."""
        if self.false_alarms.value - self.false_alarms.error > ALPHA:
            yield f"{self.false_alarms} false alarms"
        low, high = COVERAGE_WANTED
        far = self.coverage.value - self.coverage.error > high
        if far or self.coverage.value + self.coverage.error < low:
            yield f"coverage {self.coverage}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One kind of noise: runs of so many ``blocks``, and the share of them with each note."""

    name: str
    blocks: int
    steps: Promise
    as_one: Promise
    noted: tuple[float, ...]


def rows(recordings: Sequence[Recording], runs: int, seed: int) -> Iterator[Row]:
    """Yield a row for each kind of noise and each recording."""
    for kind in (*CHOSEN_ON, *HELD_OUT, *SERVERS, *(each.kind() for each in recordings)):
        piece = kind.piece(runs, kind.plan, seed)
        noted = codes(replace(piece, logs=piece.logs[:_NOTED_RUNS]), kind.plan)
        yield Row(
            name=kind.name,
            blocks=kind.plan.restarts,
            steps=_promise(ROUNDS, piece),
            as_one=_promise(OVER_STEPS, piece),
            noted=tuple(float(np.mean([note in each for each in noted])) for note in NOTES),
        )


def _promise(method: Method, piece: Piece) -> Promise:
    told = method.judge(method.seen(piece))
    alarms = np.any(told.different, axis=-1, keepdims=True)
    return Promise(false_alarms=Share.of(alarms), coverage=Share.of(told.covered))


def table(found: Sequence[Row], runs: int) -> str:
    """Return the table of what became of the promise, with what is counted."""
    heads = (
        "noise",
        "blocks",
        "false alarms, steps",
        "coverage, steps",
        "false alarms, all as one",
        "coverage, all as one",
        *(f"`{note}`" for note in NOTES),
    )
    lines = [
        f"{runs} runs of each noise. The notes are of the first {min(runs, _NOTED_RUNS)}.",
        "",
        f"| {' | '.join(heads)} |",
        "| --- |" + " --- |" * (len(heads) - 1),
    ]
    for row in found:
        shares = (
            *(row.steps.false_alarms, row.steps.coverage),
            *(row.as_one.false_alarms, row.as_one.coverage),
        )
        noted = (f"{each:.0%}".replace("%", " %") for each in row.noted)
        lines.append(f"| {' | '.join([row.name, str(row.blocks), *map(str, shares), *noted])} |")
    return "\n".join(lines) + "\n"


def broken(found: Sequence[Row]) -> str:
    """Say where the promise is broken by more than the figures' own error: a list."""
    lines = [
        f"- {row.name}, {where}: {what}"
        for row in found
        for where, promise in (("steps", row.steps), ("all as one", row.as_one))
        for what in promise.broken()
    ]
    return "\n".join(lines or ["- nowhere"]) + "\n"
