"""Builds runs of servers: all steps of a suite, and a few over a growing number of threads."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dbhone.measurement.build_facts import BuildTarget, BuildTimings
from dbhone.measurement.metric import FIGURES
from dbhone.measurement.record import Group, Machine, Role, Run, Step, Subject, Warning
from dbhone.measurement.sample_array import SampleArray
from dbhone.report.page import Page, build_page
from tests.analysis.columns import samples_of
from tests.report.sample_run import a_run

# The steps of sysbench:micro: name, group, operations per second on the base with 4 clients.
_STEPS: tuple[tuple[str, Group, float], ...] = (
    ("update-inlist_range=100", Group.WRITE, 1210),
    ("update-index_range=100", Group.WRITE, 2350),
    ("update-nonindex_range=100", Group.WRITE, 3110),
    ("update-one_range=100", Group.WRITE, 2870),
    ("update-zipf_range=100", Group.WRITE, 2990),
    ("write-only_range=10000", Group.WRITE, 905),
    ("read-write_range=10", Group.WRITE, 412),
    ("read-write_range=100", Group.WRITE, 371),
    ("scan_range=100", Group.RANGE, 3.4),
    ("read-only_range=10", Group.AGGREGATE, 690),
    ("read-only_range=100", Group.AGGREGATE, 540),
    ("read-only_range=10000", Group.AGGREGATE, 21.5),
    ("read-only-simple_range=1000", Group.AGGREGATE, 610),
    ("read-only-sum_range=1000", Group.AGGREGATE, 702),
    ("read-only-order_range=1000", Group.AGGREGATE, 333),
    ("read-only-distinct_range=1000", Group.AGGREGATE, 301),
    ("read-only-count_range=1000", Group.AGGREGATE, 2450),
    ("point-query_range=100", Group.POINT, 14100),
    ("random-points_range=10", Group.POINT, 9900),
    ("random-points_range=100", Group.POINT, 3450),
    ("random-points_range=1000", Group.POINT, 480),
    ("hot-points_range=100", Group.POINT, 3800),
    ("points-covered-pk_range=100", Group.POINT, 4100),
    ("points-notcovered-pk_range=100", Group.POINT, 3500),
    ("range-covered-pk_range=100", Group.RANGE, 8100),
    ("range-notcovered-pk_range=100", Group.RANGE, 6200),
    ("points-covered-si_range=100", Group.POINT, 3350),
    ("points-notcovered-si_range=100", Group.POINT, 2480),
    ("range-covered-si_range=100", Group.RANGE, 7900),
    ("range-notcovered-si_range=100", Group.RANGE, 2700),
    ("delete_range=100", Group.WRITE, 6050),
    ("insert_range=100", Group.WRITE, 3020),
)
_SWEPT = ("point-query_range=100", "update-nonindex_range=100", "read-write_range=100")
# Three of hiroi10's four transactions.
_TRANSACTIONS: tuple[tuple[str, Group, float], ...] = (
    ("simple-select", Group.POINT, 8100),
    ("non-index-update", Group.WRITE, 2950),
    ("oltp", Group.WRITE, 720),
)
_KNOWN = (*_STEPS, *_TRANSACTIONS)
_TRAINED = ("read-write_range=100", "oltp")
THREADS = (1, 2, 4, 8, 16, 32, 64)
_CORES = 8
_TITLES = {
    Group.POINT: "rows by key",
    Group.RANGE: "a range of rows",
    Group.AGGREGATE: "a transaction of reads",
    Group.WRITE: "a write",
}
_SETTINGS = {
    "autovacuum": "off",
    "fsync": "on",
    "max_connections": "132",
    "shared_buffers": "256MB",
    "wal_level": "minimal",
}
_FILES = ("gram.c", "execExprInterp.c", "pg_dump.c", "planner.c", "selfuncs.c", "plpgsql.so")
_BUILD_TARGETS = (("src/backend/utils/adt", 0.21, 106), ("src/backend", 0.125, 0))

EFFECTS: Mapping[str, tuple[float, float]] = {
    "lto": (1.015, 1.015),
    "lto+pgo": (1.17, 1.28),
}
"""The true ratios of throughput: held-out, in-sample."""


def _subject(name: str, role: Role, digest: str, settings: Mapping[str, str]) -> Subject:
    profiled = "pgo" in name
    seconds = 248.0 + 61.0 * ("lto" in name) + 22.0 * profiled
    return Subject(
        name=name,
        role=role,
        dbms="postgresql",
        version="15.14",
        source="apt:postgresql-15=15.14-0+deb12u1",
        source_digest="9c3a" * 16,
        variant="rel" if role is not Role.CANDIDATE else f"rel+{name}",
        compiler="gcc (Debian 12.2.0-14+deb12u1) 12.2.0",
        flags=("-O2", "-g", *(["-flto=auto"] if "lto" in name else [])),
        build_digest=digest * 16,
        build_path=f"/home/dba/.local/share/dbhone/builds/{digest}/bin/postgres",
        build_seconds=seconds,
        binary_bytes=9_210_000 - 340_000 * ("lto" in name),
        trained_on=("read-write_range=100",) if profiled else (),
        training_seconds=64.0 if profiled else None,
        profile_coverage=0.41 if profiled else None,
        broken=None,
        settings=dict(settings),
        timings=BuildTimings(
            seconds=seconds,
            cpu_seconds=seconds * 1.86,
            jobs=2,
            files=1183,
            phases={"configure": 31.0, "compile": seconds - 31.0},
            slowest=tuple(
                (file, 9.5 / (1 + place) * (2 if profiled else 1))
                for place, file in enumerate(_FILES[profiled:])
            ),
            instrumented_seconds=seconds * 1.1 if profiled else None,
            build_targets=tuple(
                BuildTarget(name=target, cpu_seconds=seconds * 1.86 * share, files=files)
                for target, share, files in _BUILD_TARGETS
            ),
        ),
    )


SUBJECTS = (
    _subject("rel", Role.BASE, "ab12", _SETTINGS),
    _subject("control", Role.CONTROL, "ab12", _SETTINGS),
    _subject("lto", Role.CANDIDATE, "cd34", _SETTINGS),
    _subject("lto+pgo", Role.CANDIDATE, "ef56", {**_SETTINGS, "jit": "off"}),
)


def a_server_run(**changes: object) -> Run:
    """Return a finished run of a whole suite with 4 clients, changed as asked."""
    steps = tuple(_step(name, 4) for name, _, _ in _STEPS)
    return _run("PostgreSQL: do LTO and PGO pay?", steps, **changes)


def a_sweep_run(**changes: object) -> Run:
    """Return a finished run of a few sets over numbers of threads, changed as asked."""
    steps = tuple(_step(name, count, swept=True) for name in _SWEPT for count in THREADS)
    return _run("Throughput over a growing number of clients", steps, **changes)


def a_hiroi10_run(**changes: object) -> Run:
    """Return a finished run of hiroi10's suite over numbers of threads, changed as asked."""
    names = [name for name, _, _ in _TRANSACTIONS]
    steps = tuple(_step(name, count, swept=True) for name in names for count in THREADS)
    return _run("hiroi10's transactions", steps, **{"suite": "hiroi10", **changes})


