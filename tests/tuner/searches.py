"""Searches whose runs are pretended, with true effects that tests choose."""

from __future__ import annotations

from dataclasses import replace

from dbhone.dbms.base import load_dbms
from dbhone.experiment.templates import DesignOptions, WorkloadOptions
from dbhone.measurement.record import Role
from dbhone.tuner.ended_runs import EndedRun
from dbhone.tuner.request import Request
from dbhone.tuner.run_name import StageKind
from dbhone.tuner.search import Decision, next_stage
from dbhone.tuner.space import Candidate
from dbhone.tuner.stages import Stage
from dbhone.verification.outcome import Grade
from tests.report.sample_run import SUBJECTS, Shape, a_run, samples, subject

NAMES = ("lto+pgo", "pgo", "lto", "o3")


TRUE = {"lto+pgo": (1.3, 1.4), "pgo": (1.2, 1.3), "lto": (1.05, 1.05), "o3": (0.99, 0.99)}


def request(**changes: object) -> Request:
    asked = Request(
        dbms=load_dbms("sqlite"),
        source="apt:sqlite3",
        workload=WorkloadOptions(suite=None, size="quick"),
        train=("main",),
        design=DesignOptions(budget=3600, target=0.02, seed=1),
        candidates=tuple(Candidate.of(name, "gcc", "") for name in NAMES),
        levers=(),
        grade=Grade.SMOKE,
        tolerated=0.03,
    )
    return replace(asked, **changes)  # type: ignore[arg-type]


def request_for_servers(**changes: object) -> Request:
    """Return a request for the best build of a server."""
    of_server = {"dbms": load_dbms("postgresql"), "source": "apt:postgresql"}
    return request(**of_server | {"train": ("point-query",)} | changes)


def ended(
    stage: Stage,
    effects: dict[str, tuple[float, float]],
    broken: tuple[str, ...] = (),
    blocks: int | None = None,
) -> EndedRun:
    """Return the run of a stage as if it had been made: with these true ratios."""
    known = {each.name: each for each in SUBJECTS}
    own = [
        known.get(candidate.name) or subject(candidate.name, role=Role.CANDIDATE)
        for candidate in stage.candidates
    ]
    first, usual = (SUBJECTS[:2], 14) if stage.kind is StageKind.CONFIRM else (SUBJECTS[:1], 6)
    subjects = (
        *first,
        *(replace(each, broken="it crashed" if each.name in broken else None) for each in own),
    )
    run = a_run(subjects=subjects, experiment=stage.text, experiment_name=stage.name, seconds=300.0)
    measured = tuple(each for each in subjects if each.name not in broken)
    found = samples(replace(run, subjects=measured), Shape(effects=effects, blocks=blocks or usual))
    return EndedRun(run=run, samples=found)


def search(
    asked: Request, effects: dict[str, tuple[float, float]], broken: tuple[str, ...] = ()
) -> tuple[list[EndedRun], Decision]:
    finished: list[EndedRun] = []
    for _ in range(20):
        stage = next_stage(asked, finished)
        if isinstance(stage, Decision):
            return finished, stage
        finished.append(ended(stage, effects, broken if stage.kind is StageKind.CONFIRM else ()))
    raise AssertionError("the search does not end")
