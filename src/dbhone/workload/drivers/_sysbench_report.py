"""Reads what sysbench 1.0 and 1.1 print at the end of a run, and while it lasts.

Every line must be one that sysbench prints. What it says twice must agree: its histogram with
its percentile and with the number of events.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dbhone.errors import DriverError
from dbhone.workload.drivers._sysbench_complaint import complaint
from dbhone.workload.drivers.base import Latency

PERCENTILE = 95
"""The percentile that sysbench is asked for."""

_NUMBER = r"\d+\.\d+"
_RATE = rf"\({_NUMBER} per sec\.\)"
_FACTS = re.compile(
    r" *(?P<name>transactions|ignored errors|reconnects|total number of events"
    rf"|total time|time elapsed|{PERCENTILE}th percentile|sum|operations):"
    rf" +(?P<value>\d+(?:\.\d+)?)s? *(?:{_RATE})?"
)
_BUCKET = re.compile(r" *(\d+\.\d{3}) \|\** +(\d+)")
_INTERVAL = re.compile(
    rf"\[ \d+s \] thds: \d+ tps: ({_NUMBER}) qps: {_NUMBER}"
    rf" \(r/w/o: {_NUMBER}/{_NUMBER}/{_NUMBER}\)"
    rf" lat \(ms,\d+%\): {_NUMBER} err/s:? {_NUMBER} reconn/s: {_NUMBER}"
)
_END = re.compile(rf" +execution time \(avg/stddev\): +{_NUMBER}/{_NUMBER}")
_KNOWN = re.compile(
    "|".join(
        (
            r"sysbench \d\S+ \(using \w+ LuaJIT .*\)",
            r"Running the test with following options:",
            r"Number of threads: \d+",
            r"Report intermediate results every \d+ second\(s\)",
            r"Initializing random number generator from (?:current time|seed \(-?\d+\)\.)",
            r"Initializing worker threads\.\.\.",
            r"Threads started!",
            r"Latency histogram \(values are in milliseconds\)",
            r" *value  -+ distribution -+ count",
            r"\[ \d+s \] queue length: \d+, concurrency: \d+",
            r"(?:SQL|General) statistics:|Throughput:|Latency \(ms\):|Threads fairness:",
            r" +queries performed:",
            r" +(?:read|write|other|total): +\d+",
            rf" +queries: +\d+ +{_RATE}",
            rf" +events/s \(eps\): +{_NUMBER}",
            r" +(?:min|avg|max): +\d+\.\d\d",
            rf" +events \(avg/stddev\): +{_NUMBER}/{_NUMBER}",
            # MySQL's client library says it of an option that sysbench sets.
            r"WARNING: MYSQL_OPT_RECONNECT is deprecated and will be removed in a future version\.",
        )
    )
)
_SAME = {"time elapsed": "total time"}  # the words of 1.1 for those of 1.0
_TOLERANCE = 0.0056  # what rounding to 2 and to 3 decimals can make of a number, in ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What sysbench said of a run: ``seconds`` that it lasted, events, errors, latencies.

    ``series`` has the events per second of each interval that it reported. ``operations`` is
    what a script says it did in its events, None if it says nothing; ``busy`` are the seconds
    that the events took all together, None where it is not printed.
    """

    seconds: float
    events: int
    errors: int
    latency: Latency
    series: tuple[float, ...]
    operations: int | None
    busy: float | None


@dataclass(slots=True)
class _Found:
    facts: dict[str, float] = field(default_factory=dict)
    buckets: dict[float, int] = field(default_factory=dict)
    series: list[float] = field(default_factory=list)
    ended: bool = False


def read_report(text: str) -> Report:
    """Return what ``text``, all that sysbench printed, says. Raises DriverError."""
    failure = complaint(text)
    if failure is not None:
        raise failure
    found = _Found()
    for line in text.splitlines():
        _read_line(line.rstrip(), found)
    return _report(found)


def _read_line(line: str, found: _Found) -> None:
    fact = _FACTS.fullmatch(line)
    bucket = _BUCKET.fullmatch(line)
    interval = _INTERVAL.fullmatch(line)
    if fact is not None:
        name = _SAME.get(fact["name"], fact["name"])
        if name in found.facts:
            raise DriverError(f"sysbench printed its {name} twice: {line.strip()!r}")
        found.facts[name] = float(fact["value"])
    elif bucket is not None:
        # Of the shortest latencies several buckets have the same name.
        value = float(bucket.group(1)) / 1000
        found.buckets[value] = found.buckets.get(value, 0) + int(bucket.group(2))
    elif interval is not None:
        found.series.append(float(interval.group(1)))
    elif _END.fullmatch(line) is not None:
        found.ended = True
    elif line and _KNOWN.fullmatch(line) is None:
        raise DriverError(f"sysbench printed a line that it never prints: {line[:120]!r}")


def _report(found: _Found) -> Report:
    events = int(_fact(found, "total number of events"))
    if events == 0:
        raise DriverError(
            "not one operation ended in the slice: it is too short for this step",
            hint="give the slices more seconds, or the tables fewer rows",
        )
    if events != int(_fact(found, "transactions")):
        raise DriverError("sysbench contradicts itself: its transactions are not its events")
    seconds = _fact(found, "total time")
    if seconds <= 0:
        raise DriverError("sysbench says that the run took no time")
    if not found.ended:
        raise DriverError("sysbench ended before its last line")
    operations, busy = found.facts.get("operations"), found.facts.get("sum")
    return Report(
        seconds=seconds,
        events=events,
        errors=int(_fact(found, "ignored errors")) + int(_fact(found, "reconnects")),
        latency=_latency(found, events),
        series=tuple(found.series),
        operations=int(operations) if operations is not None else None,
        busy=busy / 1000 if busy is not None else None,
    )


def _fact(found: _Found, name: str) -> float:
    if name not in found.facts:
        raise DriverError(f"sysbench ended before it printed its {name}")
    return found.facts[name]


def _latency(found: _Found, events: int) -> Latency:
    histogram = tuple(found.buckets.items())
    if list(found.buckets) != sorted(found.buckets):
        raise DriverError("sysbench contradicts itself: its histogram is not in order")
    if sum(count for _, count in histogram) != events:
        raise DriverError("sysbench contradicts itself: its histogram has other events")
    latency = Latency.of(histogram)
    stated = _fact(found, f"{PERCENTILE}th percentile") / 1000
    if abs(latency.p95 - stated) > _TOLERANCE / 1000:
        raise DriverError(
            f"sysbench contradicts itself: its {PERCENTILE}th percentile is {stated * 1000:g} ms, "
            f"but {latency.p95 * 1000:g} ms by its histogram"
        )
    return latency
