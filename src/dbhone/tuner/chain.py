"""A search's chain of runs, as the store keeps them: their names, and what they show together.

Nothing else is kept of a search.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from dbhone.analysis.selection import Standing, block_scores, pooled, standings
from dbhone.experiment.declaration.subjects import CONTROL
from dbhone.measurement.record import Code, Run, RunState
from dbhone.measurement.sample_array import Array, SampleArray
from dbhone.measurement.store import RunSummary, Store
from dbhone.tuner.space import BASE, Candidate, candidate_of

_RUN = re.compile(r"(?P<search>tune-[^-]+)-(?P<purpose>[a-z]+)-(?P<number>\d+)")
_UNKNOWN_BLOCK = 30.0


class Purpose(StrEnum):
    """What a run of a search is for."""

    CHOOSE = "choose"
    CONFIRM = "confirm"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunName:
    """The name of one run: which ``search`` it is of, what it is for, and which of these it is."""

    search: str
    purpose: Purpose
    number: int

    def __str__(self) -> str:
        """Return it as a run keeps it: ``tune-0123456789-choose-1``."""
        return f"{self.search}-{self.purpose.value}-{self.number}"


def search_name(digest: str) -> str:
    """Return the name of the search with this digest of what is searched for."""
    return f"tune-{digest}"


def read_run_name(text: str) -> RunName | None:
    """Return the name of a search's run, None for that of any other run."""
    match = _RUN.fullmatch(text)
    if match is None or match["purpose"] not in set(Purpose):
        return None
    return RunName(
        search=match["search"], purpose=Purpose(match["purpose"]), number=int(match["number"])
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRun:
    """A run of the search that has ended, with its samples."""

    run: Run
    samples: SampleArray

    @property
    def purpose(self) -> Purpose:
        """What it was for."""
        name = read_run_name(self.run.experiment_name)
        assert name is not None, "it is a run of a search"
        return name.purpose

    @property
    def block_seconds(self) -> float:
        """About how long one subject takes for a block."""
        seconds = self.samples.block_seconds or _UNKNOWN_BLOCK
        return seconds / max(len(self.samples.subjects), 1)

    @property
    def confirmed(self) -> str:
        """The candidate that a confirming run measured."""
        return next(name for name in self.run.declared.subjects if name not in {BASE, CONTROL})


@dataclass(frozen=True)
class Chain:
    """The runs of a search that have ended, in their order."""

    runs: tuple[EndedRun, ...] = ()

    @classmethod
    def of_runs(cls, runs: Sequence[Run], store: Store) -> Chain:
        """Return runs with their samples."""
        return cls(tuple(EndedRun(run=run, samples=store.samples(run.id)) for run in runs))

    @property
    def seconds(self) -> float:
        """How long all of them took."""
        return sum(ended.run.seconds for ended in self.runs)

    @cached_property
    def choosing(self) -> tuple[EndedRun, ...]:
        """The runs among whose candidates it was chosen: the rungs."""
        return tuple(ended for ended in self.runs if ended.purpose is Purpose.CHOOSE)

    @cached_property
    def confirming(self) -> tuple[EndedRun, ...]:
        """The runs that measured a candidate afresh."""
        return tuple(ended for ended in self.runs if ended.purpose is Purpose.CONFIRM)

    @cached_property
    def candidates(self) -> dict[str, Candidate]:
        """The candidates of the rungs by name, in the order of promise."""
        sections = [tomllib.loads(ended.run.experiment)["subjects"] for ended in self.choosing]
        return {
            name: candidate_of(name, section)
            for subjects in sections
            for name, section in subjects.items()
            if name != BASE
        }

    @cached_property
    def scores(self) -> dict[str, Array]:
        """The candidates' log ratios to the base in all blocks of the rungs, by name."""
        parts = [block_scores(ended.samples, BASE, ended.run.steps) for ended in self.choosing]
        return pooled(parts, [len(ended.samples.blocks) for ended in self.choosing])

    @cached_property
    def ranking(self) -> tuple[Standing, ...]:
        """The standings of the candidates that did not break, the best first.

        Who came further in the search goes before who was dropped earlier.
        """
        broken = {name for ended in self.choosing for name in ended.run.broken_subjects}
        ranked = standings({name: self.scores[name] for name in self.scores if name not in broken})
        reached = {
            name: number
            for number, ended in enumerate(self.choosing)
            for name in ended.samples.subjects
        }
        return tuple(sorted(ranked, key=lambda standing: -reached[standing.name]))


def has_ended(run: Run) -> bool:
    """Return whether nothing more can come of a run of a search.

    One has failed for good if its candidates broke, or some broke and the rest were left out: it
    found that they are not to be used. Where all were left out, the machine may be mended.
    """
    if run.state is RunState.DONE:
        return True
    candidates = set(run.declared.subjects) - {BASE, CONTROL}
    broken = set(run.broken_subjects)
    left_out = {warning.subject for warning in run.warnings if warning.code == Code.LEFT_OUT}
    return (
        run.state is RunState.FAILED
        and not broken.isdisjoint(candidates)
        and candidates <= broken | left_out
    )


def search_of_run(experiment_name: str) -> str | None:
    """Return the name of the search that a run is of, None if it is of none."""
    name = read_run_name(experiment_name)
    return None if name is None else name.search


def runs_named(search: str, store: Store) -> list[Run]:
    """Return the runs of the search of that name so far, in their order."""
    return [
        store.run(summary.id)
        for summary in store.runs()
        if search_of_run(summary.experiment_name) == search
    ]


def runs_up_to(run: Run, store: Store) -> list[Run]:
    """Return the runs of a search up to one that measured a candidate afresh, it included.

    There are none if it is any other run.
    """
    name = read_run_name(run.experiment_name)
    if name is None or name.purpose is not Purpose.CONFIRM:
        return []
    return [own for own in runs_named(name.search, store) if own.id <= run.id]


def runs_of_open_searches(runs: Collection[RunSummary]) -> frozenset[int]:
    """Return the runs of searches that found no candidate to use, by number.

    The command of such a search goes on from its runs, or says that a larger loss may be allowed.
    """
    names = {run.id: read_run_name(run.experiment_name) for run in runs}
    closed = {
        name.search
        for run in runs
        if (name := names[run.id]) is not None
        and name.purpose is Purpose.CONFIRM
        and run.state is RunState.DONE
        and not run.rejected
    }
    return frozenset(
        number for number, name in names.items() if name is not None and name.search not in closed
    )
