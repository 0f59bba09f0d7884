"""Makes samples from tables of figures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from dbhone.analysis.comparison import analyse
from dbhone.analysis.verdict import Analysis
from dbhone.measurement.metric import METRICS, THROUGHPUT, Metric
from dbhone.measurement.record import Group, Step
from dbhone.measurement.sample_array import SampleArray
from tests.analysis.columns import samples_of

Array = NDArray[np.float64]


def samples(values: Array, *, metric: Metric = THROUGHPUT) -> SampleArray:
    """Return samples of one metric from an array: subjects x steps x blocks.

    Subjects are called a, b, c…, steps 0, 1, 2…; a NaN is no measurement at all.
    """
    places = np.nonzero(~np.isnan(values))
    subjects, steps = "abcdefghij"[: values.shape[0]], map(str, range(values.shape[1]))
    return samples_of(subjects, steps, places, {metric.name: values[places]})


def analysed(
    of: SampleArray,
    *,
    base: str = "a",
    in_sample: Mapping[str, bool] | None = None,
    groups: Mapping[str, Group] | None = None,
    controls: Collection[str] = (),
) -> Analysis:
    """Analyse; unless told, every step is held-out and a point step."""
    return analyse(
        of,
        base=base,
        steps=steps_of(of.steps, in_sample=in_sample, groups=groups),
        controls=controls,
        metrics=METRICS,
    )


def steps_of(
    names: Iterable[str],
    *,
    in_sample: Mapping[str, bool] | None = None,
    groups: Mapping[str, Group] | None = None,
) -> tuple[Step, ...]:
    """Return steps of these names; unless told, held-out point steps."""
    return tuple(
        Step(
            set=name,
            key="",
            title=name,
            group=(groups or {}).get(name, Group.POINT),
            in_sample=(in_sample or {}).get(name, False),
        )
        for name in names
    )


def noisy(
    seed: int, shape: tuple[int, int, int], ratios: tuple[float, ...], *, spread: float = 0.02
) -> Array:
    """Return heavy-tailed throughputs around 100, the subjects' ratios to the first as given."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_t(3, shape) * spread
    level = rng.normal(0, 0.1, (1, 1, shape[2]))
    values: Array = 100 * np.exp(noise + level) * np.array(ratios)[:, None, None]
    return values
