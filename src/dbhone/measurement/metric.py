"""What is measured: name, unit, which way is better, and the words of its verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Better(StrEnum):
    """Which way a metric is good."""

    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One kind of figure. ``gain`` and ``loss`` are the words for a better and a worse subject."""

    name: str
    title: str
    unit: str
    better: Better
    gain: str
    loss: str


THROUGHPUT = Metric(
    name="throughput",
    title="throughput",
    unit="steps/s",
    better=Better.HIGHER,
    gain="faster",
    loss="slower",
)
CPU_SECONDS = Metric(
    name="cpu_seconds",
    title="CPU time",
    unit="s",
    better=Better.LOWER,
    gain="less",
    loss="more",
)
INSTRUCTIONS = Metric(
    name="instructions",
    title="instructions",
    unit="1",
    better=Better.LOWER,
    gain="fewer",
    loss="more",
)
PEAK_MEMORY = Metric(
    name="peak_memory_bytes",
    title="peak memory",
    unit="B",
    better=Better.LOWER,
    gain="less",
    loss="more",
)

METRICS: tuple[Metric, ...] = (THROUGHPUT, CPU_SECONDS, INSTRUCTIONS, PEAK_MEMORY)
"""All metrics, the one that verdicts are about first."""
BY_NAME: dict[str, Metric] = {metric.name: metric for metric in METRICS}
