"""The single figures of a page, for formats by which other tools compute its results themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from dbhone.measurement.metric import METRICS, Metric
from dbhone.measurement.record import Step, Subject
from dbhone.report.page import Page


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
    """Yield what was measured, by portion (held-out first), block, step and subject as shown."""
    samples = page.samples
    values = {metric: samples.of(metric) for metric in metrics if samples.has(metric)}
    subjects = [subject for subject in page.context.subjects if subject.name in samples.subjects]
    for portion in page.context.portions:
        steps = [step for step in portion.steps_with_parts if step.name in samples.steps]
        for at, block in enumerate(samples.blocks.tolist()):
            for step, subject in product(steps, subjects):
                place = samples.subjects.index(subject.name), samples.steps.index(step.name), at
                own = {metric: float(of_metric[place]) for metric, of_metric in values.items()}
                figures = {metric: value for metric, value in own.items() if math.isfinite(value)}
                if figures:
                    yield BlockFigures(subject=subject, step=step, block=block, figures=figures)
