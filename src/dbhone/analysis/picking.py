"""Samples under other names: some of them picked, those of several runs put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dbhone.measurement.record import Samples


def picked(samples: Samples, called: Mapping[str, str], steps: Sequence[str]) -> Samples:
    """Return what was measured of some subjects, under new names, on some steps."""
    subject = _places(samples.subjects, tuple(called))[samples.subject]
    step = _places(samples.steps, steps)[samples.step]
    kept = (subject >= 0) & (step >= 0)
    return Samples(
        subjects=tuple(called.values()),
        steps=tuple(steps),
        subject=subject[kept],
        step=step[kept],
        block=samples.block[kept],
        values={metric: column[kept] for metric, column in samples.values.items()},
    )


def _places(names: Sequence[str], wanted: Sequence[str]) -> NDArray[np.int32]:
    """Return where each name stands among those wanted, -1 if it is not."""
    place = {name: at for at, name in enumerate(wanted)}
    return np.array([place.get(name, -1) for name in names], dtype=np.int32)


def together(parts: Sequence[Samples]) -> Samples:
    """Return samples of the same steps as one; each part's blocks are blocks of their own."""
    subjects = tuple(dict.fromkeys(name for each in parts for name in each.subjects))
    ends = np.cumsum([0, *(each.block.max(initial=-1) + 1 for each in parts)])
    nothing = [np.full(len(each.block), np.nan) for each in parts]
    metrics = sorted({metric for each in parts for metric in each.values})
    return Samples(
        subjects=subjects,
        steps=parts[0].steps,
        subject=np.concatenate([_places(each.subjects, subjects)[each.subject] for each in parts]),
        step=np.concatenate([each.step for each in parts]),
        block=np.concatenate(
            [each.block + end for each, end in zip(parts, ends[:-1], strict=True)]
        ).astype(np.int32),
        values={
            metric: np.concatenate(
                [each.values.get(metric, empty) for each, empty in zip(parts, nothing, strict=True)]
            )
            for metric in metrics
        },
    )
