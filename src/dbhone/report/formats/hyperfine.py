"""How long operations took, as the program hyperfine exports its results."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from itertools import product
from typing import Any

from dbhone.measurement.metric import (
    CPU_SECONDS,
    METRICS,
    PEAK_MEMORY,
    SYSTEM_SECONDS,
    THROUGHPUT,
    Metric,
)
from dbhone.report.figures import BlockFigures, block_figures
from dbhone.report.formats.base import Format
from dbhone.report.page import Page


class Hyperfine(Format):
    """hyperfine's ``--export-json``: a result for each subject and step, a time for each block.

    Times are seconds for one operation. Kernel time is known of servers only: of an embedded DBMS
    all CPU time is in ``user``. What is not known is 0, since readers that know hyperfine's types
    reject null there. A slice that failed has no time, so each exit code is 0.
    """

    suffix = ".hyperfine.json"

    def render(self, page: Page) -> bytes:
        """Return the object, indented; ``results`` is empty if nothing was measured."""
        report = {"results": [_result(blocks) for blocks in _by_step(page)]}
        text = json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False)
        return f"{text}\n".encode("utf-8", "replace")


def _by_step(page: Page) -> Iterator[list[BlockFigures]]:
    """Yield the blocks in which an operation's time is known, by step and subject as shown."""
    found: dict[tuple[str, str], list[BlockFigures]] = {}
    for block in block_figures(page, (*METRICS, SYSTEM_SECONDS)):
        if block.figures.get(THROUGHPUT):
            found.setdefault((block.step.name, block.subject.name), []).append(block)
    for step, subject in product(page.run.steps, page.context.subjects):
        if (step.name, subject.name) in found:
            yield found[step.name, subject.name]


def _result(blocks: list[BlockFigures]) -> dict[str, Any]:
    step, subject = blocks[0].step, blocks[0].subject.name
    parameters = {"step": step.name, "subject": subject}
    if step.threads is not None:
        parameters["threads"] = str(step.threads)
    # Throughput is that of all clients together.
    seconds = [1 / block.figures[THROUGHPUT] for block in blocks]
    memory = [round(size) for size in _known(blocks, PEAK_MEMORY)]
    kernel = _mean(_known(blocks, SYSTEM_SECONDS))
    return {
        "command": f"{step.name} on {subject}",
        "mean": statistics.fmean(seconds),
        "stddev": statistics.stdev(seconds) if len(seconds) > 1 else None,
        "median": statistics.median(seconds),
        "user": max(0.0, _mean(_known(blocks, CPU_SECONDS)) - kernel),
        "system": kernel,
        "min": min(seconds),
        "max": max(seconds),
        "times": seconds,
        **({"memory_usage_byte": memory} if len(memory) == len(blocks) else {}),
        "exit_codes": [0] * len(seconds),
        "parameters": parameters,
    }


def _known(blocks: list[BlockFigures], metric: Metric) -> list[float]:
    """Return the values of a metric, of the blocks in which it was measured."""
    values = (block.figures.get(metric) for block in blocks)
    return [value for value in values if value is not None]


def _mean(values: list[float]) -> float:
    return statistics.fmean(values) if values else 0.0


PLUGIN = Hyperfine()
