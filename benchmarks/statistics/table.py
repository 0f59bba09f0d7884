"""The study's figures as Markdown: a table for each question, noises down, methods across."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.statistics.figures import SLOWER, WANTED, WANTED_SHARE, Figures
from benchmarks.statistics.methods.base import ALPHA
from benchmarks.statistics.study import Row

NOT_KNOWN = "–"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One question: its title, what its cells mean, and how a cell is made."""

    title: str
    meaning: str
    cell: Callable[[Figures, Row], str]


def _false_alarms(found: Figures, _: Row) -> str:
    return f"{found.false_alarms:.1%}"


def _interval(found: Figures, _: Row) -> str:
    if found.coverage is None or found.half is None:
        return NOT_KNOWN
    return f"{found.coverage:.1%}, ±{np.expm1(found.half):.1%}"


def _found(found: Figures, _: Row) -> str:
    return " · ".join(f"{each:.0%}".removesuffix("%") for each in found.found)


def _minutes(found: Figures, row: Row) -> str:
    if found.minutes is None:
        return f"over {row.longest:.0f}"
    return f"{found.minutes:.0f}"


TABLES = (
    Table(
        title="False alarms",
        meaning="The share of A/A runs of half an hour that tell of a difference on any step.",
        cell=_false_alarms,
    ),
    Table(
        title="Intervals",
        meaning=f"How often the {1 - ALPHA:.0%} interval of a step holds the truth, and its median "
        "half-width. Without an interval there is nothing to count.",
        cell=_interval,
    ),
    Table(
        title="Found",
        meaning="In how many of a hundred runs of half an hour a slowdown of "
        + ", ".join(f"{each:.0%}" for each in SLOWER).replace("%", " %")
        + " is found that one step has, or all steps where all are judged as one. "
        "Where false alarms are many, these are, too.",
        cell=_found,
    ),
    Table(
        title=f"Minutes until {WANTED:.0%} is found".replace("%", " %"),
        meaning=f"The shortest run of which {WANTED_SHARE:.0%} find it.".replace("%", " %"),
        cell=_minutes,
    ),
)


def tables(rows: Sequence[Row], titles: Sequence[str], *, runs: int) -> str:
    """Return all tables of a study, of methods with these titles, and how exact they are."""
    lines = [_exactness(runs)]
    for table in TABLES:
        lines += ["", f"**{table.title}.** {table.meaning}", "", *_lines(table, rows, titles)]
    return "\n".join(lines) + "\n"


def _exactness(runs: int) -> str:
    error = 1.96 * np.sqrt(ALPHA * (1 - ALPHA) / runs)
    return f"{runs} runs of each noise: a share of {ALPHA:.0%} is known to ±{error:.1%}."


def _lines(table: Table, rows: Sequence[Row], titles: Sequence[str]) -> Iterator[str]:
    yield f"| noise | {' | '.join(titles)} |"
    yield "| --- |" + " --- |" * len(titles)
    for row in rows:
        cells = [
            table.cell(row.results[each], row) if each in row.results else NOT_KNOWN
            for each in titles
        ]
        mark = ", held out" if row.held_out else ""
        yield f"| {row.noise}{mark} | {' | '.join(cells)} |"
