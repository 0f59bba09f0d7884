"""The single figures as Go's benchmarks print them, so that benchstat can compare them itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

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
from dbhone.report.figures import BlockFigures, block_figures
from dbhone.report.formats.base import Format
from dbhone.report.page import Page
from dbhone.safe_text import flat, printable

UNITS: Mapping[Metric, str] = {
    THROUGHPUT: "ops/s",
    CPU_SECONDS: "cpu-sec/op",
    INSTRUCTIONS: "instructions/op",
    PEAK_MEMORY: "peak-B",
    LATENCY_P95: "p95-sec",
    CONTEXT_SWITCHES: "switches/op",
}
"""``sec`` and ``B`` are words that Go's tools know."""
_PARTING = re.compile(r"[\s/]+")


class GoBenchmark(Format):
    """Go's benchmark format (golang.org/design/14313-benchmark-format).

    There is a line for each subject, step and block.

    A name is ``GROUP/set=…/key=…/subject=…-THREADS``. Held-out and in-sample steps differ in the
    configuration, by which benchstat parts its tables: it never averages over both.
    """

    suffix = ".bench"

    def render(self, page: Page) -> bytes:
        """Return the lines: configuration, units, and measurements block after block."""
        return ("\n".join(_lines(page)) + "\n").encode("utf-8", "replace")


def _lines(page: Page) -> Iterator[str]:
    yield from _configuration(page)
    for metric in METRICS:
        yield f"Unit {UNITS[metric]} better={metric.better.value}"
    part: bool | None = None
    for measured in block_figures(page):
        if measured.step.in_sample is not part:
            part = measured.step.in_sample
            yield f"part: {'in-sample' if part else 'held-out'}"
        yield _result(measured)


def _configuration(page: Page) -> Iterator[str]:
    """Yield what was run, and where."""
    for key, value in (
        ("dbhone-run", page.numbers.replace(" ", "-")),
        ("suite", page.run.suite),
        ("size", page.run.size),
        ("base", page.analysis.base),
        ("cpu", page.run.machine.cpu_model),
    ):
        yield f"{key}: {flat(value)}"


def _result(measured: BlockFigures) -> str:
    """Return one line. How many operations there were is not kept: the count is always 1."""
    step = measured.step
    key = f"/key={_word(step.key)}" if step.key else ""
    # A number at a name's end is read as its threads, so it always has them.
    name = f"{step.group.value.capitalize()}/set={_word(step.suite_set)}{key}"
    name = f"Benchmark{name}/subject={_word(measured.subject.name)}-{step.threads or 1}"
    figures = (f"{value:.9g} {UNITS[metric]}" for metric, value in measured.figures.items())
    return " ".join((name, "1", *figures))


def _word(text: str) -> str:
    """Return a name without what parts words and names."""
    return _PARTING.sub("_", printable(text).strip())


PLUGIN = GoBenchmark()
