"""The single figures of a page, for formats by which other tools compute its results themselves."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dbhone.measurement.metric import (
    CONTEXT_SWITCHES,
    CPU_SECONDS,
    INSTRUCTIONS,
    LATENCY_P95,
    METRICS,
    PEAK_MEMORY,
    SYSTEM_SECONDS,
    THROUGHPUT,
    Metric,
)
from dbhone.measurement.record import Step, Subject
from dbhone.report.page import Page
from dbhone.safe_text import flat


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockFigures:
    """What was measured of one subject on one step in one block, in the metrics compared.

    ``block`` is the block's number; ``figures`` are those that are known, one at least, each in its
    metric's unit.
    """

    subject: Subject
    step: Step
    block: int
    figures: Mapping[Metric, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long an operation took one subject on one step, in each block in which it is known.

    ``seconds`` are wall time for each operation: the inverse of throughput, that of all clients
    together. ``memory`` is the peak memory in bytes, block by block, empty where a block has none.
    ``cpu`` are the subject's CPU seconds for each operation and ``kernel`` those of them in the
    kernel, of the blocks in which they were measured.
    """

    subject: Subject
    step: Step
    seconds: tuple[float, ...]
    memory: tuple[float, ...]
    cpu: tuple[float, ...]
    kernel: tuple[float, ...]

    @property
    def system(self) -> float:
        """The arithmetic mean of the CPU seconds in the kernel, 0 where they are not known."""
        return statistics.fmean(self.kernel) if self.kernel else 0.0

    @property
    def user(self) -> float:
        """The arithmetic mean of the CPU seconds, those in the kernel apart; 0 if not measured."""
        return max(0.0, statistics.fmean(self.cpu) - self.system) if self.cpu else 0.0

    @property
    def mean(self) -> float:
        """The arithmetic mean of the seconds."""
        return statistics.fmean(self.seconds)

    @property
    def median(self) -> float:
        """The median of the seconds."""
        return statistics.median(self.seconds)

    @property
    def standard_deviation(self) -> float | None:
        """The seconds' standard deviation with n - 1, None for one block."""
        return statistics.stdev(self.seconds) if len(self.seconds) > 1 else None


def block_figures(page: Page, metrics: Sequence[Metric] = METRICS) -> Iterator[BlockFigures]:
    """Yield what was measured, by part (held-out first), block, step and subject as shown."""
    rows = _Rows(page, metrics)
    for part in page.in_sample:
        steps = [step for step in page.run.steps if step.in_sample is part]
        for block in rows.blocks:
            for step in steps:
                for subject in page.ordered:
                    figures = rows.figures(subject, step, block)
                    if figures:
                        yield BlockFigures(subject=subject, step=step, block=block, figures=figures)


def timings(page: Page) -> Iterator[Timing]:
    """Yield how long operations took, by step in the run's order and subject as shown."""
    by_step: dict[tuple[str, str], list[BlockFigures]] = {}
    for measured in block_figures(page, (*METRICS, SYSTEM_SECONDS)):
        if measured.figures.get(THROUGHPUT):
            by_step.setdefault((measured.step.name, measured.subject.name), []).append(measured)
    for step in page.run.steps:
        for subject in page.ordered:
            measurements = by_step.get((step.name, subject.name), [])
            if measurements:
                yield _timing(subject, step, measurements)


def _timing(subject: Subject, step: Step, measured: list[BlockFigures]) -> Timing:
    rates = [measurement.figures[THROUGHPUT] for measurement in measured]
    return Timing(
        subject=subject,
        step=step,
        seconds=tuple(1 / rate for rate in rates),
        memory=_whole(measured, PEAK_MEMORY),
        cpu=_known(measured, CPU_SECONDS),
        kernel=_known(measured, SYSTEM_SECONDS),
    )


def _whole(measured: list[BlockFigures], metric: Metric) -> tuple[float, ...]:
    """Return the values of a metric, none if any is missing."""
    known = _known(measured, metric)
    return known if len(known) == len(measured) else ()


def _known(measured: list[BlockFigures], metric: Metric) -> tuple[float, ...]:
    """Return the values of a metric that there are."""
    values = (measurement.figures.get(metric) for measurement in measured)
    return tuple(value for value in values if value is not None)


class _Rows:
    """A page's samples, by where each is."""

    def __init__(self, page: Page, metrics: Sequence[Metric]) -> None:
        self._samples = page.samples
        self._metrics = [metric for metric in metrics if page.samples.has(metric)]
        self.blocks: list[int] = page.samples.blocks.tolist()

    def figures(self, subject: Subject, step: Step, block: int) -> dict[Metric, float]:
        samples = self._samples
        if subject.name not in samples.subjects or step.name not in samples.steps:
            return {}
        row, column = samples.subjects.index(subject.name), samples.steps.index(step.name)
        values = samples.values[row, column, :, self.blocks.index(block)]
        known = dict(zip(samples.metrics, values.tolist(), strict=True))
        return {
            metric: known[metric.name]
            for metric in self._metrics
            if np.isfinite(known[metric.name])
        }


UNITS: Mapping[Metric, str] = {
    THROUGHPUT: "ops/s",
    CPU_SECONDS: "cpu-sec/op",
    INSTRUCTIONS: "instructions/op",
    PEAK_MEMORY: "peak-B",
    LATENCY_P95: "p95-sec",
    CONTEXT_SWITCHES: "switches/op",
}
"""``sec`` and ``B`` are words that Go's tools know."""
_DECIMAL = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"))
_BINARY = ((2.0**40, "Ti"), (2.0**30, "Gi"), (2.0**20, "Mi"), (2.0**10, "Ki"), (1.0, ""))
_NANO = (1e-9, "n")


def scaled(value: float, unit: str) -> str:
    """Return a figure that is not negative with four digits and a prefix: ``14.10k``."""
    factors = _BINARY if unit.endswith("B") else (*_DECIMAL, _NANO)
    # What rounds up to a thousand has the next prefix.
    factor, prefix = next(
        (factor for factor in factors if value * 1.00005 >= factor[0]), factors[-1]
    )
    if value == 0:
        factor, prefix = 1.0, ""
    figure = value / factor
    digits = max(0, 3 - (figure >= 9.9995) - (figure >= 99.995) - (figure >= 999.95))
    return f"{figure:.{digits}f}{prefix}"


def configuration(page: Page) -> Iterator[str]:
    """Yield the lines that begin a file of Go's benchmarks: what was run, and where."""
    for key, value in (
        ("dbhone-run", page.numbers.replace(" ", "-")),
        ("suite", page.run.suite),
        ("size", page.run.size),
        ("base", page.analysis.base),
        ("cpu", page.run.machine.cpu_model),
    ):
        yield f"{key}: {flat(value)}"
