"""Reads what sysbench 1.0 and 1.1 print: the summary of a run, or why the run failed.

Every line must be one that sysbench prints. Figures that it prints twice must agree: its histogram
with its percentile and with the number of events.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dbhone.errors import DriverError
from dbhone.workload.drivers.base import INTERVAL, Chunk, Latency, StepResult

PERCENTILE = 95
"""The percentile that sysbench is asked for."""

_NUMBER = r"\d{1,15}\.\d+"
_RATE = rf"\({_NUMBER} per sec\.\)"
_FACTS = re.compile(
    r" *(?P<name>transactions|ignored errors|reconnects|total number of events"
    rf"|total time|time elapsed|{PERCENTILE}th percentile|sum|operations):"
    rf" +(?P<value>\d{{1,15}}(?:\.\d+)?)s? *(?:{_RATE})?"
)
_BUCKET = re.compile(r" *(\d{1,15}\.\d{3}) \|\** +(\d{1,15})")
_INTERVAL = re.compile(
    rf"\[ \d+s \] thds: \d+ tps: ({_NUMBER}) qps: {_NUMBER}"
    rf" \(r/w/o: {_NUMBER}/{_NUMBER}/{_NUMBER}\)"
    rf" lat \(ms,\d+%\): {_NUMBER} err/s:? {_NUMBER} reconn/s: {_NUMBER}"
)
_END = re.compile(rf" +execution time \(avg/stddev\): +{_NUMBER}/{_NUMBER}")
_OTHER_LINES = re.compile(
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
_SPELLINGS_OF_1_1 = {"time elapsed": "total time"}
_TOLERANCE = 0.0056  # what rounding to 2 and to 3 decimals can make of a number, in ms

_FIRST = re.compile(rb"^\[ \d+s \] thds:", re.MULTILINE)
_ERROR = re.compile(r"(?:FATAL|ALERT|PANIC): (.*)")
_VAGUE = re.compile(r"unable to connect to MySQL server|.* function failed: .*connection creation")
"""Lines beside the one that names the cause."""
_LONGEST_ERROR = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The figures of a run: the ``seconds`` that it lasted, events, errors, latencies.

    ``interval_rates`` has the events per second of each interval. ``operations`` is the script's
    own count of what it did in its events, None if it prints none. ``busy`` is the time of all
    events together in seconds, None if it is not printed.
    """

    seconds: float
    events: int
    errors: int
    latency: Latency
    interval_rates: tuple[float, ...]
    operations: int | None
    busy: float | None

    def step(self, title: str, transcript: tuple[Chunk, ...]) -> StepResult:
        """Return the run as a step, whose operations are the events."""
        return StepResult(
            key="",
            title=title,
            seconds=self.seconds,
            operations=float(self.events),
            errors=self.errors,
            latency=self.latency,
            interval_rates=self.interval_rates,
            intervals_began=intervals_began(transcript),
        )


@dataclass(slots=True)
class _Lines:
    facts: dict[str, float] = field(default_factory=dict)
    buckets: dict[float, int] = field(default_factory=dict)
    interval_rates: list[float] = field(default_factory=list)
    ended: bool = False


def read_summary(text: str) -> Summary:
    """Return the summary in ``text``, all that sysbench printed. Raises DriverError."""
    failure = error_in_output(text)
    if failure is not None:
        raise failure
    lines = _Lines()
    for line in text.splitlines():
        _read_line(line.rstrip(), lines)
    return _summary(lines)


def _read_line(line: str, lines: _Lines) -> None:
    fact = _FACTS.fullmatch(line)
    bucket = _BUCKET.fullmatch(line)
    interval = _INTERVAL.fullmatch(line)
    if fact is not None:
        name = _SPELLINGS_OF_1_1.get(fact["name"], fact["name"])
        if name in lines.facts:
            raise DriverError(f"sysbench printed its {name} twice: {line.strip()!r}")
        lines.facts[name] = float(fact["value"])
    elif bucket is not None:
        # Of the shortest latencies several buckets have the same name.
        value = float(bucket.group(1)) / 1000
        lines.buckets[value] = lines.buckets.get(value, 0) + int(bucket.group(2))
    elif interval is not None:
        lines.interval_rates.append(float(interval.group(1)))
    elif _END.fullmatch(line) is not None:
        lines.ended = True
    elif line and _OTHER_LINES.fullmatch(line) is None:
        raise DriverError(f"sysbench printed an unexpected line: {line[:120]!r}")


