"""What a reader should doubt in a run of servers: refused transactions, a busy client."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dbhone.analysis.naming import listed
from dbhone.measurement.metric import CLIENT_CPU_SECONDS, CPU_SECONDS, ERRORS, THROUGHPUT, Metric
from dbhone.measurement.record import Run, Warning
from dbhone.measurement.sample_array import Array, SampleArray
from dbhone.units import count_of

_BUSY = 0.9
"""The share of the cores from which on the CPU is what limits throughput."""
_CLIENT_SHARE = 0.3


def driver_errors(samples: SampleArray) -> Iterator[Warning]:
    """Tell of each subject how many transactions its server refused in what counts."""
    for name, errors in zip(samples.subjects, samples.usable(ERRORS), strict=True):
        refused = np.nan_to_num(errors) > 0
        count = int(np.count_nonzero(refused))
        if count:
            steps = [samples.steps[step] for step in np.flatnonzero(refused.any(axis=1))]
            yield Warning(
                code="driver-errors",
                text=f"{name}'s server refused {count_of(errors[refused].sum(), 'transaction')} in "
                f"{count_of(count, 'measurement')} ({listed(steps)}): the time that was"
                " taken is in the figures, what would have been done is not",
                subject=name,
            )


def client_heavy(run: Run, samples: SampleArray) -> Iterator[Warning]:
    """Tell on which steps the client takes much of a CPU that has nothing left.

    There a server that needs half the CPU is not twice as fast: the client's part stays.
    """
    if run.base is None or run.base.name not in samples.subjects:
        return
    base = samples.subjects.index(run.base.name)
    rates, server, client = (
        _usual(samples, base, metric) for metric in (THROUGHPUT, CPU_SECONDS, CLIENT_CPU_SECONDS)
    )
    if rates is None or server is None or client is None:
        return
    with np.errstate(invalid="ignore", divide="ignore"):
        busy = rates * (server + client) / max(run.machine.cores, 1)
        share = client / (server + client)
        heavy = np.flatnonzero((busy >= _BUSY) & (share >= _CLIENT_SHARE))
    if len(heavy):
        yield Warning(
            code="client-heavy",
            text=f"on {len(heavy)} of {len(samples.steps)} steps "
            f"({listed([samples.steps[each] for each in heavy])}) the CPU is busy and the client "
            f"takes up to {share[heavy].max():.0%} of it, so a faster server shows only in part: "
            "its CPU time per operation shows it whole",
        )


def _usual(samples: SampleArray, subject: int, metric: Metric) -> Array | None:
    """Return the subject's median of a metric on each step, None if it was not measured."""
    if not samples.has(metric):
        return None
    mine = samples.usable(metric)[subject]
    known = ~np.isnan(mine).all(axis=-1)
    usual = np.full(len(mine), np.nan)
    usual[known] = np.nanmedian(mine[known], axis=-1)
    return usual
