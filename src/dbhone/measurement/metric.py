"""What is measured: name, unit, which way is better, and the words of its verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Better(StrEnum):
    """Which way a metric is good."""

    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True, slots=True)
class Metric:
    """One kind of figure. ``gain`` and ``loss`` are the words for a better and a worse subject."""

    name: str
    title: str
    unit: str
    better: Better = Better.LOWER
    gain: str = "less"
    loss: str = "more"


THROUGHPUT = Metric("throughput", "throughput", "ops/s", Better.HIGHER, "faster", "slower")
CPU_SECONDS = Metric("cpu_seconds", "CPU time", "s")
SYSTEM_SECONDS = Metric("system_seconds", "CPU time in the kernel", "s")
"""The part of CPU_SECONDS that no build of the server can change."""
CLIENT_CPU_SECONDS = Metric("client_cpu_seconds", "client CPU time", "s")
INSTRUCTIONS = Metric("instructions", "instructions", "1", gain="fewer")
PEAK_MEMORY = Metric("peak_memory_bytes", "peak memory", "B")
LATENCY_P50 = Metric("latency_p50", "median latency", "s", gain="shorter", loss="longer")
LATENCY_P95 = Metric("latency_p95", "95th percentile latency", "s", gain="shorter", loss="longer")
LATENCY_P99 = Metric("latency_p99", "99th percentile latency", "s", gain="shorter", loss="longer")
CONTEXT_SWITCHES = Metric("context_switches", "context switches", "1", gain="fewer")
BYTES_READ = Metric("bytes_read", "bytes read", "B", gain="fewer")
BYTES_WRITTEN = Metric("bytes_written", "bytes written", "B", gain="fewer")
REFUSED_SHARE = Metric("refused_share", "share of transactions refused", "1")

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
    REFUSED_SHARE,
)
"""All that is stored of a measurement."""
BY_NAME: dict[str, Metric] = {metric.name: metric for metric in FIGURES}
