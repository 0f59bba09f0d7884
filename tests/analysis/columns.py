"""Samples in columns, an element for each measurement: easier to change and to count in a test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dbhone.measurement.sample_array import Array, Indices, SampleArray


@dataclass
class Columns:
    """What ``SampleArray.of_columns`` takes."""

    subjects: tuple[str, ...]
    steps: tuple[str, ...]
    subject: Indices
    step: Indices
    block: Indices
    values: dict[str, Array]
    block_seconds: float | None

    def array(self) -> SampleArray:
        """Return the samples."""
        return SampleArray.of_columns(**vars(self))


def columns(samples: SampleArray) -> Columns:
    """Return the samples in columns."""
    subject, step, block = np.nonzero(samples.measured)
    return Columns(
        subjects=samples.subjects,
        steps=samples.steps,
        subject=subject.astype(np.int32),
        step=step.astype(np.int32),
        block=samples.blocks[block],
        values={
            name: samples.values[subject, step, metric, block]
            for metric, name in enumerate(samples.metrics)
        },
        block_seconds=samples.block_seconds,
    )


def with_values(samples: SampleArray, **values: Array) -> SampleArray:
    """Return the samples with other columns for some metrics."""
    changed = columns(samples)
    changed.values |= values
    return changed.array()


def only(samples: SampleArray, *metrics: str) -> SampleArray:
    """Return the samples of some metrics alone."""
    changed = columns(samples)
    changed.values = {name: changed.values[name] for name in metrics}
    return changed.array()


def samples_of(
    subjects: Iterable[str],
    steps: Iterable[str],
    places: Iterable[ArrayLike],
    values: Mapping[str, Array],
) -> SampleArray:
    """Return samples: ``places`` are the subject, the step and the block of each value."""
    subject, step, block = (np.asarray(place, dtype=np.int32) for place in places)
    return SampleArray.of_columns(
        subjects=tuple(subjects),
        steps=tuple(steps),
        subject=subject,
        step=step,
        block=block,
        values=values,
    )
