"""Which footnotes the readers of simulated runs would get, by hone's own code."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.statistics.methods.dbhone import in_rounds
from benchmarks.statistics.piece import Array, Piece, Plan
from dbhone.analysis.shape_warnings import odd_shapes
from dbhone.experiment.target.warnings import stall_notes
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Slice, Sliced
from dbhone.measurement.sample_array import SampleArray

_BASE, _CANDIDATE = "A", "B"
_OPERATIONS = 500
"""What a slice usually has; less than half of one is none."""
_MOST = 20.0
"""Noise without bounds would have a slice do more than a whole number can say."""


def codes(piece: Piece, plan: Plan) -> list[frozenset[str]]:
    """Return for each run the codes of the footnotes on stalls and on odd blocks."""
    seen, left_out = in_rounds(piece), piece.left_out()
    return [
        frozenset(
            note.code
            for note in (
                *stall_notes(list(_sliced(logs, counted, plan))),
                *odd_shapes(_BASE, _samples(rates)),
            )
        )
        for logs, counted, rates in zip(piece.logs, left_out, seen[..., :2], strict=True)
    ]


def _sliced(logs: Array, left_out: Array, plan: Plan) -> Iterator[Sliced]:
    """Yield the slices of one run, from restarts x steps x rounds x servers."""
    operations = np.rint(_OPERATIONS * np.exp(np.minimum(logs, _MOST))).astype(int)
    for block, step in np.ndindex(*logs.shape[:2]):
        for position, subject in enumerate((_BASE, _CANDIDATE)):
            yield Sliced(
                block=block,
                set=str(step),
                subject=subject,
                slices=tuple(
                    Slice(
                        round=number,
                        position=position,
                        began=0.0,
                        seconds=plan.slice_seconds,
                        operations=count,
                        errors=0,
                        counted=number >= int(left_out[block, step]),
                    )
                    for number, count in enumerate(operations[block, step, :, position].tolist())
                ),
            )


def _samples(rates: Array) -> SampleArray:
    """Return the samples of one run, from steps x restarts x servers."""
    step, block, subject = (each.ravel().astype(np.int32) for each in np.indices(rates.shape))
    return SampleArray.of_columns(
        subjects=(_BASE, _CANDIDATE),
        steps=tuple(map(str, range(len(rates)))),
        subject=subject,
        step=step,
        block=block,
        values={THROUGHPUT.name: np.exp(rates).ravel()},
    )
