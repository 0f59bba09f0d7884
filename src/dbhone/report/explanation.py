"""Says where the time of a step goes: tables and sentences of two servers' sampled stacks."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dbhone.analysis.ceiling import ceiling_ratio
from dbhone.analysis.explained_rounds import (
    CodeOrigin,
    Difference,
    Mean,
    Round,
    Work,
    certain,
)
from dbhone.analysis.stacks import (
    CLIENT_CPU,
    WAITING,
    FunctionDifference,
    by_function,
    by_module,
    by_thread,
    folded,
    totals,
)
from dbhone.analysis.waits import WaitDifferences, wait_differences
from dbhone.report.context import heading
from dbhone.report.table import Cell, Column, Row, Table, columns
from dbhone.report.wording import capital, number

_MOST = 15
_MICRO = 1e6
_UNITS = {Work.OPERATION: ("µs", _MICRO), Work.RUN: ("ms", 1e3)}
_SPEEDSCOPE = "https://www.speedscope.app/file-format-schema.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeUnit:
    """The unit of times of ``work``: µs for an operation, ms for a batch's run."""

    work: Work

    @property
    def of(self) -> str:
        """What takes the time: ``an operation``."""
        return self.work.value

    @property
    def symbol(self) -> str:
        """How the unit is written: ``µs``."""
        return _UNITS[self.work][0]

    def time(self, seconds: float) -> str:
        """Return a time in this unit."""
        return number(seconds * _UNITS[self.work][1])

    def amount(self, seconds: float) -> str:
        """Return a time with its unit."""
        return f"{self.time(seconds)} {self.symbol}"

    def cell(self, mean: Mean) -> Cell:
        """Return a mean with half of its interval."""
        return Cell(text=self.time(mean.value), margin=f"±{self.time(mean.half)}")

    def cells(self, difference: Difference) -> tuple[Cell, ...]:
        """Return what both servers take, and how much more the subject."""
        more = self.cell(difference.more)
        sign = "+" if difference.more.value > 0 else ""
        means = (self.cell(difference.base), self.cell(difference.subject))
        return (*means, Cell(text=f"{sign}{more.text}", margin=more.margin))

    def columns(self, first: str, names: tuple[str, str]) -> tuple[Column, ...]:
        """Return the columns of a table whose rows begin with what ``first`` says."""
        return columns(first, (f"{name}, {self.symbol}" for name in (*names, "Difference")))

    def table(
        self,
        title: str,
        names: tuple[str, str],
        differences: Sequence[Difference],
        *,
        caption: str = "In {unit}, with intervals over rounds.",
        spelled: Callable[[str], str] = capital,
    ) -> Table:
        """Return a table; in its caption ``{unit}`` and ``{of}`` stand for themselves."""
        return Table(
            title=title,
            caption=caption.format(unit=self.symbol, of=self.of),
            columns=self.columns("", names),
            rows=tuple(
                Row(cells=(Cell(text=spelled(it.name)), *self.cells(it))) for it in differences
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What is said of an operation, or a run of a batch: sentences first, then tables."""

    work: Work
    sentences: tuple[str, ...]
    tables: tuple[Table, ...]


def explanation(
    step: str,
    names: tuple[str, str],
    rounds: tuple[Sequence[Round], Sequence[Round]],
    *,
    work: Work,
    kinds: Sequence[tuple[str, str]],
    threads: int,
    cores: int,
    settings: Mapping[str, str],
) -> Explanation:
    """Return what shows where two servers spend their time in an operation of a step.

    ``work`` is what they spend it on; of a batch it is a run. ``kinds`` are the kinds of the
    servers' threads, as the DBMS names them; ``threads`` is the number of clients, ``settings`` are
    those that servers had only to count waits.
    """
    base, subject = rounds
    unit = TimeUnit(work=work)
    whole = totals(base, subject, threads)
    modules, functions = by_module(base, subject), by_function(base, subject)
    function_table = Table(
        title="Functions that differ most",
        caption="What each executes itself, of those whose 99 % interval misses 0. Of the kernel's"
        " functions the system call stands for all.",
        columns=(*unit.columns("Function", names), Column(title="Called by", numeric=False)),
        rows=tuple(_function_rows(functions[:_MOST], unit)),
    )
    tables = [unit.table(f"CPU time of {unit.of}, by whose code is executed", names, whole)]
    by_kind = by_thread(base, subject, kinds) if kinds else []
    if by_kind:
        tables.append(unit.table("Threads that differ", names, by_kind))
    if modules:
        tables.append(unit.table("Modules that differ", names, modules[:_MOST]))
    if functions:
        tables.append(function_table)
    waits = wait_differences(base, subject, threads)
    if waits is not None:
        tables.extend(_wait_tables(waits, names, unit))
    ceilings = [_ceiling(whole, which, threads, cores, rounds[which]) for which in (0, 1)]
    sentences = [
        _sentence(it, functions, names[1], unit) for it in _largest(whole, by_kind, modules, waits)
    ]
    if all(map(math.isfinite, ceilings)):
        sentences.append(
            f"If its own code and libraries took no time, {step} would be at most {ceilings[0]:.2f}"
            f" times as fast with {names[0]}, {ceilings[1]:.2f} times with {names[1]}."
        )
    if settings:
        words = ", ".join(f"{name} = {value}" for name, value in settings.items())
        sentences.append(f"To count waits, servers ran with {words}, which slows them down.")
    return Explanation(work=work, sentences=tuple(sentences), tables=tuple(tables))


def _function_rows(functions: Sequence[FunctionDifference], unit: TimeUnit) -> Iterator[Row]:
    """Yield the functions below their modules, that with the largest difference first."""
    for module in dict.fromkeys(it.call.module for it in functions):
        yield heading(module, 5)
        for it in functions:
            if it.call.module == module:
                name = Cell(text=it.call.function or "(no name)")
                callers = Cell(text=" < ".join(caller or "?" for caller in it.callers))
                yield Row(cells=(name, *unit.cells(it.difference), callers))


def _wait_tables(waits: WaitDifferences, names: tuple[str, str], unit: TimeUnit) -> Iterator[Table]:
    yield unit.table(
        f"What {unit.of} waits for",
        names,
        [*waits.events, waits.others, waits.rest],
        caption="The DBMS's own wait events, in {unit}, with 99 % intervals over rounds. Together"
        " they are the waiting above.",
        spelled=str,
    )
    if waits.background:
        yield unit.table(
            "Waits of background threads that differ",
            names,
            waits.background,
            caption="In {unit} for {of}, but beside it, with 99 % intervals over rounds.",
            spelled=str,
        )


def _largest(
    whole: Sequence[Difference],
    by_kind: Sequence[Difference],
    modules: Sequence[Difference],
    waits: WaitDifferences | None,
) -> list[Difference]:
    """Return what is worth a sentence: waiting and for what, and where most CPU time differs."""
    waiting = [it for it in whole if it.name == WAITING and it.more.is_certain]
    found = (*waiting, *by_kind[:1], *modules[:3], *(_worded(waits) if waits else ()))
    return sorted(found, key=lambda it: -abs(it.more.value))


def _worded(waits: WaitDifferences) -> Iterator[Difference]:
    """Yield where an operation's waiting differs most, and that of background threads."""
    events = [dataclasses.replace(it, name=f"for {it.name}") for it in waits.differing]
    for it in certain([*events, waits.rest])[:3]:
        yield dataclasses.replace(it, name=f"waits {it.name}")
    for it in waits.background[:1]:
        yield dataclasses.replace(it, name=f"background threads wait for {it.name}")


def _sentence(
    difference: Difference, functions: Sequence[FunctionDifference], subject: str, unit: TimeUnit
) -> str:
    """Say how a module differs, and which of its functions differs most, called by whom.

    What a wrapper in libc calls has the wrapper's name, and is called by the wrapper's caller.
    """
    more = difference.more
    word = "more" if more.value > 0 else "less"
    alike = (it for it in functions if it.difference.more.value * more.value > 0)
    own = next((it for it in alike if it.call.module == difference.name), None)
    within = ""
    if own is not None and own.call.function:
        within = f", most in {own.call.function}"
        called = next((caller for caller in own.callers if caller != own.call.function), "")
        within += f", called by {called}" if called else ""
    return (
        f"{capital(difference.name)}: {unit.amount(abs(more.value))} {word} for {unit.of} of"
        f" {subject}{within}."
    )


def _ceiling(
    whole: Sequence[Difference], which: int, threads: int, cores: int, rounds: Sequence[Round]
) -> float:
    times = {it.name: (it.base, it.subject)[which].value for it in whole}
    return ceiling_ratio(
        throughput=sum(it.operations for it in rounds) / sum(it.seconds for it in rounds),
        user=times[CodeOrigin.OWN.value] + times[CodeOrigin.LIBRARY.value],
        system=times[CodeOrigin.KERNEL.value],
        client=times[CLIENT_CPU],
        threads=threads,
        cores=cores,
    )


def speedscope(
    names: tuple[str, str],
    rounds: tuple[Sequence[Round], Sequence[Round]],
    work: Work,
) -> str:
    """Return both servers' stacks in speedscope's format; weights are µs of CPU an operation."""
    frames: dict[str, int] = {}
    profiles = []
    for name, own in zip(names, rounds, strict=True):
        stacks = folded(own)
        samples = [
            [frames.setdefault(function or "?", len(frames)) for function in stack]
            for stack in stacks
        ]
        weights = [round(seconds * _MICRO, 4) for seconds in stacks.values()]
        profiles.append(
            {
                "type": "sampled",
                "name": f"{name}, CPU of {work.value}",
                "unit": "microseconds",
                "startValue": 0,
                "endValue": round(sum(weights), 4),
                "samples": samples,
                "weights": weights,
            }
        )
    shared = {"frames": [{"name": name} for name in frames]}
    return json.dumps({"$schema": _SPEEDSCOPE, "shared": shared, "profiles": profiles})


def difference_folded(rounds: tuple[Sequence[Round], Sequence[Round]]) -> str:
    """Return the stacks with both servers' ns an operation, as flamegraph.pl tells differences."""
    base, subject = (folded(own) for own in rounds)
    lines = (
        f"{';'.join(name or '?' for name in stack)}"
        f" {round(base.get(stack, 0.0) * 1e9)} {round(subject.get(stack, 0.0) * 1e9)}\n"
        for stack in sorted({*base, *subject})
    )
    return "".join(lines)
