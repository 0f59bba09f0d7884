"""db_bench, RocksDB's own benchmark (tools/db_bench_tool.cc in its source tree).

A set is one start of db_bench with a list of benchmarks, which run one after the other on one new
database. db_bench prints a line when a benchmark ends, and others before it begins; stdbuf(1) has
each arrive at once. db_bench times its own operations; a benchmark during which it was paused is
timed by the arrival of its line and of the one before, without the pauses.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbhone.errors import DriverError
from dbhone.workload.drivers.base import (
    Chunk,
    DriverReport,
    DriverRequest,
    EmbeddedDriver,
    StepResult,
    difference,
    source_text,
)
from dbhone.workload.task import Task

_SHORTEST = 0.00001
_EXACT_RATE = 1000
"""From which on a rate in whole operations tells more than seconds with three digits."""
_MEBI = 1 << 20
_VALUE_BYTES = 400
_WRITE_RATE = 16 * _MEBI
_VERSION = re.compile(r"RocksDB: +version (\S+)")
_RESULT = re.compile(
    r"(\w+) +: +\d+\.\d{3} micros/op (\d{1,15}) ops/sec (\d{1,9}\.\d{3}) seconds"
    r" (\d{1,15}) operations;(?:.*?\((.*)\))?.*"
)
_WRONG = re.compile(r"inconsistent|error|corrupt", re.IGNORECASE)
_BY_LINES = ("stdbuf", "-oL")
_COMPACT = "compact"
"""Gives the tree the same shape in every database, and leaves nothing to be done meanwhile."""
_VERIFYING = ("randomwithverify", "verifychecksum")
"""Benchmarks that compare what they read with what they wrote, and read all data again."""
_COMMON = (
    "--seed=2015",
    "--key_size=20",
    f"--value_size={_VALUE_BYTES}",
    "--bloom_bits=10",
    "--seek_nexts=10",
    "--multiread_batched=true",
    "--batch_size=10",
    f"--write_buffer_size={16 * _MEBI}",
    f"--target_file_size_base={16 * _MEBI}",
    f"--max_bytes_for_level_base={64 * _MEBI}",
    "--compaction_readahead_size=0",
    "--sync=0",
    "--progress_reports=false",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Set:
    """The ``benchmarks`` on a database that was filled and compacted, in their order.

    The block cache is of the type ``cache`` and holds ``cached`` of the data. Where clients read
    ``beside_writer``, db_bench limits how fast it writes: filling is not measured then.
    """

    fill: str = "fillrandom"
    benchmarks: tuple[str, ...]
    cache: str = "lru_cache"
    cached: float = 4.0
    compression: str = "none"
    beside_writer: bool = False

    @property
    def measured(self) -> tuple[str, ...]:
        """The benchmarks that are steps."""
        return self.benchmarks if self.beside_writer else self.all

    @property
    def all(self) -> tuple[str, ...]:
        """All that db_bench is to do."""
        return (self.fill, _COMPACT, *self.benchmarks)


_SETS = {
    "cached": _Set(
        fill="fillseq",
        benchmarks=(
            *("readrandom", "readmissing", "multireadrandom"),
            *("seekrandom", "readseq", "overwrite"),
        ),
    ),
    "hyper-clock": _Set(
        benchmarks=("readrandom", "seekrandom", "readreverse"), cache="hyper_clock_cache"
    ),
    "compressed": _Set(
        benchmarks=("readrandom", "seekrandom", "readseq", "updaterandom"),
        cached=0.1,
        compression="lz4",
    ),
    "writing": _Set(benchmarks=("readwhilewriting", "seekrandomwhilewriting"), beside_writer=True),
}


class DbBench(EmbeddedDriver):
    """Runs the benchmarks of a set on a new database, without waiting for the disk."""

    name = "db-bench"
    artifact = "db_bench"

    def sets(self, suite: tuple[str, ...], tree: Path) -> tuple[str, ...]:
        """Return the suite's sets whose cache this version has."""
        text = source_text(tree / "tools" / "db_bench_tool.cc")
        return tuple(name for name in suite if _SETS[name].cache in text)

    def can_pause(self, task: Task) -> bool:
        """Return whether nothing in it happens by the clock: db_bench limits a writer's rate by it.

        Benchmarks are timed by when their lines arrive.
        """
        return not _SETS[task.set].beside_writer

    def begins_step(self, line: str) -> bool:
        """Return whether a line is a benchmark's result: the next benchmark begins at once."""
        return _RESULT.fullmatch(line.rstrip()) is not None

    def argv(self, request: DriverRequest) -> tuple[str, ...]:
        """Return the command: the size is the number of keys, and of operations."""
        task = request.task
        chosen = _SETS[task.set]
        cache = max(int(task.size * _VALUE_BYTES * chosen.cached), _MEBI)
        benchmarks = (*chosen.all, *(_VERIFYING if request.verify else ()))
        return (
            *_BY_LINES,
            str(request.program),
            f"--benchmarks={','.join(benchmarks)}",
            f"--db={request.database}",
            f"--num={task.size}",
            f"--cache_type={chosen.cache}",
            f"--cache_size={cache}",
            f"--compression_type={chosen.compression}",
            f"--benchmark_write_rate_limit={_WRITE_RATE if chosen.beside_writer else 0}",
            *_COMMON,
        )

    def read(self, request: DriverRequest, transcript: tuple[Chunk, ...]) -> DriverReport:
        """Return a step for each benchmark of the set; all of them must have ended well."""
        lines = tuple(_lines(transcript))
        wrong = [text for _, text in lines if _WRONG.search(text)]
        if wrong:
            raise DriverError(f"db_bench reports an error: {wrong[0][:200]!r}")
        version = next(filter(None, (_VERSION.match(text) for _, text in lines)), None)
        if version is None:
            raise DriverError("db_bench did not say which version it is of")
        ended = [(chunk, match) for chunk, text in lines if (match := _RESULT.fullmatch(text))]
        chosen = _SETS[request.task.set]
        expected = (*chosen.all, *(_VERIFYING if request.verify else ()))
        if tuple(match[1] for _, match in ended) != expected:
            done = ", ".join(match[1] for _, match in ended) or "nothing"
            raise DriverError(f"db_bench was to run {', '.join(expected)}, but ran {done}")
        results = [match for _, match in ended]
        return DriverReport(
            version=version[1],
            steps=tuple(_steps(lines, frozenset(chosen.measured))),
            verification=_verification(results, chosen) if request.verify else None,
        )


