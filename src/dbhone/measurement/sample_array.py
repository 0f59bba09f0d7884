"""All samples of a run as one array: what every function of the analysis takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dbhone.errors import HoneError
from dbhone.measurement.metric import THROUGHPUT, Metric
from dbhone.measurement.stall_noise import Array, StallNoise

__all__ = ["DEVIATION", "Array", "Indices", "Logs", "SampleArray", "join"]

DEVIATION = 1.4826
"""The standard deviation of normal noise, in medians of the distance from its centre."""
Indices: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Logs:
    """Logarithms of values, or of their ratios; the last axis is the blocks.

    ``values`` are NaN where there is none. ``within`` has the same shape: the variance that each
    value has by the rounds of its own block, NaN where rounds do not show it. ``clusters`` has a
    label for each block; blocks of one label share what is random between blocks. Without it each
    block stands for itself. ``stalls`` has the same shape: the noise that stalls bring, None if
    there were none.
    """

    values: Array
    within: Array
    clusters: Indices | None = None
    stalls: StallNoise | None = None

    @classmethod
    def without_rounds(cls, values: Array, clusters: Indices | None = None) -> Logs:
        """Return logarithms of which no rounds are known."""
        return cls(values=values, within=np.full(values.shape, np.nan), clusters=clusters)

    @classmethod
    def stacked(cls, rows: Sequence[Logs]) -> Logs:
        """Return rows of equal shape as one, along a new first axis."""
        return replace(
            rows[0],
            values=np.array([row.values for row in rows]),
            within=np.array([row.within for row in rows]),
            stalls=_each([row.stalls for row in rows], StallNoise.stacked),
        )

    @classmethod
    def pooled(cls, first: Logs, repeats: Sequence[Logs]) -> Logs:
        """Return the mean of a subject and its repeats, wherever the subject itself was measured.

        A repeat that was not measured somewhere takes no part there.
        """
        rows = cls.stacked([first, *repeats])
        known = ~np.isnan(rows.values)
        count = np.maximum(np.count_nonzero(known, axis=0), 1)
        values = np.where(known, rows.values, 0.0).sum(axis=0) / count
        within = np.where(known, rows.within, 0.0).sum(axis=0) / np.square(count)
        return replace(
            first,
            values=np.where(known[0], values, np.nan),
            within=within,
            stalls=_of(rows.stalls, lambda stalls: stalls.sum(axis=0).times(1 / count)),
        )

    def __getitem__(self, index: Any) -> Logs:
        return replace(
            self,
            values=self.values[index],
            within=self.within[index],
            stalls=_of(self.stalls, lambda stalls: stalls[index]),
        )

    def __add__(self, other: Logs) -> Logs:
        return replace(
            self,
            values=self.values + other.values,
            within=self.within + other.within,
            stalls=_each([self.stalls, other.stalls], lambda pair: pair[0] + pair[1]),
        )

    def __sub__(self, other: Logs) -> Logs:
        return replace(
            self,
            values=self.values - other.values,
            within=self.within + other.within,
            stalls=_each([self.stalls, other.stalls], lambda pair: pair[0] - pair[1]),
        )

    def times(self, factor: float) -> Logs:
        """Return the logarithms times a factor."""
        return replace(
            self,
            values=self.values * factor,
            within=self.within * factor**2,
            stalls=_of(self.stalls, lambda stalls: stalls.times(factor)),
        )

    def weighted(self, weights: Array) -> Logs:
        """Return the sum over the first axis, of which each element has a weight."""
        return replace(
            self,
            values=weights @ self.values,
            within=np.square(weights) @ self.within,
            stalls=_of(self.stalls, lambda stalls: stalls.weighted(weights)),
        )

    def mean(self) -> Logs:
        """Return the means over the first axis, as of independent values."""
        return replace(
            self,
            values=self.values.mean(axis=0),
            within=self.within.mean(axis=0) / len(self.values),
            stalls=_of(self.stalls, lambda stalls: stalls.sum(axis=0).times(1 / len(self.values))),
        )

    def by_cluster(self) -> Logs:
        """Return the means over the blocks of each cluster, in the place of the blocks."""
        if self.clusters is None:
            return self
        labels, cluster = np.unique(self.clusters, return_inverse=True)
        if len(labels) == len(self.clusters):
            return self
        members = np.eye(len(labels))[cluster]
        known = ~np.isnan(self.values)
        count = known @ members
        with np.errstate(invalid="ignore"):
            values = np.where(known, self.values, 0.0) @ members / count
            within = np.where(known, np.nan_to_num(self.within), 0.0) @ members / np.square(count)
        without_rounds = (known & np.isnan(self.within)) @ members > 0
        share = 1 / np.maximum(count, 1)
        return Logs(
            values=values,
            within=np.where(without_rounds, np.nan, within),
            stalls=_of(self.stalls, lambda stalls: stalls.by_cluster(members).times(share)),
        )


def _of(
    stalls: StallNoise | None, changed: Callable[[StallNoise], StallNoise]
) -> StallNoise | None:
    """Return what becomes of the noise of stalls, if there were any."""
    return None if stalls is None else changed(stalls)


def _each(
    rows: Sequence[StallNoise | None], joined: Callable[[list[StallNoise]], StallNoise]
) -> StallNoise | None:
    """Return what becomes of the noise of stalls in several logarithms, if there were any."""
    known = [stalls for stalls in rows if stalls is not None]
    return joined(known) if len(known) == len(rows) else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampleArray:
    """What was measured, subjects × steps × metrics × blocks; NaN where nothing was.

    ``metrics`` are the names of those of which there is any value. ``blocks`` are the blocks'
    numbers, ascending; blocks that were cut off and measured again are not among them. ``within``,
    subjects × steps × blocks, is the variance that the logarithm of a throughput has by the rounds
    of its block, NaN where it has no rounds. ``clusters`` has a label for each block: where some
    share a label, their subjects ran in the same layouts. ``block_seconds`` is about how long a
    block takes, without the pauses of a run that was cut off, None where that is not known.
    ``stalls`` is the noise that stalls bring into the logarithm of a throughput, in the shape of
    ``within``, None if there were none.
    """

    subjects: tuple[str, ...]
    steps: tuple[str, ...]
    metrics: tuple[str, ...]
    blocks: Indices
    values: Array
    within: Array
    clusters: Indices | None = None
    block_seconds: float | None = None
    stalls: StallNoise | None = None

    @classmethod
    def of_columns(
        cls,
        *,
        subjects: tuple[str, ...],
        steps: tuple[str, ...],
        subject: Indices,
        step: Indices,
        block: Indices,
        values: Mapping[str, Array],
        within: Array | None = None,
        stalls: StallNoise | None = None,
        block_seconds: float | None = None,
    ) -> SampleArray:
        """Return the array of measurements in columns, an element for each measurement.

        ``subject`` and ``step`` are indices, ``block`` has the blocks' numbers, ``values`` a column
        for each metric; without ``within`` nothing has rounds, without ``stalls`` nothing stalled.
        Raises HoneError if a subject has two measurements of a step in a block.
        """
        blocks, at = np.unique(block, return_inverse=True)
        _check_unique(subjects, steps, blocks, subject, step, at)
        known = {name: column for name, column in values.items() if not np.isnan(column).all()}
        array = np.full((len(subjects), len(steps), len(known), len(blocks)), np.nan)
        for metric, column in enumerate(known.values()):
            array[subject, step, metric, at] = column
        variances = np.full((len(subjects), len(steps), len(blocks)), np.nan)
        if within is not None:
            variances[subject, step, at] = within
        noise = None
        if stalls is not None:
            noise = StallNoise.none(variances.shape)
            noise[subject, step, at] = stalls
        return cls(
            subjects=subjects,
            steps=steps,
            metrics=tuple(known),
            blocks=blocks.astype(np.int32),
            values=array,
            within=variances,
            block_seconds=block_seconds,
            stalls=noise,
        )

    def in_layouts(self, layouts: int) -> SampleArray:
        """Return samples of which so many blocks one after the other had unlike layouts.

        After them the layouts come again, in the same order.
        """
        return replace(self, clusters=self.blocks % layouts) if layouts else self

    def has(self, metric: Metric) -> bool:
        """Return whether there is any value of a metric."""
        return metric.name in self.metrics

    def of(self, metric: Metric) -> Array:
        """Return a metric's values as they were measured, subjects × steps × blocks."""
        if not self.has(metric):
            return np.full((len(self.subjects), len(self.steps), len(self.blocks)), np.nan)
        values: Array = self.values[:, :, self.metrics.index(metric.name)]
        return values

    def usable(self, metric: Metric) -> Array:
        """Return a metric's values, subjects × steps × blocks.

        A negative or infinite value is NaN.
        """
        values = self.of(metric)
        with np.errstate(invalid="ignore"):
            return np.where((values >= 0) & (values < np.inf), values, np.nan)

    def logs(self, metric: Metric) -> Logs:
        """Return the logarithms of a metric's values, subjects × steps × blocks.

        A value that is not positive and finite has no ratio: it is NaN.
        """
        values = self.of(metric)
        with np.errstate(invalid="ignore", divide="ignore"):
            logs = np.log(np.where((values > 0) & (values < np.inf), values, np.nan))
        if metric is not THROUGHPUT:
            return Logs.without_rounds(logs, self.clusters)
        return Logs(values=logs, within=self.within, clusters=self.clusters, stalls=self.stalls)

    def without_logs(self, metric: Metric) -> int:
        """Return how many values of a metric were measured that have no logarithm."""
        lost = np.isnan(self.logs(metric).values) & ~np.isnan(self.of(metric))
        return int(np.count_nonzero(lost))

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Where anything was measured, subjects × steps × blocks."""
        return np.asarray(~np.isnan(self.values).all(axis=2), dtype=np.bool_)

    def measured_subjects(self) -> tuple[str, ...]:
        """Return the subjects of which anything was measured."""
        present = np.flatnonzero(self.measured.any(axis=(1, 2)))
        return tuple(self.subjects[subject] for subject in present)

    def rename(self, names: Mapping[str, str]) -> SampleArray:
        """Return the samples with other names for some subjects."""
        return replace(self, subjects=tuple(names.get(name, name) for name in self.subjects))

    def pick(self, names: Mapping[str, str], steps: Sequence[str]) -> SampleArray:
        """Return the samples of some subjects, under new names, on some steps.

        Of a name that the samples do not have, and of such a step, nothing was measured.
        """
        values = np.full((len(names), len(steps), len(self.metrics), len(self.blocks)), np.nan)
        within = np.full((len(names), len(steps), len(self.blocks)), np.nan)
        stalls = None if self.stalls is None else StallNoise.none(within.shape)
        for row, name in enumerate(names):
            for column, step in enumerate(steps):
                if name in self.subjects and step in self.steps:
                    here = self.subjects.index(name), self.steps.index(step)
                    values[row, column] = self.values[here]
                    within[row, column] = self.within[here]
                    if stalls is not None and self.stalls is not None:
                        stalls[row, column] = self.stalls[here]
        return replace(
            self,
            subjects=tuple(names.values()),
            steps=tuple(steps),
            values=values,
            within=within,
            block_seconds=None,
            stalls=stalls,
        )


def join(parts: Sequence[SampleArray]) -> SampleArray:
    """Return samples of the same steps as one; each part's blocks are blocks of their own.

    Either all parts have clusters or none has.
    """
    subjects = tuple(dict.fromkeys(name for part in parts for name in part.subjects))
    metrics = tuple(sorted({metric for part in parts for metric in part.metrics}))
    ends = np.cumsum([0, *(part.blocks.max(initial=-1) + 1 for part in parts)])
    shape = (len(subjects), len(parts[0].steps), len(metrics))
    widened, variances, noises = [], [], []
    for part in parts:
        values = np.full((*shape, len(part.blocks)), np.nan)
        within = np.full((*shape[:2], len(part.blocks)), np.nan)
        rows = [subjects.index(name) for name in part.subjects]
        columns = [metrics.index(metric) for metric in part.metrics]
        values[np.ix_(rows, range(shape[1]), columns)] = part.values
        within[rows] = part.within
        stalls = StallNoise.none(within.shape)
        if part.stalls is not None:
            stalls[rows] = part.stalls
        widened.append(values)
        variances.append(within)
        noises.append(stalls)
    numbers = [part.blocks + end for part, end in zip(parts, ends[:-1], strict=True)]
    # Parts in layouts took them in one order: their clusters are the same.
    clusters = [part.clusters for part in parts if part.clusters is not None]
    return SampleArray(
        subjects=subjects,
        steps=parts[0].steps,
        metrics=metrics,
        blocks=np.concatenate(numbers).astype(np.int32),
        clusters=np.concatenate(clusters) if clusters else None,
        values=np.concatenate(widened, axis=-1),
        within=np.concatenate(variances, axis=-1),
        stalls=None if all(part.stalls is None for part in parts) else StallNoise.joined(noises),
    )


def _check_unique(
    subjects: tuple[str, ...],
    steps: tuple[str, ...],
    blocks: Indices,
    subject: Indices,
    step: Indices,
    at: NDArray[np.intp],
) -> None:
    counts = np.zeros((len(subjects), len(steps), len(blocks)), dtype=np.int32)
    np.add.at(counts, (subject, step, at), 1)
    if counts.max(initial=0) <= 1:
        return
    which, on, block = np.argwhere(counts > 1)[0]
    raise HoneError(
        f"{subjects[which]} has {counts[which, on, block]} measurements of {steps[on]} in block"
        f" {blocks[block]}; there must be one",
        hint="measurements of a block that was cut off must not be handed to the analysis",
    )