def with_parts(run: Run, name: str, *keys: str) -> Run:
    """Return a run of which one step has parts: kinds of its statements."""
    whole = next(step for step in run.steps if step.name == name)
    parts = (replace(whole, key=key, title=f"the statement {key}") for key in keys)
    return replace(run, steps=(*run.steps, *parts))


def many_builds() -> Run:
    """Return a run of seven builds and a control."""
    names = ("rel_o2", "rel_native", "rel_o3", "rel_o2_lto", "rel_native_lto", "rel_lto")
    others = [
        _subject(name, Role.CANDIDATE, f"{place:04d}", _SETTINGS)
        for place, name in enumerate(names)
    ]
    base = replace(SUBJECTS[0], name="rel_withdbg")
    return a_server_run(subjects=(base, SUBJECTS[1], *others))


def _run(title: str, steps: tuple[Step, ...], **changes: object) -> Run:
    run = a_run(
        id=12,
        title=title,
        experiment_name="servers",
        suite="sysbench:micro",
        subjects=SUBJECTS,
        steps=steps,
        machine=Machine(
            fingerprint="0f1e2d3c4b5a",
            cpu_model="AMD EPYC 9R14",
            cores=_CORES,
            memory_bytes=32 * 1024**3,
            kernel="6.1.0-28-amd64",
            distribution="Debian GNU/Linux 12 (bookworm)",
            virtualisation="kvm",
            governor="",
            details={},
        ),
        warnings=(
            Warning(
                code="settings-dropped",
                text="postgresql 15.14 does not know io_method, which was dropped",
            ),
        ),
    )
    return replace(run, **changes)  # type: ignore[arg-type]


