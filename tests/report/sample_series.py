"""What was observed of a run of servers: made up, with a step down for a checkpoint."""

from __future__ import annotations

import random

from dbhone.measurement.record import Run
from dbhone.measurement.series import (
    CPU,
    MEMORY,
    PACE,
    READ,
    WRITTEN,
    Observation,
    Quantity,
    Series,
    SeriesKind,
)

COMMITS = Quantity(name="pg_stat_database.xact_commit", unit="1/s", kind=SeriesKind.RATE)
WAITS = Quantity(name="pg_stat_activity.IO:WALSync", unit="1", kind=SeriesKind.COUNT)


def observations(
    run: Run, *, blocks: int = 6, seconds: int = 10, more: int = 0
) -> tuple[Observation, ...]:
    """Return what was observed of all steps; ``more`` counters besides."""
    rng = random.Random(5)
    counters = [
        Quantity(name=f"status.Counter_{number}", unit="1/s", kind=SeriesKind.RATE)
        for number in range(more)
    ]

    def series(quantity: Quantity, level: float) -> Series:
        at = tuple(round(second + 1 + rng.uniform(0, 0.02), 3) for second in range(seconds))
        noisy = [level * (0.5 if second == 6 else 1) * rng.gauss(1, 0.05) for second in at]
        return Series(quantity=quantity, at=at, values=tuple(max(0.0, each) for each in noisy))

    levels = [(PACE, 9000.0), (CPU, 1.6), (READ, 0.0), (WRITTEN, 3.1e6), (MEMORY, 3e8)]
    levels += [(COMMITS, 9000.0), (WAITS, 1.5), *((each, 10.0) for each in counters)]
    return tuple(
        Observation(
            block=block,
            set=step.set,
            subject=subject.name,
            series=tuple(series(quantity, level) for quantity, level in levels),
        )
        for block in range(blocks)
        for step in run.steps
        for subject in run.subjects
        if subject.broken is None
    )
