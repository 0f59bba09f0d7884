"""Samples as arrays by subject, step and block; what was not measured is NaN."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbhone.errors import HoneError
from dbhone.measurement.record import Samples

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where each measurement stands in a cube of ``shape`` (subjects, steps, blocks)."""

    shape: tuple[int, int, int]
    index: NDArray[np.intp]


def place(samples: Samples) -> Place:
    """Return where the measurements stand. Blocks are numbered anew, in order.

    Raises HoneError if a subject has two measurements of one step in one block.
    """
    numbers, block = _renumber(samples.block)
    shape = (len(samples.subjects), len(samples.steps), len(numbers))
    index = (samples.subject.astype(np.intp) * shape[1] + samples.step) * shape[2] + block
    seen = np.zeros(shape[0] * shape[1] * shape[2], dtype=bool)
    seen[index] = True
    if np.count_nonzero(seen) != len(index):
        _raise_duplicate(samples, index, numbers)
    return Place(shape=shape, index=index)


def cube(values: Array, where: Place) -> tuple[Array, int]:
    """Return the logarithms of one metric as a cube, and how many values had none.

    A value that is not positive and finite has no ratio; a NaN was not measured, and is
    not counted.
    """
    with np.errstate(invalid="ignore"):
        usable = (values > 0) & (values < np.inf)
    unusable = int(np.count_nonzero(~usable & ~np.isnan(values)))
    filled = _empty(where)
    filled[where.index[usable]] = np.log(values[usable])
    return filled.reshape(where.shape), unusable


def values_cube(values: Array, where: Place) -> Array:
    """Return one metric's own values as a cube; what is negative or infinite is NaN."""
    with np.errstate(invalid="ignore"):
        usable = (values >= 0) & (values < np.inf)
    filled = _empty(where)
    filled[where.index[usable]] = values[usable]
    return filled.reshape(where.shape)


def _empty(where: Place) -> Array:
    return np.full(where.shape[0] * where.shape[1] * where.shape[2], np.nan)


def _renumber(block: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """Return the blocks' numbers in order, and each measurement's place among them."""
    if not len(block):
        return block, np.zeros(0, dtype=np.intp)
    first, last = int(block.min()), int(block.max())
    if last - first > 10 * len(block):
        numbers, places = np.unique(block, return_inverse=True)
        return numbers, places
    present = np.zeros(last - first + 1, dtype=bool)
    present[block - first] = True
    order = np.cumsum(present) - 1
    return np.flatnonzero(present).astype(np.int32) + first, order[block - first]


def _raise_duplicate(samples: Samples, index: NDArray[np.intp], numbers: NDArray[np.int32]) -> None:
    values, counts = np.unique(index, return_counts=True)
    twice = int(values[np.argmax(counts > 1)])
    rest, block = divmod(twice, len(numbers))
    subject, step = divmod(rest, len(samples.steps))
    raise HoneError(
        f"{samples.subjects[subject]} has {int(counts.max())} measurements of "
        f"{samples.steps[step]} in block {int(numbers[block])}; there must be one",
        hint="measurements of a block that was cut off must not be handed to the analysis",
    )
