"""What an operation waits for, by the events of the DBMS, and where two servers differ.

Events and CPU time do not make up all of an operation's time. The rest is its client's turn, or a
wait for a CPU, or a wait for which the DBMS has no event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from statistics import fmean

from dbhone.analysis.explained_rounds import Difference, Round, Waits, certain, differences

_MOST = 8
_WORTH_TELLING = 0.01
"""Of what an operation waits in all: a mutex may certainly differ by less than a nanosecond."""
_LARGEST = 4
"""How many events are told that take the most, whether or not the servers differ there."""
OTHER_EVENTS = "other events"
NO_EVENT = "for the client or a CPU, or without an event"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitDifferences:
    """What an operation waits for, and what the server's other threads wait for meanwhile.

    ``events`` certainly differ, as those that are ``differing`` do, or take the most; the largest
    is the first. With ``others`` and ``rest`` they add up to what an operation waits.
    ``background`` certainly differs. What differs by less than a hundredth of that sum is not worth
    telling.
    """

    events: list[Difference]
    differing: list[Difference]
    others: Difference
    rest: Difference
    background: list[Difference]


def wait_differences(
    base: Sequence[Round], subject: Sequence[Round], threads: int
) -> WaitDifferences | None:
    """Return what two servers waited for, with so many clients; None if they were not asked."""
    if any(one.waits is None for one in (*base, *subject)):
        return None
    both = base, subject
    least = _WORTH_TELLING * max(_mean_waiting(rounds, threads) for rounds in both)
    of_sessions = differences(*(_per_operation(rounds, attrgetter("sessions")) for rounds in both))
    differing = _worth(of_sessions, least)
    events = _told(of_sessions, differing)
    told = frozenset(it.name for it in events)
    others, rest = differences(*(_remainders(rounds, told, threads) for rounds in both))
    background = differences(*(_per_operation(rounds, attrgetter("background")) for rounds in both))
    return WaitDifferences(
        events=events,
        differing=differing,
        others=others,
        rest=rest,
        background=_worth(background, least),
    )


def _per_operation(
    rounds: Sequence[Round], of: Callable[[Waits], Mapping[str, float]]
) -> list[dict[str, float]]:
    return [
        {name: seconds / one.operations for name, seconds in of(one.waits).items()}
        for one in rounds
        if one.waits is not None
    ]


def _mean_waiting(rounds: Sequence[Round], threads: int) -> float:
    return fmean(one.waiting(threads) for one in rounds)


def _told(found: Iterable[Difference], differing: Sequence[Difference]) -> list[Difference]:
    by_size = sorted((it for it in found if _size(it)), key=_size, reverse=True)
    names = frozenset(it.name for it in (*differing, *by_size[:_LARGEST]))
    return [it for it in by_size if it.name in names]


def _worth(found: Iterable[Difference], least: float) -> list[Difference]:
    return [it for it in certain(found) if abs(it.more.value) >= least][:_MOST]


def _size(it: Difference) -> float:
    return max(it.base.value, it.subject.value)


def _remainders(
    rounds: Sequence[Round], told: frozenset[str], threads: int
) -> list[dict[str, float]]:
    """Return, of each round, what the other events take, and what no event accounts for.

    An event lasts as long as a system call and has its CPU time, so that the second is a little
    too small.
    """
    return [
        {
            OTHER_EVENTS: sum(seconds for name, seconds in waits.items() if name not in told),
            NO_EVENT: max(0.0, one.waiting(threads) - sum(waits.values())),
        }
        for one, waits in zip(rounds, _per_operation(rounds, attrgetter("sessions")), strict=True)
    ]
