"""Searches whose runs are pretended, with true effects that tests choose."""

from __future__ import annotations

from dataclasses import replace

from dbhone.dbms.base import load_dbms
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.declaration.templates import DesignOptions, WorkloadOptions
from dbhone.measurement.record import Role
from dbhone.tuner.chain import Chain, EndedRun, Purpose, read_run_name
from dbhone.tuner.request import Request
from dbhone.tuner.search import Decision, next_run
from dbhone.tuner.space import Candidate
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


def purpose_of(experiment: Experiment) -> Purpose:
    """Return what a run of a search is for."""
    name = read_run_name(experiment.name)
    assert name is not None
    return name.purpose


def candidates_of(experiment: Experiment) -> list[str]:
    """Return the names of the candidates that a run measures."""
    return [each.name for each in experiment.subjects if each.role is Role.CANDIDATE]


def ended(
    experiment: Experiment,
    effects: dict[str, tuple[float, float]],
    broken: tuple[str, ...] = (),
    blocks: int | None = None,
) -> EndedRun:
    """Return the run of an experiment as if it had been made: with these true ratios."""
    known = {each.name: each for each in SUBJECTS}
    own = [
        known.get(name) or subject(name, role=Role.CANDIDATE) for name in candidates_of(experiment)
    ]
    confirms = purpose_of(experiment) is Purpose.CONFIRM
    first, usual = (SUBJECTS[:2], 14) if confirms else (SUBJECTS[:1], 6)
    subjects = (
        *first,
        *(replace(each, broken="it crashed" if each.name in broken else None) for each in own),
    )
    run = a_run(
        subjects=subjects,
        experiment=experiment.text,
        experiment_name=experiment.name,
        seconds=300.0,
    )
    measured = tuple(each for each in subjects if each.name not in broken)
    found = samples(replace(run, subjects=measured), Shape(effects=effects, blocks=blocks or usual))
    return EndedRun(run=run, samples=found)


def search(
    asked: Request, effects: dict[str, tuple[float, float]], broken: tuple[str, ...] = ()
) -> tuple[Chain, Decision]:
    chain = Chain()
    for _ in range(20):
        following = next_run(asked, chain)
        if isinstance(following, Decision):
            return chain, following
        breaks = broken if purpose_of(following) is Purpose.CONFIRM else ()
        chain = Chain((*chain.runs, ended(following, effects, breaks)))
    raise AssertionError("the search does not end")