def _step(name: str, threads: int, *, swept: bool = False) -> Step:
    group = next(each for known, each, _ in _KNOWN if known == name)
    return Step(
        set=f"{name}@{threads}" if swept else name,
        key="",
        title=_TITLES[group],
        group=group,
        in_sample=name in _TRAINED,
        threads=threads,
    )


_REFUSED = 0.02
"""The share of transactions, in a measurement in which any are refused."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How synthetic measurements come out. ``refused`` is how often lto's server refuses some."""

    blocks: int = 10
    seed: int = 3
    spread: float = 0.02
    effects: Mapping[str, tuple[float, float]] | None = None
    refused: float = 0.0
    client_cpu: float = 40e-6


def server_samples(run: Run, shape: Shape | None = None) -> SampleArray:
    """Return measurements of all figures of a run's steps and unbroken subjects."""
    shape = shape or Shape()
    rng = random.Random(shape.seed)
    places: list[tuple[int, int, int]] = []
    rows: list[dict[str, float]] = []
    for block in range(shape.blocks):
        level = rng.gauss(0, 0.04)
        for s, subject in enumerate(run.subjects):
            start = rng.gauss(0, shape.spread / 2)
            for k, step in enumerate(run.steps):
                speed = level + start + rng.gauss(0, shape.spread)
                if subject.broken is None:
                    places.append((s, k, block))
                    rows.append(_figures(step, subject.name, speed, shape, rng))
    return samples_of(
        (each.name for each in run.subjects),
        (step.name for step in run.steps),
        np.array(places, dtype=np.int32).reshape(-1, 3).T,
        {
            metric.name: np.array([row.get(metric.name, np.nan) for row in rows], dtype=np.float64)
            for metric in FIGURES
        },
    )


def server_page(run: Run, shape: Shape | None = None) -> Page:
    """Return the page of a run with such measurements."""
    return build_page(run, server_samples(run, shape))


def _figures(
    step: Step, subject: str, speed: float, shape: Shape, rng: random.Random
) -> dict[str, float]:
    held_out, in_sample = (shape.effects or EFFECTS).get(subject, (1.0, 1.0))
    effect = in_sample if step.in_sample else held_out
    threads = step.threads or 1
    name = step.set.partition("@")[0]
    rate = next(rate for known, _, rate in _KNOWN if known == name)
    rate *= 1.9 * threads / (threads + _CORES) / (1 + threads / 400)
    rate *= effect * math.exp(speed)
    cpu = 3.1 / (rate / effect) * math.exp(rng.gauss(0, 0.004)) / effect
    write = step.group is Group.WRITE
    return {
        "throughput": rate,
        "cpu_seconds": cpu,
        "peak_memory_bytes": 310e6 + 4096 * rng.randrange(500),
        "latency_p50": 0.8 * threads / rate,
        "latency_p95": 1.6 * threads / rate * math.exp(rng.gauss(0, 0.03)),
        "latency_p99": 2.5 * threads / rate,
        "system_seconds": cpu * 0.4,
        "client_cpu_seconds": shape.client_cpu * math.exp(rng.gauss(0, 0.01)),
        "context_switches": 2.1 * math.exp(rng.gauss(0, 0.02)),
        "bytes_read": 0.0,
        "bytes_written": 8192.0 * math.exp(rng.gauss(0, 0.1)) if write else 0.0,
        "refused_share": _REFUSED if subject == "lto" and rng.random() < shape.refused else 0.0,
    }
