"""The metrics' units in the words of Go's benchmarks, which its tools scale by themselves."""

from __future__ import annotations

from collections.abc import Mapping

from dbhone.measurement.metric import (
    CONTEXT_SWITCHES,
    CPU_SECONDS,
    INSTRUCTIONS,
    LATENCY_P95,
    PEAK_MEMORY,
    THROUGHPUT,
    Metric,
)

UNITS: Mapping[Metric, str] = {
    THROUGHPUT: "ops/s",
    CPU_SECONDS: "cpu-sec/op",
    INSTRUCTIONS: "instructions/op",
    PEAK_MEMORY: "peak-B",
    LATENCY_P95: "p95-sec",
    CONTEXT_SWITCHES: "switches/op",
}
"""``sec`` and ``B`` are words that Go's tools know."""
_DECIMAL = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"))
_BINARY = ((2.0**40, "Ti"), (2.0**30, "Gi"), (2.0**20, "Mi"), (2.0**10, "Ki"), (1.0, ""))
_NANO = (1e-9, "n")


def scaled(value: float, unit: str) -> str:
    """Return a figure that is not negative with four digits and a prefix: ``14.10k``."""
    factors = _BINARY if unit.endswith("B") else (*_DECIMAL, _NANO)
    # What rounds up to a thousand has the next prefix.
    factor, prefix = next((each for each in factors if value * 1.00005 >= each[0]), factors[-1])
    if value == 0:
        factor, prefix = 1.0, ""
    figure = value / factor
    digits = max(0, 3 - (figure >= 9.9995) - (figure >= 99.995) - (figure >= 999.95))
    return f"{figure:.{digits}f}{prefix}"