def _summary(lines: _Lines) -> Summary:
    events = int(_fact(lines, "total number of events"))
    if events == 0:
        raise DriverError(
            "not one operation ended in the slice: it is too short for this step",
            hint="give the slices more seconds, or the tables fewer rows",
        )
    if events != int(_fact(lines, "transactions")):
        raise DriverError("sysbench contradicts itself: its transactions are not its events")
    seconds = _fact(lines, "total time")
    if seconds <= 0:
        raise DriverError("sysbench says that the run took no time")
    if not lines.ended:
        raise DriverError("sysbench ended before its last line")
    operations, busy = lines.facts.get("operations"), lines.facts.get("sum")
    return Summary(
        seconds=seconds,
        events=events,
        errors=int(_fact(lines, "ignored errors")) + int(_fact(lines, "reconnects")),
        latency=_latency(lines, events),
        interval_rates=tuple(lines.interval_rates),
        operations=int(operations) if operations is not None else None,
        busy=busy / 1000 if busy is not None else None,
    )


def _fact(lines: _Lines, name: str) -> float:
    if name not in lines.facts:
        raise DriverError(f"sysbench ended before it printed its {name}")
    return lines.facts[name]


def _latency(lines: _Lines, events: int) -> Latency:
    histogram = tuple(lines.buckets.items())
    if list(lines.buckets) != sorted(lines.buckets):
        raise DriverError("sysbench contradicts itself: its histogram is not in order")
    if sum(count for _, count in histogram) != events:
        raise DriverError("sysbench contradicts itself: its histogram has other events")
    latency = Latency.of(histogram)
    stated = _fact(lines, f"{PERCENTILE}th percentile") / 1000
    if abs(latency.p95 - stated) > _TOLERANCE / 1000:
        raise DriverError(
            f"sysbench contradicts itself: its {PERCENTILE}th percentile is {stated * 1000:g} ms, "
            f"but {latency.p95 * 1000:g} ms by its histogram"
        )
    return latency


@dataclass(frozen=True, slots=True, kw_only=True)
class _KnownComplaint:
    sign: re.Pattern[str]
    message: str
    hint: str


_KNOWN_ERRORS = (
    _KnownComplaint(
        sign=re.compile(r".*it is already loaded.*"),
        message="sysbench's client library loaded the plugin for the server's authentication"
        " twice at once",
        hint="it happens at random, in some versions of MariaDB's library: run the same again,"
        " or install a newer libmariadb3",
    ),
    _KnownComplaint(
        sign=re.compile(r".*(?:[Pp]lugin \S+ (?:could not|cannot) be loaded|error 2059\b).*"),
        message="sysbench's client library lacks the plugin for the server's authentication",
        hint="install what brings the file for the library that sysbench is linked with (see"
        " ldd; Debian: apt-get install libmariadb3)",
    ),
    _KnownComplaint(
        sign=re.compile(
            r".*(?:does not support authentication protocol|old \(pre-4\.1\.1\) authentication"
            r"|SCRAM authentication requires|authentication method \d+ not supported).*"
        ),
        message="sysbench's client library and the server have no authentication in common",
        hint="use a sysbench that is linked with a newer client library",
    ),
    _KnownComplaint(
        sign=re.compile(
            r".*(?:Access denied for user|error 1524\b|no pg_hba\.conf entry|pg_hba\.conf rejects"
            r"|(?:password|peer|ident) authentication failed|role \".*\" does not exist).*",
            re.IGNORECASE,
        ),
        message="the server refuses hone's own account",
        hint="hone makes the account together with the data: take settings of authentication,"
        " of accounts and of init_file out of the experiment",
    ),
    _KnownComplaint(
        sign=re.compile(
            r".*(?:[Tt]oo many connections|too many clients already|slots are reserved).*"
        ),
        message="the server has no connection left for a client",
        hint="raise max_connections in [config], or take fewer threads",
    ),
)


def error_in_output(printed: str) -> DriverError | None:
    """Return what went wrong by sysbench's own words, None if it complains of nothing.

    The words are those of the client library that it is linked with: MariaDB's in Debian, MySQL's
    elsewhere, and PostgreSQL's libpq.
    """
    lines = [match.group() for match in _ERROR.finditer(printed)]
    if not lines:
        return None
    for known in _KNOWN_ERRORS:
        line = next((line for line in lines if known.sign.fullmatch(line)), None)
        if line is not None:
            return DriverError(f"{known.message}: {line[:_LONGEST_ERROR]}", hint=known.hint)
    specific = [line for line in lines if not _VAGUE.match(line.partition(": ")[2])]
    return DriverError(f"sysbench failed: {(specific or lines)[0][:_LONGEST_ERROR]}")


def intervals_began(transcript: tuple[Chunk, ...], first: re.Pattern[bytes] = _FIRST) -> float:
    """Return when the first interval began, by when the driver printed it."""
    text = b""
    for chunk in transcript:
        text += chunk.data
        if first.search(text):
            return chunk.at - INTERVAL
    return 0.0
