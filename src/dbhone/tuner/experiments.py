"""The experiments of a search: each is a file, written for its run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from dbhone.analysis.selection import blocks_of_rung
from dbhone.analysis.verdict import MINIMUM_BLOCKS
from dbhone.errors import UsageError
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.model import Experiment, Servers
from dbhone.experiment.declaration.schema import SEEDS
from dbhone.experiment.declaration.subjects import CONTROL
from dbhone.experiment.declaration.templates import OPTIONS, design_table, file_text, workload_table
from dbhone.experiment.plan import room
from dbhone.experiment.plan.estimates import BuildEstimator
from dbhone.experiment.plan.planning import make_plan
from dbhone.home import Home
from dbhone.tuner.chain import Purpose, RunName
from dbhone.tuner.request import Request
from dbhone.tuner.space import BASE, Candidate
from dbhone.units import duration, whole_minutes

_AMPLE = 1e6
"""The seconds of a budget that leaves nothing out."""
_CONFIRMING_BLOCKS = 60
_OTHER_SEED = 1000


def rung(
    request: Request,
    candidates: tuple[Candidate, ...],
    number: int,
    budget: float,
    blocks: int | None = None,
) -> Experiment:
    """Return a choosing run of candidates; ``number`` counts from 0, ``budget`` is in seconds."""
    most = blocks or blocks_of_rung(number)
    design = _design(request, budget, seed=request.design.seed + number)
    return _experiment(
        request,
        Purpose.CHOOSE,
        number,
        f"choosing among {len(candidates)} candidates",
        candidates,
        design | {"control": False, "allot": False, "blocks": {"min": most, "max": most}},
    )


def confirmation(request: Request, candidate: Candidate, number: int, budget: float) -> Experiment:
    """Return the run that measures a candidate afresh, against the base and with a control."""
    seed = request.design.seed + _OTHER_SEED + number
    design = _design(request, budget, seed=seed)
    blocks = {"min": MINIMUM_BLOCKS, "max": _CONFIRMING_BLOCKS}
    return _experiment(
        request,
        Purpose.CONFIRM,
        number,
        f"{candidate.name} measured afresh",
        (candidate,),
        design | {"blocks": blocks},
    )


def _experiment(
    request: Request,
    purpose: Purpose,
    number: int,
    what: str,
    candidates: tuple[Candidate, ...],
    design: Mapping[str, Any],
) -> Experiment:
    """Return a run whose servers are up side by side if there is memory for that just now.

    A confirming run has a control, its builds are verified, and none of its subjects is optional.
    Errors name the options of the search.
    """
    confirms = purpose is Purpose.CONFIRM
    controls = {CONTROL: {"like": BASE}} if confirms else {}
    sections = {
        candidate.name: candidate.section() | {"optional": not confirms} for candidate in candidates
    }
    base = {"dbms": request.dbms.name, "source": request.dbms.name, "variant": BASE}
    if request.packaging is not None:
        base["packaging"] = request.packaging
    name = str(RunName(search=request.name, purpose=purpose, number=number + 1))

    def written(design: Mapping[str, Any]) -> Experiment:
        text = file_text(
            "Written by `hone tune`: change it, and give it to `hone run`.",
            {"title": f"{request.dbms.title} tuned: {what}", "base": BASE},
            {
                "sources": {request.dbms.name: request.source},
                "subjects": {BASE: base, **controls, **sections},
                "training": {"sets": list(request.train)},
                "workload": workload_table(request.workload, request.dbms),
                "verification": {"grade": request.grade.value} if confirms else {},
                "design": design,
            },
        )
        return parse(text, name=name, options=OPTIONS)

    whole = written(design)
    if room.has_memory(whole):
        return whole
    return written({"servers": Servers.ONE.value, **design})


def check_room(request: Request, estimator: BuildEstimator, home: Home) -> None:
    """Raise MachineError if memory or disk are too small for the first choosing run.

    A search that begins again finds its builds in the home.
    """
    first = rung(request, request.candidates, 0, request.for_choosing)
    room.check_room(
        first,
        make_plan(first, estimator),
        home,
        hint="try fewer with --variant and --compiler, or choose another folder with --home",
    )


def _design(request: Request, budget: float, *, seed: int) -> dict[str, Any]:
    options = dataclasses.replace(request.design, budget=budget, seed=seed % SEEDS)
    return design_table(options, 1)


def check_budget(request: Request, estimator: BuildEstimator) -> None:
    """Raise UsageError if the budget has no time for a single candidate.

    The most promising candidate is looked at first: most budgets have time for it.
    """
    first, *others = request.candidates
    promising = _seconds_alone(request, first, estimator)
    enough = request.budget_for(promising)
    if request.budget >= enough or any(
        request.budget >= request.budget_for(_seconds_alone(request, other, estimator))
        for other in others
    ):
        return
    raise UsageError(
        f"the budget of {duration(request.budget)} is too small for a single candidate:"
        f" to build {first.name} and the base, and to measure them, takes {duration(promising)},"
        f" and to measure the winner afresh {duration(enough - promising)}",
        hint=f"'--budget {whole_minutes(enough)}' would do, or a lower --grade; --force begins"
        " anyway",
    )


def _seconds_alone(request: Request, candidate: Candidate, estimator: BuildEstimator) -> float:
    """Return the seconds that it takes to build a candidate and the base, and to measure them."""
    plan = make_plan(rung(request, (candidate,), 0, _AMPLE), estimator)
    measured = plan.measure.cost.seconds if plan.measure.block_seconds else 0.0
    return plan.preparing + measured
