"""Runs that add up: several as one, by the subjects that they share.

A subject joins an earlier run only by way of an anchor: a subject that both runs measured, the same
server with the same settings, on the same machine and at the same work. Then each ratio to the
anchor is known within a run.

In histories, subjects are the same if their names are, since these are versions. It is an error if
a version is not the same server in two runs. In other runs, subjects are the same if they have the
same properties.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dbhone.analysis.history import Lineage
from dbhone.analysis.indirect import Links
from dbhone.analysis.joinable_run import JoinableRun, differences, named_alike, numbered
from dbhone.errors import UsageError
from dbhone.measurement.record import Role, Run, Step, Subject
from dbhone.measurement.sample_array import SampleArray
from dbhone.measurement.sample_array import join as join_samples
from dbhone.units import listed
from dbhone.versions import age


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Several runs as one. ``parts`` are in the order in which they were joined.

    ``run`` has the subjects of all runs, their common steps, and the controls of the base's run.
    The base is the oldest version, or that of the first run where not all runs are histories.
    Another run's controls count as these if they repeat the same base. ``unlike_sets`` are measured
    by fresh clients in some runs only, and no steps of the whole. ``samples`` belong to
    ``run``. ``lineage`` belongs to ``everything``, which has all other controls too, under names of
    their own; it has no versions where there is no history.
    """

    run: Run
    samples: SampleArray
    everything: SampleArray
    lineage: Lineage
    unlike_sets: tuple[str, ...]
    parts: tuple[JoinableRun, ...]


def join(parts: Sequence[JoinableRun]) -> Joined:
    """Return runs as one. Raises UsageError for runs that do not add up, and says why."""
    history = all(part.history for part in parts)
    _check_each(parts, history=history)
    chained = _chained(parts if history else named_alike(parts), history=history)
    for later in chained[1:]:
        _check_alike(chained[0], later)
    unlike = _unlike_sets(chained)
    steps = _common_steps(chained, unlike)
    order = _version_order(chained) if history else _subject_order(chained)
    # The controls that are shown are those of the base's own run, and others that are the same.
    home = next(part for part in chained if order[0] in part.compared)
    names = [_names(part, home) for part in chained]
    everything = join_samples(
        [
            chained_part.samples.pick(called, [step.name for step in steps])
            for chained_part, called in zip(chained, names, strict=True)
        ]
    )
    subjects_shown = (*order, *home.run.controls)
    controls = {
        called[name]: chained_part.run.version_order[0]
        for chained_part, called in zip(chained, names, strict=True)
        if history
        for name in chained_part.run.controls
    }
    return Joined(
        run=_joined_run(chained, home, order, steps),
        samples=everything.pick(
            dict(zip(subjects_shown, subjects_shown, strict=True)), everything.steps
        ),
        everything=everything,
        lineage=Lineage(
            versions=order if history else (), controls=controls, links=_links(chained, names, home)
        ),
        unlike_sets=tuple(sorted(unlike)),
        parts=chained,
    )


def _joined_run(
    parts: Sequence[JoinableRun], home: JoinableRun, order: Sequence[str], steps: tuple[Step, ...]
) -> Run:
    subjects: dict[str, Subject] = {}
    for part in parts:
        for name, compared in part.compared.items():
            known = subjects.setdefault(name, compared)
            subjects[name] = replace(known, broken=known.broken or compared.broken)
    return replace(
        max((part.run for part in parts), key=lambda run: run.id),
        title=home.run.title,
        seconds=sum(part.run.seconds for part in parts),
        subjects=(
            *(
                replace(subjects[name], role=Role.CANDIDATE if at else Role.BASE)
                for at, name in enumerate(order)
            ),
            *home.run.of_role(Role.CONTROL),
        ),
        steps=steps,
        warnings=tuple(dict.fromkeys(each for part in parts for each in part.run.warnings)),
    )


