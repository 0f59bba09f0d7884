"""Writes traces of a run whose base and control were measured in rounds of short slices.

Usage: ``python -m benchmarks.statistics.record RUN --home FOLDER --recording NUMBER``.
The run's base is A, its control B; each of its sets becomes a trace in ``traces/``, unless
``--into`` names another folder. Numbers go up in the order of recording: ``trace.py`` tells why.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from benchmarks.statistics.trace import SUBJECTS, Slice, Trace, write
from dbhone.errors import HoneError, UsageError
from dbhone.home import Home
from dbhone.measurement.record import Machine, Role, Run, Sliced
from dbhone.measurement.store import Store

TRACES = Path(__file__).parent / "traces"


def traces(store: Store, run_id: int, recording: int) -> Iterator[Trace]:
    """Yield a trace for each set of a run.

    Raises UsageError if the run lacks a base, a control or slices of both.
    """
    run = store.run(run_id)
    names = _names(run)
    began = {(each.block, each.set, each.subject): each.started_at for each in store.done(run_id)}
    by_set: dict[str, list[Sliced]] = defaultdict(list)
    for each in store.sliced(run_id):
        if each.subject in names:
            by_set[each.set].append(each)
    if not by_set:
        raise UsageError(
            f"run {run_id} has no slices",
            hint="only what is measured in rounds of short slices can be recorded",
        )
    start = min(began.values())
    for name, parts in by_set.items():
        yield _trace(run, name, recording, tuple(_slices(parts, names, began, start)))


def _names(run: Run) -> dict[str, str]:
    """Return what traces call the base and the control."""
    controls = [each for each in run.subjects if each.role is Role.CONTROL]
    if run.base is None or not controls:
        raise UsageError(f"run {run.id} has no base and control to record")
    return {run.base.name: SUBJECTS[0], controls[0].name: SUBJECTS[1]}


def _slices(
    parts: Sequence[Sliced],
    names: Mapping[str, str],
    began: Mapping[tuple[int, str, str], datetime],
    start: datetime,
) -> list[Slice]:
    """Return the slices that count, in the order of time."""
    found = []
    for part in parts:
        since = (began[part.block, part.set, part.subject] - start).total_seconds()
        found += [
            Slice(
                restart=part.block,
                round=each.round,
                position=each.position,
                subject=names[part.subject],
                began=since + each.began,
                operations=each.operations,
                seconds=each.seconds,
            )
            for each in part.slices
            if each.counted
        ]
    return sorted(found, key=lambda each: each.began)


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
        slice_seconds=round(lengths[len(lengths) // 2], 2),
        slices=slices,
    )


def _machine(machine: Machine) -> str:
    kind = machine.virtualisation or "no virtual machine"
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
