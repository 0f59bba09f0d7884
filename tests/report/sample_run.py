"""Builds runs as ``hone try`` leaves them, with noise from a seed and effects by design."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import numpy as np

from dbhone.measurement.record import Design, Group, Machine, Role, Run, RunState, Step, Subject
from dbhone.measurement.sample_array import SampleArray
from dbhone.report.page import Page, build_page
from tests.analysis.columns import samples_of

# SQLite 3.40's speedtest1: number, title, group, seconds on the base.
_SETS: dict[str, tuple[tuple[int, str, Group, float], ...]] = {
    "main": (
        (100, "5000 INSERTs into table with no index", Group.WRITE, 0.021),
        (110, "5000 ordered INSERTS with one index/PK", Group.WRITE, 0.034),
        (130, "25 SELECTS, numeric BETWEEN, unindexed", Group.RANGE, 0.028),
        (140, "10 SELECTS, LIKE, unindexed", Group.RANGE, 0.061),
        (160, "1000 SELECTS, numeric BETWEEN, indexed", Group.RANGE, 0.044),
        (190, "DELETE and REFILL one table", Group.WRITE, 0.047),
        (270, "1000 DELETEs, numeric BETWEEN, indexed", Group.WRITE, 0.052),
        (280, "5000 DELETEs of individual rows", Group.WRITE, 0.024),
        (400, "7000 REPLACE ops on an IPK", Group.WRITE, 0.039),
        (410, "7000 SELECTS on an IPK", Group.POINT, 0.033),
        (510, "7000 SELECTS on a TEXT PK", Group.POINT, 0.040),
        (520, "7000 SELECT DISTINCT", Group.RANGE, 0.018),
    ),
    "cte": (
        (100, "Sudoku with recursive 'digits'", Group.RANGE, 0.120),
        (300, "Mandelbrot Set with 1000 iterations", Group.RANGE, 0.310),
        (400, "EXCEPT operator on 25000-element tables", Group.RANGE, 0.090),
    ),
    "rtree": (
        (100, "1200 intersect SELECTs", Group.RANGE, 0.075),
        (120, "1200 deletes by rowid", Group.WRITE, 0.0021),
        (150, "400 random updates", Group.WRITE, 0.0034),
    ),
    "orm": (
        (100, "Fill unindexed tables with 500000 rows", Group.WRITE, 0.260),
        (110, "Query first row", Group.POINT, 0.130),
    ),
    "fp": (
        (100, "Fill a table with 10000 FP values", Group.WRITE, 0.055),
        (110, "160 range queries", Group.RANGE, 0.140),
        (120, "CREATE INDEX three times", Group.WRITE, 0.031),
    ),
}

EXPERIMENT = """\
title = "SQLite: does profile-guided optimisation pay?"
base = "rel"

[sources]
sqlite = "apt:sqlite3"

[subjects]
rel     = { source = "sqlite", variant = "rel" }
control = { like = "rel", rebuild = true }
pgo     = { like = "rel", variant = "rel+pgo", train = ["main"] }
"""


def steps() -> tuple[Step, ...]:
    """Return the steps of speedtest1's sets; main is trained on."""
    return tuple(
        Step(set=name, key=str(number), title=title, group=group, in_sample=name == "main")
        for name, tests in _SETS.items()
        for number, title, group, _ in tests
    )


def subject(name: str, *, role: Role = Role.CANDIDATE, variant: str | None = None) -> Subject:
    """Return a subject; one whose name has pgo was trained on main."""
    chosen = variant or f"rel+{name}"
    profiled = "pgo" in name
    flags = ("-O2", "-g", "-DNDEBUG", *(["-flto=auto"] if "lto" in name else []))
    return Subject(
        name=name,
        role=role,
        dbms="sqlite",
        version="3.40.1",
        source="apt:sqlite3=3.40.1-2+deb12u2",
        source_digest="5e1f" * 16,
        variant=chosen,
        compiler="gcc (Debian 12.2.0-14+deb12u1) 12.2.0",
        flags=(*flags, "-fprofile-use", "-fprofile-partial-training") if profiled else flags,
        build_digest=f"{len(name):02x}{sum(name.encode()) % 256:02x}" * 16,
        build_path=f"/home/dba/.local/share/dbhone/builds/{len(name):02x}{name}/bin/speedtest1",
        build_seconds=31.4 + len(name) * (2.5 if profiled else 1.25),
        binary_bytes=1_480_000 + 10_240 * len(name),
        trained_on=("main",) if profiled else (),
        training_seconds=12.5 if profiled else None,
        profile_coverage=0.62 if profiled else None,
        broken=None,
    )


