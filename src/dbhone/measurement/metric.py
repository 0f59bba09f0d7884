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
    unit="ops/s",
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
SYSTEM_SECONDS = Metric(
    name="system_seconds",
    title="CPU time in the kernel",
    unit="s",
    better=Better.LOWER,
    gain="less",
    loss="more",
)
"""The part of CPU_SECONDS that no build of the server can change."""
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

LATENCY_P50 = Metric(
    name="latency_p50",
    title="median latency",
    unit="s",
    better=Better.LOWER,
    gain="shorter",
    loss="longer",
)
LATENCY_P95 = Metric(
    name="latency_p95",
    title="95th percentile latency",
    unit="s",
    better=Better.LOWER,
    gain="shorter",
    loss="longer",
)
LATENCY_P99 = Metric(
    name="latency_p99",
    title="99th percentile latency",
    unit="s",
    better=Better.LOWER,
    gain="shorter",
    loss="longer",
)
CLIENT_CPU_SECONDS = Metric(
    name="client_cpu_seconds",
    title="client CPU time",
    unit="s",
    better=Better.LOWER,
    gain="less",
    loss="more",
)
CONTEXT_SWITCHES = Metric(
    name="context_switches",
    title="context switches",
    unit="1",
    better=Better.LOWER,
    gain="fewer",
    loss="more",
)
BYTES_READ = Metric(
    name="bytes_read",
    title="bytes read",
    unit="B",
    better=Better.LOWER,
    gain="fewer",
    loss="more",
)
BYTES_WRITTEN = Metric(
    name="bytes_written",
    title="bytes written",
    unit="B",
    better=Better.LOWER,
    gain="fewer",
    loss="more",
)
ERRORS = Metric(
    name="errors",
    title="errors",
    unit="1",
    better=Better.LOWER,
    gain="fewer",
    loss="more",
)

METRICS: tuple[Metric, ...] = (
    THROUGHPUT,
    CPU_SECONDS,
    INSTRUCTIONS,
    PEAK_MEMORY,
    LATENCY_P95,
    CONTEXT_SWITCHES,
)
"""The metrics that subjects are compared by, those that they are judged by first."""
JUDGED: tuple[Metric, ...] = (THROUGHPUT, CPU_SECONDS)
"""The metrics that subjects are judged by. How fast a subject is also depends on its clients and on
what it waits for; what it costs does not, and is known more precisely. Each is a question of its
own, and decided by itself."""
FIGURES: tuple[Metric, ...] = (
    *METRICS,
    LATENCY_P50,
    LATENCY_P99,
    SYSTEM_SECONDS,
    CLIENT_CPU_SECONDS,
    BYTES_READ,
    BYTES_WRITTEN,
    ERRORS,
)
"""All that is stored of a measurement."""
BY_NAME: dict[str, Metric] = {metric.name: metric for metric in FIGURES}
