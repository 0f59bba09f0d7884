"""The single figures of a page, for formats by which other tools compute its results themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from dbhone.measurement.metric import (
    CONTEXT_SWITCHES,
    CPU_SECONDS,
    INSTRUCTIONS,
    LATENCY_P95,
    METRICS,
    PEAK_MEMORY,
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


def block_figures(page: Page, metrics: Sequence[Metric] = METRICS) -> Iterator[BlockFigures]:
    """Yield what was measured, by part (held-out first), block, step and subject as shown."""
    samples = page.samples
    values = {metric: samples.of(metric) for metric in metrics if samples.has(metric)}
    subjects = [subject for subject in page.ordered if subject.name in samples.subjects]
    for part in page.in_sample:
        steps = [step for step in page.steps_with_parts(part) if step.name in samples.steps]
        for at, block in enumerate(samples.blocks.tolist()):
            for step, subject in product(steps, subjects):
                place = samples.subjects.index(subject.name), samples.steps.index(step.name), at
                own = {metric: float(of_metric[place]) for metric, of_metric in values.items()}
                figures = {metric: value for metric, value in own.items() if math.isfinite(value)}
                if figures:
                    yield BlockFigures(subject=subject, step=step, block=block, figures=figures)


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
