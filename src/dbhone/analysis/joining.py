"""Histories that add up: several runs as one, by the versions that they share.

A version may be joined to an earlier history only by way of an anchor: a version that both runs
measured, the same server with the same settings, on the same machine and at the same work. Then
its ratio to the anchor and the anchor's to the others are known, each within a run.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dbhone.ages import age
from dbhone.analysis.declared import version_order, workload
from dbhone.analysis.history import Lineage
from dbhone.analysis.links import Links
from dbhone.analysis.naming import listed
from dbhone.analysis.parts import Part
from dbhone.analysis.picking import picked, together
from dbhone.errors import UsageError
from dbhone.measurement.record import Role, Run, Samples, Step, Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Several histories as one. ``parts`` are in the order in which they were joined.

    ``run`` has the versions of all, their common steps, and the controls of the run that the
    oldest version is from; ``samples`` are of these. ``lineage`` is of ``everything``, where the
    controls of the other runs are, too, under names of their own.
    """

    run: Run
    samples: Samples
    everything: Samples
    lineage: Lineage
    parts: tuple[Part, ...]


def join(parts: Sequence[Part]) -> Joined:
    """Return histories as one. Raises UsageError for runs that do not add up, and says why."""
    chained = _chained(parts)
    for each in chained[1:]:
        _check_alike(chained[0], each)
    steps = _common_steps(chained)
    order = _order(chained)
    # The control that is shown is that of the oldest version's own run.
    home = next(each for each in chained if order[0] in each.versions)
    names = [_names(each, home) for each in chained]
    everything = together(
        [
            picked(each.samples, called, [step.name for step in steps])
            for each, called in zip(chained, names, strict=True)
        ]
    )
    shown = (*order, *home.controls)
    controls = {
        called[name]: next(iter(version_order(each.run)))
        for each, called in zip(chained, names, strict=True)
        for name in each.controls
    }
    return Joined(
        run=_joined_run(chained, home, order, steps),
        samples=picked(everything, dict(zip(shown, shown, strict=True)), everything.steps),
        everything=everything,
        lineage=Lineage(versions=order, controls=controls, links=_links(chained, home)),
        parts=chained,
    )


def _joined_run(
    parts: Sequence[Part], home: Part, order: Sequence[str], steps: tuple[Step, ...]
) -> Run:
    versions = {name: each for part in reversed(parts) for name, each in part.versions.items()}
    return replace(
        max((each.run for each in parts), key=lambda run: run.id),
        title=home.run.title,
        seconds=sum(each.run.seconds for each in parts),
        subjects=(
            *(
                replace(versions[name], role=Role.CANDIDATE if at else Role.BASE)
                for at, name in enumerate(order)
            ),
            *(each for each in home.run.subjects if each.role is Role.CONTROL),
        ),
        steps=steps,
        warnings=(),
    )


def _chained(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Order the parts so that each shares a version with those before it."""
    ids = [each.run.id for each in parts]
    for each in parts:
        if ids.count(each.run.id) > 1:
            raise UsageError(f"{each.title} is named twice")
        if len(each.versions) < 2:
            raise UsageError(
                f"{each.title} is no history of two measured versions, and only histories add up",
                hint="an experiment is a history by its [history] order",
            )
    first, *waiting = sorted(parts, key=lambda each: each.run.id)
    chained = [first]
    while waiting:
        found = next((each for each in waiting if _anchors(chained, each)), None)
        if found is None:
            raise UsageError(
                f"{waiting[0].title} shares no version with {_titles(chained)}, and what was never"
                " measured side by side cannot be compared",
                hint="measure one of its versions beside the others:"
                f" 'hone history DBMS --join {first.run.id} --versions …'",
            )
        chained.append(found)
        waiting.remove(found)
    return tuple(chained)


def _anchors(chained: Iterable[Part], part: Part) -> list[str]:
    """Return the versions that a part shares with earlier ones, those of the earliest first."""
    mine = part.versions
    shared: dict[str, None] = {}
    for earlier in chained:
        for name, subject in earlier.versions.items():
            if name in mine:
                _check_same(earlier, part, subject, mine[name])
                shared[name] = None
    return list(shared)


def _check_same(earlier: Part, part: Part, one: Subject, other: Subject) -> None:
    differing = [
        words
        for words, differs in (
            ("version", one.version != other.version),
            ("build", one.build_digest != other.build_digest),
            ("settings", one.settings != other.settings),
            ("levers", one.levers != other.levers),
        )
        if differs
    ]
    if differing:
        raise UsageError(
            f"{one.name} is not the same in {earlier.title} and {part.title}:"
            f" {' and '.join(differing)} differ",
            hint=f"'hone report {earlier.run.id}' and 'hone report {part.run.id}' tell what they"
            " are; a version that joins two runs has to be the same in both",
        )


def _check_alike(first: Part, part: Part) -> None:
    """Refuse runs that did not do the same work, or not on the same machine."""
    one, other = first.run, part.run
    if one.machine.fingerprint != other.machine.fingerprint:
        raise UsageError(f"{part.title} was measured on another machine than {first.title}")
    if (one.suite, one.size) != (other.suite, other.size):
        raise UsageError(
            f"{part.title} ran {other.suite} ({other.size}), {first.title} {one.suite} ({one.size})"
        )
    mine, others = workload(one), workload(other)
    differing = [
        key
        for key in sorted({*mine, *others} - {"sets", "suite", "size"})
        if mine.get(key) != others.get(key)
    ]
    if differing:
        raise UsageError(
            f"{part.title} did other work than {first.title}: their [workload] differ in"
            f" {listed(differing)}"
        )


def _common_steps(parts: Sequence[Part]) -> tuple[Step, ...]:
    first, *others = (each.run.steps for each in parts)
    common = tuple(step for step in first if all(step in other for other in others))
    if not common:
        raise UsageError(f"{_titles(parts)} have no step in common")
    return common


def _order(parts: Sequence[Part]) -> tuple[str, ...]:
    """Merge the orders of all parts; where they leave it open, the older version goes first."""
    after: dict[str, set[str]] = {name: set() for part in parts for name in part.versions}
    for part in parts:
        for earlier, later in itertools.pairwise(part.versions):
            after[later].add(earlier)
    order: list[str] = []
    ready = [(age(name), name) for name, before in after.items() if not before]
    heapq.heapify(ready)
    while ready:
        _, name = heapq.heappop(ready)
        order.append(name)
        for later, before in after.items():
            if name in before:
                before.remove(name)
                if not before:
                    heapq.heappush(ready, (age(later), later))
    if len(order) < len(after):
        raise UsageError(f"{_titles(parts)} have their versions in orders that contradict")
    return tuple(order)


def _links(parts: Sequence[Part], home: Part) -> Links:
    """Tell which runs measured what, and by what each version is compared with earlier runs'."""
    runs = dict.fromkeys(home.controls, frozenset((parts.index(home),)))
    anchors: dict[str, str] = {}
    for at, part in enumerate(parts):
        shared = _anchors(parts[:at], part)
        for name in part.versions:
            if at and name not in runs:
                anchors[name] = shared[0]
            runs[name] = runs.get(name, frozenset()) | {at}
    return Links(runs=runs, anchors=anchors)


def _names(part: Part, home: Part) -> dict[str, str]:
    """Return what a part's subjects are called in the whole: a control is its run's own."""
    again = {name: name if part is home else f"{name} of {part.title}" for name in part.controls}
    return {name: name for name in part.versions} | again


def _titles(parts: Iterable[Part]) -> str:
    return " and ".join(each.title for each in parts)
