"""The runs that are to be joined, and which of their subjects are the same server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbhone.measurement.record import Role, Run, Subject
from dbhone.measurement.sample_array import SampleArray


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinableRun:
    """A run that is to be joined.

    ``compared`` are the measured subjects without controls: the versions of a ``history`` in their
    order, otherwise the base and then the others.
    """

    run: Run
    samples: SampleArray
    compared: Mapping[str, Subject]
    history: bool

    @property
    def title(self) -> str:
        """The run's name in messages."""
        return f"run {self.run.id}"


def joinable(run: Run, samples: SampleArray) -> JoinableRun:
    """Return a run as a part of several that are to be joined."""
    present = samples.measured_subjects()
    known = {subject.name: subject for subject in run.subjects}
    order = run.version_order
    names = order or sorted(
        (subject.name for subject in run.subjects if subject.role is not Role.CONTROL),
        key=lambda name: known[name].role is not Role.BASE,
    )
    compared = {name: known[name] for name in names if name in present}
    return JoinableRun(run=run, samples=samples, compared=compared, history=bool(order))


def differences(one: Subject, other: Subject) -> tuple[str, ...]:
    """Return how two subjects differ as servers, nothing if they are the same server."""
    parts = (
        ("version", (one.dbms, one.version) != (other.dbms, other.version)),
        ("build", one.build_digest != other.build_digest),
        ("settings", one.settings != other.settings),
        ("levers", one.levers != other.levers),
    )
    return tuple(what for what, differs in parts if differs)


def numbered(name: str, part: JoinableRun) -> str:
    """Return the name of a subject whose own name means something else in another run."""
    return f"{name} of {part.title}"


def named_alike(parts: Sequence[JoinableRun]) -> tuple[JoinableRun, ...]:
    """Return the parts, the oldest run first, with a unique name for each server.

    Experiments name their subjects as they like. The same server gets the name that it has in the
    first run. Another server under a name that is taken gets its run's number added.
    """
    named: list[JoinableRun] = []
    for earlier in sorted(parts, key=lambda part: part.run.id):
        named.append(_renamed(earlier, _names(earlier, named)))
    return tuple(named)


def _names(part: JoinableRun, earlier: Sequence[JoinableRun]) -> dict[str, str]:
    known = {
        name: known_subject for before in earlier for name, known_subject in before.compared.items()
    }
    taken = {*known, *(name for before in (*earlier, part) for name in before.run.controls)}
    called: dict[str, str] = {}
    for name, subject in part.compared.items():
        same = (
            other
            for other, known_subject in known.items()
            if not differences(known_subject, subject)
        )
        free = (other for other in same if other not in called.values())
        own = numbered(name, part) if name in taken else name
        called[name] = next(free, own)
    return called


def _renamed(part: JoinableRun, called: Mapping[str, str]) -> JoinableRun:
    def renamed(subject: Subject) -> Subject:
        return replace(subject, name=called.get(subject.name, subject.name))

    warnings = (
        replace(warning, subject=called.get(warning.subject or "", warning.subject))
        for warning in part.run.warnings
    )
    return replace(
        part,
        run=replace(
            part.run,
            subjects=tuple(map(renamed, part.run.subjects)),
            warnings=tuple(warnings),
        ),
        samples=part.samples.rename(called),
        compared={
            called[name]: renamed(compared_subject)
            for name, compared_subject in part.compared.items()
        },
    )
