"""The steps by which subjects are judged: held-out ones, as far as there are any."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Step, wholes
from dbhone.measurement.sample_array import SampleArray


def judged_steps(samples: SampleArray, base: str, steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps of a run by which its subjects are judged.

    They are the held-out ones if any of these was measured on the base and on another subject, else
    all that were. Parts of steps do not count.
    """
    whole = wholes(steps)
    compared = _compared(samples, base)
    known = tuple(step for step in whole if step.name in compared) or whole
    return tuple(step for step in known if not step.in_sample) or known


def _compared(samples: SampleArray, base: str) -> frozenset[str]:
    """Return the names of the steps that some block has of the base and of another subject."""
    if base not in samples.subjects:
        return frozenset()
    known = ~np.isnan(samples.logs(THROUGHPUT).values)
    own = known[samples.subjects.index(base)]
    # The base itself is one of those that have its blocks.
    both = (np.count_nonzero(known, axis=0) > 1) & own
    return frozenset(samples.steps[at] for at in np.flatnonzero(both.any(axis=-1)))