def _check_each(parts: Sequence[JoinableRun], *, history: bool) -> None:
    ids = [part.run.id for part in parts]
    for part in parts:
        if ids.count(part.run.id) > 1:
            raise UsageError(f"{part.title} is named twice")
        if history and len(part.compared) < 2:
            raise UsageError(
                f"{part.title} measured fewer than two versions, so it is not a history yet",
                hint=f"'hone resume {part.run.id}' continues it if it is not complete",
            )
        if not part.compared:
            raise UsageError(
                f"{part.title} has measured nothing that could be compared",
                hint=f"'hone show {part.run.id}' shows how far it got",
            )


def _chained(parts: Sequence[JoinableRun], *, history: bool) -> tuple[JoinableRun, ...]:
    """Order the parts so that each shares a subject with those before it."""
    first, *waiting = sorted(parts, key=lambda part: part.run.id)
    chained = [first]
    while waiting:
        neighbour = next((part for part in waiting if _anchors(chained, part)), None)
        if neighbour is None:
            raise _nothing_shared(chained, waiting[0], history=history)
        chained.append(neighbour)
        waiting.remove(neighbour)
    return tuple(chained)


def _nothing_shared(
    chained: Sequence[JoinableRun], part: JoinableRun, *, history: bool
) -> UsageError:
    what = "version" if history else "subject"
    how = "the same build, settings and levers"
    if history:
        how = f"'hone history DBMS --join {chained[0].run.id} --versions …'"
    return UsageError(
        f"{part.title} shares no {what} with {_titles(chained)}, and what was never"
        f" measured side by side cannot be compared{_namesakes(chained, part)}",
        hint=f"measure one of its {what}s beside the others: {how}",
    )


def _namesakes(chained: Sequence[JoinableRun], part: JoinableRun) -> str:
    """Name a subject that another run has by name only, and how the two differ."""
    for earlier in chained:
        for name, subject in earlier.compared.items():
            other = part.compared.get(numbered(name, part))
            if other is not None:
                differing = listed(differences(subject, other))
                return (
                    f" ({name} of {earlier.title} is a different one: they differ in {differing})"
                )
    return ""


def _anchors(chained: Iterable[JoinableRun], part: JoinableRun) -> list[str]:
    """Return the subjects that a part shares with earlier ones, those of the earliest first."""
    compared = part.compared
    shared: dict[str, None] = {}
    for earlier in chained:
        for name, subject in earlier.compared.items():
            if name in compared:
                _check_same(earlier, part, subject, compared[name])
                shared[name] = None
    return list(shared)


def _check_same(earlier: JoinableRun, part: JoinableRun, one: Subject, other: Subject) -> None:
    differing = differences(one, other)
    if differing:
        raise UsageError(
            f"{one.name} is not the same in {earlier.title} and {part.title}:"
            f" {' and '.join(differing)} differ",
            hint=f"'hone report {earlier.run.id}' and 'hone report {part.run.id}' show what they"
            " are; a version that joins two runs has to be the same in both",
        )


def _check_alike(first: JoinableRun, part: JoinableRun) -> None:
    """Refuse runs that did not do the same work, on the same machine, measured in the same way."""
    first_run, other = first.run, part.run
    if first_run.machine.fingerprint != other.machine.fingerprint:
        raise UsageError(f"{part.title} was measured on a different machine from {first.title}")
    if (first_run.suite, first_run.size) != (other.suite, other.size):
        raise UsageError(
            f"{part.title} ran {other.suite} ({other.size}), {first.title}"
            f" {first_run.suite} ({first_run.size})"
        )
    ways = (
        ("CPUs were kept awake", first_run.cpus_awake, other.cpus_awake),
        ("sets were measured in short slices", first_run.in_short_slices, other.in_short_slices),
        ("one server was up at a time", first_run.one_server, other.one_server),
        ("clients had cores of their own", first_run.cpus_apart, other.cpus_apart),
    )
    for way, own, others in ways:
        if own != others:
            raise UsageError(
                f"{way} in only one of {first.title} and {part.title}, which changes how servers"
                " compare"
            )
    if _layouts(first_run) != _layouts(other):
        raise UsageError(
            f"{first.title} and {part.title} did not take the same layouts in the same order, so"
            " the effect of layouts cannot be told from that of builds",
            hint="join runs of the same 'layouts' and 'seed'",
        )
    workload, other_workload = first_run.declared.workload, other.declared.workload
    differing = [
        key
        for key in sorted({*workload, *other_workload} - {"sets", "suite", "size"})
        if workload.get(key) != other_workload.get(key)
    ]
    if differing:
        raise UsageError(
            f"{part.title} did different work from {first.title}: their [workload] differ in"
            f" {listed(differing)}"
        )