def _lines(transcript: tuple[Chunk, ...]) -> Iterator[tuple[Chunk, str]]:
    """Yield each line that was printed, and the chunk with which its end arrived."""
    rest = ""
    for chunk in transcript:
        *lines, rest = (rest + chunk.data.decode("utf-8", "replace")).split("\n")
        yield from ((chunk, line.rstrip()) for line in lines if line.strip())


def _steps(lines: tuple[tuple[Chunk, str], ...], asked: frozenset[str]) -> Iterator[StepResult]:
    """Yield the benchmarks: each began with the line before its own."""
    for (begin, _), (end, text) in itertools.pairwise(lines):
        result = _RESULT.fullmatch(text)
        if result is not None and result[1] in asked:
            yield _step(result, begin, end)


def _step(result: re.Match[str], begin: Chunk, end: Chunk) -> StepResult:
    operations, rate, said = int(result[4]), int(result[2]), float(result[3])
    seconds = operations / rate if rate >= _EXACT_RATE else said
    paused = end.paused - begin.paused
    if paused and end is not begin:
        seconds = end.at - begin.at - paused
    return StepResult(
        key=result[1],
        title=result[1],
        seconds=max(seconds, _SHORTEST),
        cpu_seconds=difference(end.cpu_seconds, begin.cpu_seconds),
        instructions=difference(end.instructions, begin.instructions),
        peak_memory_bytes=end.peak_memory_bytes,
        operations=float(operations),
    )


def _verification(results: Sequence[re.Match[str]], chosen: _Set) -> str:
    """Return what each benchmark did and found: two correct libraries give the same.

    What is found beside a writer depends on how far it has come.
    """
    found = ("" if chosen.beside_writer else result[5] or "" for result in results)
    return "\n".join(
        f"{result[1]} {result[4]} {words}".rstrip()
        for result, words in zip(results, found, strict=True)
    )


PLUGIN = DbBench()
