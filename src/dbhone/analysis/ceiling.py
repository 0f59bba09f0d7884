"""The ceiling: how much faster a step could get at most by any build of the server.

No build changes what an operation takes the client and the kernel. So the bound is the throughput
that the same machine would have if the server's own code, all that it executes in user mode, took
no time. It is by operational analysis (P. J. Denning and J. P. Buzen, Computing Surveys 10 (1978)
225-261): what keeps a CPU busy for so long for each operation cannot be done more often than so
many CPUs can do it, and one client waits for one operation after the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dbhone.analysis.levels import Level
from dbhone.measurement.metric import (
    CLIENT_CPU_SECONDS,
    CPU_SECONDS,
    SYSTEM_SECONDS,
    THROUGHPUT,
)
from dbhone.measurement.record import Step

_MOST_TAKEN = 1.05
"""Of all CPUs; the figures come from means of their own, and need not agree to the last digit."""
_NEEDED = (THROUGHPUT, CPU_SECONDS, SYSTEM_SECONDS, CLIENT_CPU_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """What an operation takes, in seconds, and how many times faster it could get at most.

    ``user`` is the CPU time in the server's own code and its libraries.
    """

    subject: str
    step: str
    user: float
    system: float
    client: float
    ratio: float


def ceiling_ratio(
    *, throughput: float, user: float, system: float, client: float, threads: int, cores: int
) -> float:
    """Return the bound of the gain, 1 or more, infinite where it is not known.

    ``throughput`` is in operations per second of all ``threads`` clients together; ``user``,
    ``system`` and ``client`` are seconds of CPU for each. An operation's work in the kernel and
    the client is taken to happen one after the other, unless it takes more CPUs than there are
    clients. With several clients all waiting is taken to be for others' work in user mode, such as
    for locks, which would end with it. The bound is not known where kernel and clients take more
    than all ``cores``: then a part of it lies outside the operations, such as a client's start.
    """
    duration = threads / throughput
    if threads == 1 and user + system + client < duration:
        return duration / (duration - user)
    taken = (system + client) * throughput
    if not 0 < taken < _MOST_TAKEN * cores:
        return math.inf
    at_once = min(threads, cores)
    return max(1.0, (at_once if taken <= at_once else cores) / taken)


def find_ceilings(
    levels: Iterable[Level], steps: Iterable[Step], cores: int
) -> tuple[Ceiling, ...]:
    """Return the ceilings of those steps that are servers' and whose CPU time is known by kind."""
    threads = {step.name: step.threads for step in steps}
    found: dict[tuple[str, str], dict[str, float]] = {}
    for level in levels:
        found.setdefault((level.subject, level.step), {})[level.metric] = level.value
    ceilings = []
    for (subject, step), values in found.items():
        clients = threads.get(step)
        if clients is None or not all(metric.name in values for metric in _NEEDED):
            continue
        throughput, cpu, system, client = (values[metric.name] for metric in _NEEDED)
        user = max(0.0, cpu - system)
        ratio = ceiling_ratio(
            throughput=throughput,
            user=user,
            system=system,
            client=client,
            threads=clients,
            cores=cores,
        )
        ceilings.append(
            Ceiling(
                subject=subject, step=step, user=user, system=system, client=client, ratio=ratio
            )
        )
    return tuple(ceilings)


def overall_ceiling(
    levels: Iterable[Level], judged: Sequence[Step], subject: str, cores: int
) -> float | None:
    """Return how many times faster than ``subject`` any build could be over ``judged`` steps.

    It is their geometric mean. None where the bound of one of them is not known, as for an embedded
    DBMS.
    """
    found = find_ceilings(levels, judged, cores)
    ratios = [ceiling.ratio for ceiling in found if ceiling.subject == subject]
    if not judged or len(ratios) < len(judged) or not all(map(math.isfinite, ratios)):
        return None
    return math.exp(sum(map(math.log, ratios)) / len(ratios))
