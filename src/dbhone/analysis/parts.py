"""The runs that are to be joined, and which subjects of theirs were measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dbhone.analysis.declared import version_order
from dbhone.measurement.record import Role, Run, Samples, Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A history that is to be joined: ``versions`` are those that were measured, in order."""

    run: Run
    samples: Samples
    versions: Mapping[str, Subject]

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"run {self.run.id}"

    @property
    def controls(self) -> list[str]:
        """The names of its controls."""
        return [each.name for each in self.run.subjects if each.role is Role.CONTROL]


def part(run: Run, samples: Samples) -> Part:
    """Return a run as a part of a joined history."""
    present = {samples.subjects[each] for each in np.unique(samples.subject)}
    known = {each.name: each for each in run.subjects}
    versions = {name: known[name] for name in version_order(run) if name in present}
    return Part(run=run, samples=samples, versions=versions)
