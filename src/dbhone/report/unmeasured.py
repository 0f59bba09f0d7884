"""What a reader may look for and not find, since it was not measured: one note for it all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dbhone.measurement.metric import (
    BYTES_READ,
    BYTES_WRITTEN,
    CLIENT_CPU_SECONDS,
    CONTEXT_SWITCHES,
    CPU_SECONDS,
    INSTRUCTIONS,
    LATENCY_P95,
    PEAK_MEMORY,
    THROUGHPUT,
    Metric,
)
from dbhone.measurement.record import Run, Warning
from dbhone.measurement.sample_array import SampleArray
from dbhone.measurement.series import Observation
from dbhone.report.context import serves
from dbhone.report.server_series import Meanwhile

_OF_ALL = (CPU_SECONDS, INSTRUCTIONS, PEAK_MEMORY)
_OF_SERVERS = (LATENCY_P95, CONTEXT_SWITCHES, CLIENT_CPU_SECONDS, BYTES_READ, BYTES_WRITTEN)
_WHY = {INSTRUCTIONS.name: " (they need the CPU's performance counters)"}


def unmeasured(
    run: Run, samples: SampleArray, observed: Sequence[Observation], drawn: Sequence[Meanwhile]
) -> tuple[Warning, ...]:
    """Return a note on what was not measured of anything, none if there is nothing to tell.

    ``drawn`` are the courses over time that came of what was ``observed``.
    """
    if not _known(samples, THROUGHPUT):
        return ()
    found = [*_metrics(run, samples), *_courses(run, observed, drawn)]
    if not found:
        return ()
    return (Warning(code="not-measured", text=f"not measured: {', '.join(found)}"),)


def _metrics(run: Run, samples: SampleArray) -> Iterator[str]:
    wanted = (*_OF_ALL, *_OF_SERVERS) if serves(run.steps) else _OF_ALL
    for metric in wanted:
        if not _known(samples, metric):
            yield f"{metric.title}{_WHY.get(metric.name, '')}"


def _known(samples: SampleArray, metric: Metric) -> bool:
    return bool(np.isfinite(samples.of(metric)).any())


def _courses(
    run: Run, observed: Sequence[Observation], drawn: Sequence[Meanwhile]
) -> Iterator[str]:
    """Yield why there is no course over time; without observations only the file can tell."""
    if serves(run.steps) and not run.declared.observes:
        yield "the course over time ([observe] is off)"
    elif observed and not drawn:
        yield "the course over time (slices are too short)"