def _layouts(run: Run) -> tuple[int, int]:
    """Return what decides which layouts a run's blocks have."""
    return (run.layouts, run.design.seed) if run.layouts else (0, 0)


def _unlike_sets(parts: Sequence[JoinableRun]) -> frozenset[str]:
    """Return the sets that all runs have and only some of them measured by fresh clients."""
    sets = [{step.set for step in part.run.steps} for part in parts]
    slow = [part.run.slow_sets for part in parts]
    return frozenset.union(*slow).intersection(*sets) - frozenset.intersection(*slow)


def _common_steps(parts: Sequence[JoinableRun], unlike: Collection[str]) -> tuple[Step, ...]:
    """Return the steps that all runs have and measured alike.

    A step that one run trained on is in-sample.
    """
    trained = {step.name for part in parts for step in part.run.steps if step.in_sample}
    first, *others = (
        [replace(step, in_sample=step.name in trained) for step in part.run.steps] for part in parts
    )
    common = tuple(step for step in first if all(step in other for other in others))
    if not common:
        raise UsageError(f"{_titles(parts)} have no step in common")
    alike = tuple(step for step in common if step.set not in unlike)
    if not alike:
        raise UsageError(
            f"{listed(sorted(unlike))} had fresh clients in only some of {_titles(parts)}, which"
            " changes how servers compare, and they have no other step in common"
        )
    return alike


def _subject_order(parts: Sequence[JoinableRun]) -> tuple[str, ...]:
    """Return the first run's base, its other subjects, and what further runs add."""
    return tuple(dict.fromkeys(name for part in parts for name in part.compared))


def _version_order(parts: Sequence[JoinableRun]) -> tuple[str, ...]:
    """Merge the orders of all parts; where they leave it open, the older version goes first."""
    after: dict[str, set[str]] = {name: set() for part in parts for name in part.compared}
    for part in parts:
        for earlier, later in itertools.pairwise(part.compared):
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
        raise UsageError(f"{_titles(parts)} list their versions in contradictory orders")
    return tuple(order)


def _links(
    parts: Sequence[JoinableRun], names: Sequence[Mapping[str, str]], home: JoinableRun
) -> Links:
    """Return which runs measured what, and by which anchor each subject is compared.

    ``names`` has, for each part, the names of its subjects in the whole.
    """
    runs = {
        name: frozenset(at for at, called in enumerate(names) if name in called.values())
        for name in home.run.controls
    }
    anchors: dict[str, str] = {}
    for at, part in enumerate(parts):
        shared = _anchors(parts[:at], part)
        for name in part.compared:
            if at and name not in runs:
                anchors[name] = shared[0]
            runs[name] = runs.get(name, frozenset()) | {at}
    return Links(runs=runs, anchors=anchors)


def _names(part: JoinableRun, home: JoinableRun) -> dict[str, str]:
    """Return the names of a part's subjects in the whole.

    A control of the same base is the whole's control; any other belongs to its run.
    """
    again: dict[str, str] = {}
    for control in part.run.of_role(Role.CONTROL):
        same = (
            subject.name
            for subject in home.run.of_role(Role.CONTROL)
            if not differences(subject, control) and subject.name not in again.values()
        )
        again[control.name] = next(same, numbered(control.name, part))
    return {name: name for name in part.compared} | again


def _titles(parts: Iterable[JoinableRun]) -> str:
    return " and ".join(part.title for part in parts)
