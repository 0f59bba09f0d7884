"""How latencies are distributed, as far as it is known: by three percentiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dbhone.analysis.levels import Level
from dbhone.measurement.metric import LATENCY_P50, LATENCY_P95, LATENCY_P99, Metric
from dbhone.measurement.record import Step, Subject
from dbhone.report.batches import is_batch
from dbhone.report.context import EMPTY, ReportContext, heading, label, serves
from dbhone.report.table import Cell, Column, Row, Table
from dbhone.report.wording import number

PERCENTILES: tuple[Metric, ...] = (LATENCY_P50, LATENCY_P95, LATENCY_P99)
MILLISECONDS = 1e3


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """The percentiles of one part's steps."""

    in_sample: bool
    table: Table


def latencies(of: ReportContext) -> tuple[Latencies, ...]:
    """Return the percentiles of each part of which any was measured."""
    found = ((part, _table(of, part)) for part in of.parts())
    return tuple(Latencies(in_sample=part, table=table) for part, table in found if table)


def _table(of: ReportContext, in_sample: bool) -> Table | None:
    steps = of.steps(in_sample=in_sample)
    # What a batch runs is one statement: its seconds have a table of their own.
    if (
        is_batch(of.run)
        or not serves(steps)
        or not any(_known(of, each, step) for each in of.subjects for step in steps)
    ):
        return None
    return Table(
        title=f"Latency distributions, {of.part_title(in_sample).lower()}",
        caption="Half of the operations took less than the first figure, 95 % less than the "
        "second and 99 % less than the third, in milliseconds. Only these percentiles of a slice "
        "are kept, not all of its latencies. A figure is the typical one over the blocks; the "
        "data have each one's interval, and the 95th percentile's ratio has a table of its own.",
        columns=(
            Column(title="Step", numeric=False),
            *(Column(title=label(each)) for each in of.subjects),
        ),
        rows=tuple(_rows(of, in_sample)),
    )


def _rows(of: ReportContext, in_sample: bool) -> Iterator[Row]:
    for group in of.groups(in_sample=in_sample):
        yield heading(group.value, 1 + len(of.subjects))
        for step in of.steps(in_sample=in_sample, group=group):
            cells = (_cell(of, each, step) for each in of.subjects)
            yield Row(cells=(Cell(text=step.name), *cells))


def _cell(of: ReportContext, subject: Subject, step: Step) -> Cell:
    """Return the percentiles side by side; – for one that is not known."""
    found = [of.level(subject, step, metric) for metric in PERCENTILES]
    if all(each is None for each in found):
        return EMPTY
    return Cell(
        text=" / ".join("–" if each is None else number(each * MILLISECONDS) for each in found)
    )


def _known(of: ReportContext, subject: Subject, step: Step) -> bool:
    return any(of.level(subject, step, metric) is not None for metric in PERCENTILES)


def ranges(levels: tuple[Level, ...]) -> dict[tuple[str, str], dict[str, float]]:
    """Return the percentiles in milliseconds by subject and step, where all three are known."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    names = [metric.name for metric in PERCENTILES]
    for each in levels:
        if each.metric in names and each.value > 0:
            place = found.setdefault((each.subject, each.step), {})
            place[each.metric] = each.value * MILLISECONDS
    return {place: values for place, values in found.items() if len(values) == len(names)}
