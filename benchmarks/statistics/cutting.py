"""Simulated runs that are cut out of a recording of real servers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from benchmarks.statistics.kinds import USUAL, Kind
from benchmarks.statistics.piece import SLICE_SECONDS, Array, Piece, Plan
from benchmarks.statistics.trace import SUBJECTS, SUFFIX, Trace, Use, read
from dbhone.analysis.verdict import MINIMUM_BLOCKS
from dbhone.measurement.record import LEAST_OPERATIONS


class RecordingError(Exception):
    """Traces are no recording out of which runs can be cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """All steps that were recorded in one go.

    ``logs`` has for each step and restart the logarithms of rates, rounds x servers.
    ``slice_seconds`` is the mean over the steps, ``restart_seconds`` what of the time from one
    restart to the next is in none of their slices.
    """

    title: str
    use: Use
    slice_seconds: float
    restart_seconds: float
    logs: tuple[tuple[Array, ...], ...]

    def kind(self) -> Kind:
        """Return the noise of runs that are cut out of it."""
        longest = self.plan(USUAL)
        return Kind(
            name=self.title,
            text="",
            noise=self.cut,
            plan=longest.within(USUAL.minutes),
            longest=longest,
            recorded=True,
        )

    def plan(self, usual: Plan) -> Plan:
        """Return how a run spends its time that is cut out of it, as long as it was recorded."""
        rounds = min(len(each) for step in self.logs for each in step)
        return Plan(
            restarts=len(self.logs[0]),
            steps=len(self.logs),
            rounds=min(rounds, usual.rounds),
            slice_seconds=self.slice_seconds,
            restart_seconds=self.restart_seconds,
        )

    def cut(self, rng: np.random.Generator, runs: int, plan: Plan) -> Piece:
        """Cut out runs: of each restart a random stretch of each step.

        Which of the two servers is called A is random for each restart: they are equal.
        """
        first = rng.integers(0, len(self.logs[0]) - plan.restarts + 1, runs)
        found = np.empty(plan.shape(runs))
        for run, restart, step in np.ndindex(*found.shape[:3]):
            rounds = self.logs[step][first[run] + restart]
            begin = rng.integers(0, len(rounds) - plan.rounds + 1)
            found[run, restart, step] = rounds[begin : begin + plan.rounds]
        swapped = rng.random((runs, plan.restarts)) < 0.5
        logs = np.where(swapped[:, :, None, None, None], found[..., ::-1], found)
        return Piece(
            logs=logs,
            by_start=np.zeros((*logs.shape[:3], 2)),
            settled=True,
            slice_seconds=self.slice_seconds,
        )


def recordings(folder: Path) -> Iterator[Recording]:
    """Read all traces of a folder. Raises RecordingError if there is none."""
    if not folder.is_dir():
        raise RecordingError(f"there is no folder {folder}")
    traces = sorted(
        (read(path) for path in folder.glob(f"*{SUFFIX}")),
        key=lambda each: (each.recording, each.step),
    )
    for number, group in groupby(traces, key=lambda each: each.recording):
        yield recording(number, list(group))


def recording(number: int, steps: Sequence[Trace]) -> Recording:
    """Put the steps of a recording together: the restarts that all of them have.

    Raises RecordingError if they do not belong together, or are too few for a verdict.
    """
    first = steps[0]
    if len({(each.machine, each.dbms, each.version) for each in steps}) > 1:
        raise RecordingError(f"recording {number}: its traces are of different servers")
    restarts = [_restarts(each) for each in steps]
    common = sorted(set.intersection(*(set(each) for each in restarts)))
    if len(common) < MINIMUM_BLOCKS:
        raise RecordingError(
            f"recording {number}: its steps have {len(common)} restarts in common,"
            f" a verdict needs {MINIMUM_BLOCKS}"
        )
    return Recording(
        title=f"recording {number}: {first.dbms} {first.version}",
        use=first.use,
        slice_seconds=float(np.mean([_joined(each) * each.slice_seconds for each in steps])),
        restart_seconds=_restart_seconds(steps),
        logs=tuple(tuple(each[restart] for restart in common) for each in restarts),
    )


def _restart_seconds(steps: Sequence[Trace]) -> float:
    """Return what of the median time from one restart to the next is in no slice of any step."""
    began: dict[int, float] = {}
    for each in (each for step in steps for each in step.slices):
        began[each.restart] = min(each.began, began.get(each.restart, each.began))
    period = np.median(np.diff([began[restart] for restart in sorted(began)]))
    in_slices = sum(len(step.slices) / step.restarts * step.slice_seconds for step in steps)
    return max(float(period) - in_slices, 0.0)


def _joined(trace: Trace) -> int:
    """Return how many rounds of short slices make one."""
    rounds = len(trace.slices) // (trace.restarts * len(SUBJECTS))
    return max(1, min(round(SLICE_SECONDS / trace.slice_seconds), rounds))


def _restarts(trace: Trace) -> dict[int, Array]:
    """Return the logarithms of rates, rounds x servers, of each restart.

    A round that one server lacks, and a restart without a whole round, are not among them.
    """
    rounds: dict[tuple[int, int], dict[str, tuple[float, float]]] = {}
    for each in trace.slices:
        done = rounds.setdefault((each.restart, each.round), {})
        done[each.subject] = each.operations, each.seconds
    whole: dict[int, list[list[tuple[float, float]]]] = {}
    for (restart, _), done in sorted(rounds.items()):
        if len(done) == len(SUBJECTS):
            whole.setdefault(restart, []).append([done[subject] for subject in SUBJECTS])
    joined = _joined(trace)
    return {restart: _log_rates(np.array(table), joined) for restart, table in whole.items()}


def _log_rates(done: Array, joined: int) -> Array:
    """Return the logarithms of rates in rounds that are made of so many, or of one more.

    ``done`` is rounds x servers x 2, operations and seconds: a slice that lasted longer, because
    the server stood still in it, counts for longer.
    """
    parts = np.array_split(done, max(1, len(done) // joined))
    operations, seconds = np.array([part.sum(axis=0) for part in parts]).transpose(2, 0, 1)
    logs: Array = np.log(np.maximum(operations, LEAST_OPERATIONS) / seconds)
    return logs
