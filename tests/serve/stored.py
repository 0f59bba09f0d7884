"""A home with runs in its store, as hones leave them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
from werkzeug.test import Client

from dbhone.home import Home
from dbhone.measurement.metric import FIGURES
from dbhone.measurement.record import Invocation, Measurement, Run, RunState
from dbhone.measurement.sample_array import SampleArray
from dbhone.measurement.store import NewRun, Store
from dbhone.serve.app import App, Hosts
from dbhone.serve.run_service import RunService
from tests.analysis.columns import Columns, columns

HERE = {"Host": "127.0.0.1:8765"}


def keep(store: Store, run: Run, samples: SampleArray | None = None) -> int:
    """Keep a run with what was measured in it, and return its number."""
    new = {name: getattr(run, name) for name in NewRun.__dataclass_fields__}
    number = store.create_run(NewRun(**new)).id
    for position, subject in enumerate(run.subjects):
        store.set_subject(number, position, subject)
    store.set_steps(number, run.steps)
    for warning in run.warnings:
        store.add_warning(number, warning)
    if samples is not None:
        store.record_all(number, invocations(run, samples))
    if run.state is not RunState.RUNNING:
        store.update_run(number, state=run.state, seconds_added=run.seconds)
        if run.error:
            store.update_run(number, error=run.error)
        if run.stopped_by:
            store.update_run(number, stopped_by=run.stopped_by)
    return number


def invocations(run: Run, found: SampleArray) -> Sequence[Invocation]:
    """Return what was measured as the invocations that it was measured in."""
    sets = {step.name: step.set for step in run.steps}
    made: dict[tuple[int, str, str], list[Measurement]] = {}
    samples = columns(found)
    for at in np.argsort(samples.block, kind="stable"):
        step = samples.steps[samples.step[at]]
        key = (int(samples.block[at]), sets[step], samples.subjects[samples.subject[at]])
        made.setdefault(key, []).append(_measurement(samples, at, step))
    began = datetime.now(UTC) - timedelta(hours=1)
    return [
        Invocation(
            block=block,
            set=set_name,
            subject=subject,
            position=position,
            started_at=began + timedelta(seconds=position),
            seconds=1.0,
            command=("driver",),
            raw_output=b"",
            failure=None,
            conditions={},
            measurements=tuple(measured),
        )
        for position, ((block, set_name, subject), measured) in enumerate(made.items())
    ]


def _measurement(samples: Columns, at: int, step: str) -> Measurement:
    values = {
        metric.name: None if np.isnan(column[at]) else float(column[at])
        for metric in FIGURES
        if (column := samples.values.get(metric.name)) is not None
    }
    required = {"cpu_seconds": None, "instructions": None, "peak_memory_bytes": None}
    return Measurement(step=step, **required | values)  # type: ignore[arg-type]


def running(run: Run, session: str) -> Run:
    """Return the run as it is while that session executes it."""
    return replace(run, state=RunState.RUNNING, session=session, stopped_by=None, finished_at=None)


def client_of(home: Home) -> Client:
    """Return a client of the pages of a home."""
    return Client(App(RunService(home), Hosts(loopback=True)))