SUBJECTS: tuple[Subject, ...] = (
    subject("rel", role=Role.BASE, variant="rel"),
    subject("control", role=Role.CONTROL, variant="rel"),
    subject("o3"),
    subject("o3+native"),
    subject("lto"),
    subject("pgo"),
    subject("lto+pgo"),
)
EFFECTS: Mapping[str, tuple[float, float]] = {
    "o3": (1.01, 1.01),
    "o3+native": (0.97, 0.96),
    "lto": (1.0, 1.0),
    "pgo": (1.06, 1.12),
    "lto+pgo": (1.07, 1.125),
}
"""The true ratios of throughput: held-out, in-sample."""


def a_run(**changes: object) -> Run:
    """Return a finished run of ``hone try``, changed as asked."""
    run = Run(
        id=7,
        title="SQLite: does profile-guided optimisation pay?",
        experiment=EXPERIMENT,
        experiment_name="try",
        state=RunState.DONE,
        session="c0ffee123456",
        created_at=datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC),
        finished_at=datetime(2026, 3, 14, 15, 16, 40, tzinfo=UTC),
        seconds=434.0,
        suite="speedtest1",
        size="quick",
        design=Design(seed=1, target=0.02, budget_seconds=300, min_blocks=6, max_blocks=100),
        machine=Machine(
            fingerprint="a1b2c3d4e5f6",
            cpu_model="Intel(R) Xeon(R) Processor @ 2.10GHz",
            cores=2,
            memory_bytes=8 * 1024**3,
            kernel="6.1.0-28-amd64",
            distribution="Debian GNU/Linux 12 (bookworm)",
            virtualisation="kvm",
            governor="",
            details={"Compiler": "gcc 12.2.0"},
        ),
        hone_version="0.1.0",
        stopped_by="budget",
        error=None,
        subjects=SUBJECTS,
        steps=steps(),
        warnings=(),
    )
    return replace(run, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How synthetic measurements come out.

    ``drift`` is the change over all blocks, ``bursts`` the share of slices that are much slower.
    """

    blocks: int = 14
    seed: int = 7
    spread: float = 0.012
    drift: float = 0.0
    bursts: float = 0.04
    effects: Mapping[str, tuple[float, float]] = field(default_factory=lambda: EFFECTS)
    missing: Callable[[str, str, int], bool] = lambda subject, step, block: False


def samples(run: Run, shape: Shape | None = None) -> SampleArray:
    """Return measurements of a run's steps and unbroken subjects.

    Each block has a level of its own, and now and then a slice of a step is much slower.
    Instructions could not be counted.
    """
    shape = shape or Shape()
    rng = random.Random(shape.seed)
    seconds = {f"{name}/{n}": s for name, tests in _SETS.items() for n, _, _, s in tests}
    rows: list[tuple[int, int, int, float, float, float]] = []
    for block in range(shape.blocks):
        level = rng.gauss(0, 0.05) + shape.drift * block / max(shape.blocks - 1, 1)
        for s, one in enumerate(run.subjects):
            for k, step in enumerate(run.steps):
                held_out, in_sample = shape.effects.get(one.name, (1.0, 1.0))
                noise = rng.gauss(0, shape.spread) - (0.2 if rng.random() < shape.bursts else 0.0)
                if one.broken is not None or shape.missing(one.name, step.name, block):
                    continue
                own = math.log(in_sample if step.in_sample else held_out)
                own *= 0.6 + 0.8 * ((k * 7) % 11) / 10
                speed = math.exp(level + noise + own) / seconds.get(step.name, 0.05)
                rows.append((s, k, block, speed, 0.98 / speed, 24.0e6 + 4096 * rng.randrange(9)))
    *places, speeds, cpu, memory = np.array(rows, dtype=np.float64).reshape(-1, 6).T
    return samples_of(
        (each.name for each in run.subjects),
        (step.name for step in run.steps),
        places,
        {
            "throughput": speeds,
            "cpu_seconds": cpu,
            "instructions": np.full(len(rows), np.nan),
            "peak_memory_bytes": memory,
        },
    )


def run_page(run: Run, shape: Shape | None = None) -> Page:
    """Return the page of a run with such measurements."""
    return build_page(run, samples(run, shape))


def a_page(shape: Shape | None = None, **changes: object) -> Page:
    """Return the page of a finished run of ``hone try``, changed as asked."""
    return run_page(a_run(**changes), shape)


def a_small_run(**changes: object) -> Run:
    """Return a run of few steps, so that a test is quick."""
    return a_run(steps=steps()[12:16], **changes)


def changed(run: Run, name: str, /, **changes: object) -> Run:
    """Return a run of which one subject is changed."""
    subjects = tuple(
        replace(each, **changes) if each.name == name else each  # type: ignore[arg-type]
        for each in run.subjects
    )
    return replace(run, subjects=subjects)


def with_only(run: Run, *names: str) -> Run:
    """Return a run that has these subjects only."""
    return replace(run, subjects=tuple(each for each in run.subjects if each.name in names))


def without(run: Run, *names: str) -> Run:
    """Return a run that lacks some subjects."""
    return replace(run, subjects=tuple(each for each in run.subjects if each.name not in names))
