"""Where an operation's CPU time goes, by sampled stacks, and where two servers differ.

A round's samples say in which proportions its server's CPU time was spent; how much there was is
counted exactly.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dbhone.analysis.explained_rounds import (
    Call,
    CodeOrigin,
    Difference,
    Round,
    Stack,
    certain,
    difference,
    differences,
)

_CALLERS = 2
OTHER = "other functions"
"""The module of functions of the server that have no module."""
CALLERS = ""
"""The module of functions that wait on behalf of those which call them: it is their caller's."""
OTHER_THREADS = "other threads"
WAITING = "waiting"
CLIENT_CPU = "CPU of the client"
_CLONE = re.compile(r"(\.(lto_priv|isra|constprop|part|cold|llvm|localalias|resolver)\.?\d*)+$")
_COPY = re.compile(r"( \[clone [^\]]*\])+$")
_OPENING, _CLOSING = "<([", ">)]"
_UNNAMED = "(anonymous namespace)"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionDifference:
    """How a function differs, with the calls that led to it most often in the server with more."""

    call: Call
    difference: Difference
    callers: tuple[str, ...]


def plain_name(function: str) -> str:
    """Return a function's name without what a compiler appends to copies and parts of it.

    An instance of a template is without the type that it returns, too, which comes first.
    """
    return _without_type(_CLONE.sub("", _COPY.sub("", function)))


def _without_type(name: str) -> str:
    if "<" not in name or "operator" in name:
        return name
    depth = start = 0
    for at, character in enumerate(name):
        if character == "(" and depth == 0 and not name.startswith(_UNNAMED, at):
            break
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == " " and depth == 0:
            start = at + 1
    return name[start:]


def module_of(function: str, modules: Sequence[tuple[str, str]]) -> str:
    """Return the module of the first pattern that a function's name begins with."""
    return next((name for pattern, name in modules if re.match(pattern, function)), OTHER)


def thread_of(stack: Stack, threads: Sequence[tuple[str, str]]) -> str:
    """Return the kind of thread whose pattern an outermost function's name begins with."""
    for call in reversed(stack):
        for pattern, name in threads:
            if call.origin is CodeOrigin.OWN and re.match(pattern, call.function):
                return name
    return OTHER_THREADS


def totals(base: Sequence[Round], subject: Sequence[Round], threads: int) -> list[Difference]:
    """Return an operation's CPU time by origin, as a whole, of the client, and what else it takes.

    What else an operation takes its client is waiting: for disks, locks, or a CPU. Background
    processes work at the same time, so that it is a little too small.
    """

    def of(name: str, take: Callable[[Round], float]) -> Difference:
        return difference(name, [take(one) for one in base], [take(one) for one in subject])

    parts = [
        of(origin.value, lambda one, origin=origin: _only(one, origin))  # type: ignore[misc]
        for origin in CodeOrigin
    ]
    return [
        *parts,
        of("CPU of the server", lambda one: one.cpu / one.operations),
        of(CLIENT_CPU, lambda one: one.client / one.operations),
        of(WAITING, lambda one: one.waiting(threads)),
    ]


def _only(one_round: Round, origin: CodeOrigin) -> float:
    return one_round.per_operation(lambda stack: stack[0].origin.value).get(origin.value, 0.0)


def by_module(base: Sequence[Round], subject: Sequence[Round]) -> list[Difference]:
    """Return the modules that certainly differ, those that differ most first."""
    return _certain(base, subject, lambda stack: stack[0].module)


def by_thread(
    base: Sequence[Round], subject: Sequence[Round], threads: Sequence[tuple[str, str]]
) -> list[Difference]:
    """Return the kinds of threads that certainly differ, those that differ most first."""
    return _certain(base, subject, lambda stack: thread_of(stack, threads))


def by_function(base: Sequence[Round], subject: Sequence[Round]) -> list[FunctionDifference]:
    """Return the functions that certainly differ by what they execute themselves."""
    calls = {_key(stack): stack[0] for one in (*base, *subject) for stack in one.stacks}
    return [
        FunctionDifference(
            call=calls[difference.name],
            difference=difference,
            callers=_callers(subject if difference.more.value > 0 else base, difference.name),
        )
        for difference in _certain(base, subject, _key)
    ]


def _key(stack: Stack) -> str:
    return f"{stack[0].module}\0{stack[0].function}"


def _callers(rounds: Iterable[Round], key: str) -> tuple[str, ...]:
    """Return the commonest names above a function, without the function itself."""
    paths = Counter[tuple[str, ...]]()
    for one in rounds:
        for stack, count in one.stacks.items():
            if _key(stack) == key:
                paths[tuple(call.function for call in stack[1 : 1 + _CALLERS])] += count
    return max(paths, key=lambda path: (paths[path], path)) if paths else ()


def _certain(
    base: Sequence[Round], subject: Sequence[Round], of: Callable[[Stack], str]
) -> list[Difference]:
    return certain(
        differences(
            [one.per_operation(of) for one in base], [one.per_operation(of) for one in subject]
        )
    )


def folded(rounds: Sequence[Round]) -> dict[tuple[str, ...], float]:
    """Return the seconds of CPU of an operation for each stack of names, the outermost first."""
    sums = Counter[tuple[str, ...]]()
    for one in rounds:
        scale = one.cpu_per_sample / len(rounds)
        for stack, count in one.stacks.items():
            sums[tuple(call.function for call in reversed(stack))] += count * scale  # type: ignore[assignment]
    return dict(sums)
