"""Writes traces of a run that has a base and a control.

Usage: ``python -m benchmarks.statistics.record RUN --home FOLDER --recording NUMBER``.
The run's base is A, its control B. Each set that was measured in rounds of short slices becomes a
trace in ``traces/``, unless ``--into`` names another folder. If none was, as with embedded
systems, each step becomes one, with one slice of each subject in a block: what an operation took.
Numbers go up in the order of recording: ``trace.py`` tells why.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from benchmarks.statistics.trace import SUBJECTS, Slice, Trace, write
from dbhone.errors import HoneError, UsageError
from dbhone.home import Home
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Machine, Run, Sliced
from dbhone.measurement.rows import Done
from dbhone.measurement.sample_array import SampleArray
from dbhone.measurement.store import Store

TRACES = Path(__file__).parent / "traces"
Place: TypeAlias = tuple[int, str, str]
"""Of an invocation: its block, set and subject."""


class Moment(NamedTuple):
    """When an invocation began, in seconds since the run's first, and its place in the pass."""

    began: float
    position: int


def traces(store: Store, run_id: int, recording: int) -> Iterator[Trace]:
    """Yield a trace for each set of a run, or for each step if nothing was measured in slices.

    Raises UsageError if the run lacks a base, a control or measurements of both.
    """
    run = store.run(run_id)
    names = _names(run)
    done = _moments(store.done(run_id))
    found = _in_slices(store.sliced(run_id), names, done) or _as_wholes(
        run, store.samples(run_id), names, done
    )
    if {each.subject for slices in found.values() for each in slices} != set(SUBJECTS):
        raise UsageError(f"run {run_id} has no measurements of both its base and its control")
    for name, slices in found.items():
        yield _trace(run, name, recording, tuple(sorted(slices, key=lambda each: each.began)))


def _names(run: Run) -> dict[str, str]:
    """Return what traces call the base and the control."""
    controls = run.controls
    if run.base is None or not controls:
        raise UsageError(f"run {run.id} has no base and control to record")
    return {run.base.name: SUBJECTS[0], controls[0]: SUBJECTS[1]}


def _moments(done: Sequence[Done]) -> dict[Place, Moment]:
    """Return when, since the first invocation, and in which place of its pass each began."""
    if not done:
        return {}
    start = min(each.started_at for each in done)
    return {
        (each.block, each.set, each.subject): Moment(
            began=(each.started_at - start).total_seconds(), position=each.position
        )
        for each in done
    }


def _in_slices(
    parts: Iterable[Sliced], names: Mapping[str, str], done: Mapping[Place, Moment]
) -> dict[str, list[Slice]]:
    """Return the slices of each set that count."""
    found: dict[str, list[Slice]] = defaultdict(list)
    for part in parts:
        if part.subject in names:
            found[part.set] += (
                Slice(
                    restart=part.block,
                    round=each.round,
                    position=each.position,
                    subject=names[part.subject],
                    began=done[part.block, part.set, part.subject].began + each.began,
                    operations=each.operations,
                    seconds=each.seconds,
                )
                for each in part.slices
                if each.counted
            )
    return found


def _as_wholes(
    run: Run, samples: SampleArray, names: Mapping[str, str], done: Mapping[Place, Moment]
) -> dict[str, list[Slice]]:
    """Return for each step a slice of each subject in each block: what an operation took."""
    found: dict[str, list[Slice]] = defaultdict(list)
    rates = samples.pick(names, samples.steps).of(THROUGHPUT)
    sets = {step.name: step.set for step in run.steps}
    for (row, column, at), rate in np.ndenumerate(rates):
        name, step, block = tuple(names)[row], samples.steps[column], int(samples.blocks[at])
        if rate > 0:
            moment = done[block, sets[step], name]
            found[step].append(
                Slice(
                    restart=block,
                    round=1,
                    position=moment.position,
                    subject=names[name],
                    began=moment.began,
                    operations=1,
                    seconds=1 / float(rate),
                )
            )
    return found


def _trace(run: Run, name: str, recording: int, slices: tuple[Slice, ...]) -> Trace:
    base = run.base
    assert base is not None
    lengths = sorted(each.seconds for each in slices)
    threads = next((each.threads for each in run.steps if each.set == name), None)
    return Trace(
        recording=recording,
        machine=_machine(run.machine),
        dbms=base.dbms,
        version=base.version,
        step=name,
        threads=threads or 1,
        slice_seconds=float(f"{lengths[len(lengths) // 2]:.2g}"),
        slices=slices,
    )


def _machine(machine: Machine) -> str:
    virtual = machine.virtualisation != "none"
    kind = machine.virtualisation if virtual else "no virtual machine"
    return f"{machine.cores} x {machine.cpu_model}, {kind}, Linux {machine.kernel}"


def main() -> int:
    """Write the traces of one run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.statistics.record")
    parser.add_argument("run", type=int)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--recording", type=int, required=True)
    parser.add_argument("--into", type=Path, default=TRACES)
    asked = parser.parse_args()
    if not asked.into.is_dir():
        parser.error(f"there is no folder {asked.into}")
    try:
        with Store.open_to_read(Home(asked.home).database) as store:
            for each in traces(store, asked.run, asked.recording):
                path = write(each, asked.into)
                print(f"{path}: {len(each.slices)} slices, {path.stat().st_size} bytes")
    except HoneError as error:
        print(f"{error.message}\n{error.hint or ''}".strip(), file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
