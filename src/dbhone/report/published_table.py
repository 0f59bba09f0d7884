"""The table that sets published ratios beside a run's own, and what a reader must know of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from dbhone.analysis.verdict import half_width
from dbhone.measurement.metric import BY_NAME, THROUGHPUT
from dbhone.measurement.record import Run
from dbhone.report.context import EMPTY, heading
from dbhone.report.pairing import fits
from dbhone.report.published_comparison import Beside, BesideRow
from dbhone.report.table import Cell, Column, Row, Table
from dbhone.report.wording import margin, ratio
from dbhone.units import count_of

_WIDTH = 5
_CACHED = "cached"


def beside_table(of: Beside, run: Run) -> Table:
    """Return the ratios, theirs and one's own, part by part and metric by metric."""
    theirs, mine = of.pair.theirs, of.pair.mine.name
    return Table(
        title=f"Beside {of.name}: {theirs}, and {mine} here",
        caption=" ".join(_caption(of, run)),
        columns=(
            Column(title="Step", numeric=False),
            Column(title="Threads"),
            Column(title=f"{of.publication.author}: {theirs} ÷ {of.publication.base}"),
            Column(title=f"here: {mine} ÷ {of.base}"),
            Column(title="theirs lies", numeric=False),
        ),
        rows=tuple(_rows(of, run)),
    )


def _caption(of: Beside, run: Run) -> Iterator[str]:
    publication, pair = of.publication, of.pair
    dated = "" if publication.date == "not told" else f", {publication.date}"
    yield f"{publication.title}: {publication.author}, {publication.source}{dated}."
    yield f"Theirs is {publication.what} on {publication.machine}; {publication.note}."
    yield (
        f"Ratios only: {pair.theirs} ÷ {publication.base} there, {pair.mine.name} ÷ {of.base} here"
        f" ({pair.mine.name} stands for {pair.theirs} {pair.why})."
    )
    yield from _differences(of, run)
    matched = count_of(len(of.rows), "row")
    yield (
        f"{matched}; {count_of(of.unmatched, 'published ratio')} without a like here"
        f" and {count_of(of.alone, 'step')} of this run without a like there are not shown."
    )
    yield "The last column is where the published ratio lies to the interval found here."


def _differences(of: Beside, run: Run) -> Iterator[str]:
    """Yield in what the two cannot be compared."""
    publication, base = of.publication, run.base
    if base is not None and not fits(publication, publication.base, base):
        own = {"variant": base.variant, "version": base.version, "dbms": base.dbms}
        yield f"The bases differ: here it is {own[publication.by.value]}."
    if base is not None:
        yield f"Here it was {base.dbms} {base.version}."
    threads = {each.threads for each in publication.groups}
    here = {row.threads for row in of.rows if row.threads is not None}
    if threads and here and threads != here:
        yield f"Theirs was at {_numbers(threads)} threads, this at {_numbers(here)}."
    own_regime = run.declared.workload.get("regime", _CACHED)
    if publication.regime is not None and publication.regime != own_regime:
        yield f"Their regime was {publication.regime}, here it is {own_regime}."


def _numbers(of: set[int]) -> str:
    return ", ".join(map(str, sorted(of)))


def _rows(of: Beside, run: Run) -> Iterator[Row]:
    parts = len({step.in_sample for step in run.steps}) > 1
    for (in_sample, metric), rows in groupby(of.rows, key=lambda row: (row.in_sample, row.metric)):
        title = _title(metric)
        part = "in-sample" if in_sample else "held-out"
        yield heading(f"{title}, {part}" if parts and in_sample is not None else title, _WIDTH)
        yield from (_row(row) for row in rows)


def _title(metric: str) -> str:
    known = BY_NAME.get(metric)
    if known is None:
        return metric
    return known.title if known is THROUGHPUT else f"{known.title} (less is better)"


def _row(row: BesideRow) -> Row:
    return Row(
        cells=(
            Cell(text=row.what),
            EMPTY if row.threads is None else Cell(text=str(row.threads)),
            Cell(text=ratio(row.published)),
            Cell(text=ratio(row.ratio), margin=margin(half_width(row))),
            Cell(text=_LIES.get(row.lies or "", "")),
        )
    )


_LIES: Mapping[str, str] = {"within": "within", "above": "above it", "below": "below it"}
