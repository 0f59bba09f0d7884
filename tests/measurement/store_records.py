"""Records that the tests of the store keep and get back."""

from __future__ import annotations

import sqlite3
import zlib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dbhone.measurement.record import (
    Design,
    Group,
    Invocation,
    Machine,
    Measurement,
    Role,
    Slice,
    Step,
    Subject,
)
from dbhone.measurement.store import NewRun, Store

MOMENT = datetime(2026, 2, 28, 23, 59, 59, 123456, tzinfo=UTC)

MACHINE = Machine(
    fingerprint="f00d",
    cpu_model="A CPU",
    cores=2,
    memory_bytes=2**34,
    kernel="6.1.0",
    distribution="Debian GNU/Linux 12",
    virtualisation="kvm",
    governor="performance",
    details={"turbo": "off"},
)

NEW_RUN = NewRun(
    title="Does it pay?",
    experiment='title = "Does it pay?"\n',
    experiment_name="try",
    session="5e5510",
    suite="speedtest1",
    size="quick",
    design=Design(seed=2**40, target=0.02, budget_seconds=480.0, min_blocks=5, max_blocks=30),
    machine=MACHINE,
    hone_version="0.1.0",
)

STEPS = tuple(
    Step(set="main", key=key, title=f"step {key}", group=group, in_sample=True)
    for key, group in (("100", Group.WRITE), ("110", Group.POINT), ("120", Group.RANGE))
)


def subject(name: str, role: Role = Role.CANDIDATE, *, broken: str | None = None) -> Subject:
    return Subject(
        name=name,
        role=role,
        dbms="sqlite",
        version="3.40.1",
        source="apt:sqlite3",
        source_digest="50",
        variant="rel+pgo",
        compiler="gcc 12.2.0",
        flags=("-O2", "-fprofile-use"),
        build_digest="b1",
        build_path="/home/builds/b1",
        build_seconds=12.5,
        binary_bytes=1_400_000,
        trained_on=("main",),
        training_seconds=3.25,
        profile_coverage=0.5,
        broken=broken,
    )


def measurement(step: str, throughput: float) -> Measurement:
    return Measurement(
        step=step,
        throughput=throughput,
        cpu_seconds=0.25,
        instructions=None,
        peak_memory_bytes=1e6,
    )


def invocation(block: int, subject_name: str, *, failure: str | None = None) -> Invocation:
    measured = tuple(measurement(step.name, 1.0 + block + at) for at, step in enumerate(STEPS))
    return Invocation(
        block=block,
        set="main",
        subject=subject_name,
        position=1,
        started_at=MOMENT,
        seconds=1.5,
        command=("speedtest1", "--testset", "main"),
        raw_output=f"block {block} of {subject_name}\n".encode() * 50,
        failure=failure,
        conditions={"steal": 0.125},
        measurements=() if failure else measured,
    )


def a_slice(number: int, *, counted: bool = True) -> Slice:
    return Slice(
        round=number,
        position=number % 2,
        began=0.75 * number,
        seconds=0.250125,
        operations=1000 + number,
        errors=number,
        counted=counted,
    )


def begin(store: Store, **changes: Any) -> int:
    """Begin a run with the subjects ``rel`` and ``pgo`` and with STEPS; return its number."""
    run = store.create_run(replace(NEW_RUN, **changes))
    store.set_subject(run.id, 0, subject("rel", Role.BASE))
    store.set_subject(run.id, 1, subject("pgo"))
    store.set_steps(run.id, STEPS)
    return run.id


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def printed(path: Path, run_id: int, block: int, subject: str) -> bytes:
    """Return what the driver printed in the invocation of a block that counts."""
    ((stored,),) = rows(
        path,
        "SELECT zlib FROM outputs JOIN invocations ON invocations.id = invocation_id"
        " JOIN subjects ON subjects.id = subject_id WHERE NOT superseded"
        f" AND invocations.run_id = {run_id} AND block = {block} AND name = '{subject}'",
    )
    assert isinstance(stored, bytes)
    return zlib.decompress(stored)
