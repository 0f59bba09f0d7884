"""Relative throughput as tab-separated values, in the form of Mark Callaghan's result files."""

from __future__ import annotations

from collections.abc import Iterator

from dbhone.report.formats.base import Format
from dbhone.report.page import Page
from dbhone.safe_text import flat


class Tsv(Format):
    """``Relative to: BASE``, ``col-1 : …``; then a line for each step, its name last.

    His readers know it, and a spreadsheet takes it. Bare ratios with two digits, as he has
    them: which of them are noise, the other formats say. What was not measured is empty.
    """

    suffix = ".tsv"

    def render(self, page: Page) -> bytes:
        """Return the lines; steps that were trained on come last, under a heading."""
        return ("\n".join(_lines(page)) + "\n").encode("utf-8", "replace")


def _lines(page: Page) -> Iterator[str]:
    base = page.analysis.base
    names = [subject.name for subject in page.context.subjects if subject.name != base]
    yield f"Relative to: {flat(base)}"
    yield from (f"col-{number} : {flat(name)}" for number, name in enumerate(names, start=1))
    effects = page.analysis.throughput_effects_with_parts
    ratios = {(effect.subject, effect.step): effect.ratio for effect in effects}
    portions = page.context.portions
    for portion in portions:
        yield ""
        if len(portions) > 1:
            yield "in-sample (trained on)" if portion.in_sample else "held-out"
        yield "\t".join(f"col-{number}" for number in range(1, len(names) + 1))
        for step in portion.steps_with_parts:
            values = [ratios.get((name, step.name)) for name in names]
            cells = ("" if value is None else f"{value:.2f}" for value in values)
            yield "\t".join((*cells, flat(step.name)))


PLUGIN = Tsv()
