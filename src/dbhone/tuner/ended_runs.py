"""The runs of a search that have ended, as the store keeps them."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from dbhone.experiment.subjects import CONTROL
from dbhone.measurement.record import Code, Run, RunState
from dbhone.measurement.sample_array import SampleArray
from dbhone.measurement.store import RunSummary, Store
from dbhone.tuner.request import Request
from dbhone.tuner.run_name import StageKind, read_run_name
from dbhone.tuner.space import BASE, Candidate, candidate_of

_UNKNOWN_BLOCK = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRun:
    """A run of the search that has ended, with its samples."""

    run: Run
    samples: SampleArray

    @property
    def kind(self) -> StageKind:
        """What it was for."""
        name = read_run_name(self.run.experiment_name)
        assert name is not None, "it is a run of a search"
        return name.kind

    @property
    def block_seconds(self) -> float:
        """About how long one subject takes for a block."""
        seconds = self.samples.block_seconds or _UNKNOWN_BLOCK
        return seconds / max(len(self.samples.subjects), 1)

    @property
    def confirmed(self) -> str:
        """The candidate that a confirming run measured."""
        return next(name for name in self.run.declared.subjects if name not in {BASE, CONTROL})


def of_kind(finished: Sequence[EndedRun], kind: StageKind) -> list[EndedRun]:
    """Return the runs that were for this."""
    return [ended for ended in finished if ended.kind is kind]


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


def tried(choosing: Sequence[EndedRun]) -> dict[str, Candidate]:
    """Return the candidates of choosing runs by name, in the order of promise."""
    sections = [tomllib.loads(ended.run.experiment)["subjects"] for ended in choosing]
    return {
        name: candidate_of(name, section)
        for subjects in sections
        for name, section in subjects.items()
        if name != BASE
    }


def runs_up_to(run: Run, store: Store) -> list[Run]:
    """Return the runs of a search up to one that measured a candidate afresh, it included.

    There are none if it is any other run.
    """
    name = read_run_name(run.experiment_name)
    if name is None or name.kind is not StageKind.CONFIRM:
        return []
    return [own for own in runs_named(name.search, store) if own.id <= run.id]


def runs_named(search: str, store: Store) -> list[Run]:
    """Return the runs of the search of that name so far, in their order."""
    return [
        store.run(summary.id)
        for summary in store.runs()
        if _search_of(summary.experiment_name) == search
    ]


def runs_of_open_searches(runs: Collection[RunSummary]) -> frozenset[int]:
    """Return the runs of searches that found no candidate to use, by number.

    The command of such a search goes on from its runs, or says that a larger loss may be allowed.
    """
    names = {run.id: read_run_name(run.experiment_name) for run in runs}
    closed = {
        name.search
        for run in runs
        if (name := names[run.id]) is not None
        and name.kind is StageKind.CONFIRM
        and run.state is RunState.DONE
        and not run.rejected
    }
    return frozenset(
        number for number, name in names.items() if name is not None and name.search not in closed
    )


def _search_of(experiment_name: str) -> str | None:
    """Return the name of the search that a run is of, None if it is of none."""
    name = read_run_name(experiment_name)
    return None if name is None else name.search


def begun_elsewhere(request: Request, store: Store) -> Run | None:
    """Return the last run of a search of the same on another machine or kernel, None without."""
    assert request.inputs is not None, "the machine of a search is known"
    for summary in reversed(store.runs()):
        search = _search_of(summary.experiment_name)
        if search is None:
            continue
        run = store.run(summary.id)
        there = dataclasses.replace(request.inputs, machine=run.machine.fingerprint)
        elsewhere = dataclasses.replace(request, inputs=there)
        if there != request.inputs and search == elsewhere.name:
            return run
    return None


def finished_of(runs: Sequence[Run], store: Store) -> list[EndedRun]:
    """Return runs with their samples."""
    return [EndedRun(run=run, samples=store.samples(run.id)) for run in runs]
