"""The search: which experiment comes next, by what those before have found.

A search is a chain of ordinary runs. Choosing runs, the rungs, measure fewer and fewer candidates
in more and more blocks (``analysis/selection.py``). A confirming run measures the best of them and
the base alone, by another seed; only that tells the gain. Nothing is kept but the runs: to go on
with a search is to ask once more what comes next.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dbhone.analysis.comparison import analyse
from dbhone.analysis.selection import (
    Standing,
    block_scores,
    blocks_of_rung,
    pooled,
    standings,
    survivors,
)
from dbhone.analysis.verdict import MINIMUM_BLOCKS, Effect, Verdict
from dbhone.dbms.base import Dbms
from dbhone.experiment.templates import (
    DesignOptions,
    WorkloadOptions,
    design_table,
    file_text,
    workload_table,
)
from dbhone.measurement.record import Run, RunState
from dbhone.measurement.sample_array import Array, SampleArray
from dbhone.tuner.space import BASE, Candidate
from dbhone.verification.outcome import Grade
from dbhone.verification.verify import expected_seconds

CONTROL = "control"
_RUNGS = 3
_CONFIRMING_SHARE = 0.3
"""The share of the budget that is kept for the confirming run."""
_UNKNOWN_BLOCK = 30.0
_FINE = 0.001
"""A precision that no rung reaches: it ends after its blocks."""
_CONFIRMING_BLOCKS = 60
_OTHER_SEED = 1000


class Kind(StrEnum):
    """What a run of a search is for."""

    CHOOSE = "choose"
    CONFIRM = "confirm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is searched for: the best build of a source for a workload, within a budget.

    ``train`` are the sets to train on. ``design.budget`` is given. ``tolerated`` is the loss that a
    step may have, as a fraction. Builds are verified at the ``grade``.
    """

    dbms: Dbms
    source: str
    workload: WorkloadOptions
    train: tuple[str, ...]
    design: DesignOptions
    candidates: tuple[Candidate, ...]
    levers: tuple[str, ...]
    grade: Grade
    tolerated: float

    @property
    def budget(self) -> float:
        """The seconds for everything."""
        assert self.design.budget is not None, "a search has a budget"
        return self.design.budget

    @property
    def name(self) -> str:
        """What is the same for searches of the same: their runs are one chain."""
        same = (
            *(self.dbms.name, self.source, self.workload, self.train, self.design),
            *(self.candidates, self.levers, self.grade, self.tolerated),
        )
        return f"tune-{hashlib.sha256(repr(same).encode()).hexdigest()[:10]}"

    @property
    def reserve(self) -> float:
        """The seconds that the confirming run should have: to verify two builds, and to measure."""
        verifying = 2 * expected_seconds(self.dbms.name, self.grade)
        return max(_CONFIRMING_SHARE * self.budget, verifying + 0.15 * self.budget)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A run of the search that has ended, with its samples."""

    run: Run
    samples: SampleArray

    @property
    def kind(self) -> Kind:
        """What it was for."""
        return Kind(self.run.experiment_name.split("-")[2])

    @property
    def sound(self) -> frozenset[str]:
        """The subjects that did not break."""
        return frozenset(subject.name for subject in self.run.subjects if subject.broken is None)

    @property
    def block_seconds(self) -> float:
        """About how long one subject takes for a block."""
        seconds = self.samples.block_seconds or _UNKNOWN_BLOCK
        return seconds / max(len(self.samples.subjects), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A run that is to be made: an experiment file's text under the name of its run."""

    kind: Kind
    name: str
    text: str
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """How a search ended.

    ``confirmed`` is the run that measured the ``winner``. ``refused`` has the reason for each
    candidate that was the best of the rest and is not to be used.
    """

    winner: Candidate | None
    confirmed: Finished | None
    refused: Mapping[str, str] = field(default_factory=dict)


def next_stage(request: Request, finished: Sequence[Finished]) -> Stage | Decision:
    """Return the run that comes next, or how the search ended. ``finished`` are in their order."""
    choosing = [it for it in finished if it.kind is Kind.CHOOSE]
    confirming = [it for it in finished if it.kind is Kind.CONFIRM]
    left = request.budget - sum(it.run.seconds for it in finished)
    if not choosing:
        return rung(request, request.candidates, 0, request.budget - request.reserve)
    if not confirming:
        stage = _next_rung(request, choosing, left - request.reserve)
        if stage is not None:
            return stage
    refused: dict[str, str] = {}
    by_name = _by_name(request, choosing)
    for it in confirming:
        candidate = by_name[_confirmed_name(it)]
        reason = objection(it, candidate, request.tolerated)
        if reason is None:
            return Decision(winner=candidate, confirmed=it, refused=refused)
        refused[candidate.name] = reason
    for standing in ranking(choosing):
        if standing.name not in refused and standing.ratio > 1:
            budget = max(left, _least_for_confirming(request, choosing))
            return confirmation(request, by_name[standing.name], len(confirming), budget)
    return Decision(winner=None, confirmed=None, refused=refused)


def scores(choosing: Sequence[Finished]) -> dict[str, Array]:
    """Return the candidates' log ratios to the base in all blocks of the rungs, by name."""
    parts = [block_scores(it.samples, BASE, it.run.steps) for it in choosing]
    return pooled(parts, [len(it.samples.blocks) for it in choosing])


def ranking(choosing: Sequence[Finished]) -> tuple[Standing, ...]:
    """Return the standings of the candidates that did not break, the best first.

    Who came further in the search goes before who was dropped earlier.
    """
    broken = {
        subject.name for it in choosing for subject in it.run.subjects if subject.broken is not None
    }
    known = scores(choosing)
    ranked = standings({name: known[name] for name in known if name not in broken})
    reached = {name: at for at, it in enumerate(choosing) for name in it.samples.subjects}
    return tuple(sorted(ranked, key=lambda standing: -reached[standing.name]))


def objection(confirmed: Finished, candidate: Candidate, tolerated: float) -> str | None:
    """Return why a candidate is not to be used, by its confirming run; None if it may win.

    It broke, or it is slower on a step for certain by more than is tolerated.
    """
    run = confirmed.run
    for subject in run.subjects:
        if subject.name == candidate.name and subject.broken is not None:
            return subject.broken
    if BASE not in confirmed.samples.subjects:
        return None
    analysis = analyse(confirmed.samples, base=BASE, steps=run.steps, controls=run.controls)
    worst = min(
        (
            effect
            for effect in analysis.throughput_effects
            if effect.subject == candidate.name and _is_lost(effect, tolerated)
        ),
        key=lambda effect: effect.ratio,
        default=None,
    )
    if worst is None:
        return None
    return (
        f"on {worst.step} it is {worst.ratio:.2f} times as fast as the base"
        f" ({worst.low:.2f} to {worst.high:.2f})"
    )


def _is_lost(effect: Effect, tolerated: float) -> bool:
    certain = effect.verdict == Verdict.SLOWER and effect.high is not None
    return certain and not effect.part and (effect.high or 1.0) < 1 - tolerated


def _next_rung(request: Request, choosing: Sequence[Finished], left: float) -> Stage | None:
    """Return another rung, None if the choice is made or the time for choosing is spent."""
    last = choosing[-1].samples.subjects
    ranked = [standing for standing in ranking(choosing) if standing.name in last]
    number = len(choosing)
    best = survivors(ranked)
    if not ranked or number >= _RUNGS:
        return None
    by_name = _by_name(request, choosing)
    candidates = [by_name[name] for name in best]
    if number == 1:
        candidates += _with_levers(candidates[0], request.levers)
    if len(candidates) < 2:
        return None
    seconds = choosing[-1].block_seconds * (len(candidates) + 1)
    blocks = min(blocks_of_rung(number), int(left / seconds))
    if blocks < blocks_of_rung(0):
        return None
    return rung(request, tuple(candidates), number, left, blocks)


def rung(
    request: Request,
    candidates: tuple[Candidate, ...],
    number: int,
    budget: float,
    blocks: int | None = None,
) -> Stage:
    """Return a choosing run of candidates; ``number`` counts from 0, ``budget`` is in seconds."""
    most = blocks or blocks_of_rung(number)
    design = _design(request, budget, target=_FINE, seed=request.design.seed + number)
    return _stage(
        request,
        Kind.CHOOSE,
        number,
        f"choosing among {len(candidates)} candidates",
        candidates,
        {
            "design": design
            | {"control": False, "allot": False, "blocks": {"min": most, "max": most}}
        },
    )


def confirmation(request: Request, candidate: Candidate, number: int, budget: float) -> Stage:
    """Return the run that measures a candidate afresh, against the base and with a control."""
    seed = request.design.seed + _OTHER_SEED + number
    design = _design(request, budget, target=request.design.target, seed=seed)
    blocks = {"min": MINIMUM_BLOCKS, "max": _CONFIRMING_BLOCKS}
    return _stage(
        request,
        Kind.CONFIRM,
        number,
        f"{candidate.name} measured afresh",
        (candidate,),
        {
            "verification": {"grade": request.grade.value},
            "design": design | {"blocks": blocks},
        },
    )


def _stage(
    request: Request,
    kind: Kind,
    number: int,
    what: str,
    candidates: tuple[Candidate, ...],
    last: Mapping[str, Mapping[str, Any]],
) -> Stage:
    controls = {CONTROL: {"like": BASE}} if kind is Kind.CONFIRM else {}
    sections = {candidate.name: candidate.section() for candidate in candidates}
    if kind is Kind.CONFIRM:
        sections = {name: {**section, "optional": False} for name, section in sections.items()}
    base = {"dbms": request.dbms.name, "source": request.dbms.name, "variant": BASE}
    text = file_text(
        "Written by `hone tune`: change it, and give it to `hone run`.",
        {"title": f"{request.dbms.title} tuned: {what}", "base": BASE},
        {
            "sources": {request.dbms.name: request.source},
            "subjects": {BASE: base, **controls, **sections},
            "training": {"sets": list(request.train)},
            "workload": workload_table(request.workload, request.dbms),
            **last,
        },
    )
    name = f"{request.name}-{kind.value}-{number + 1}"
    return Stage(kind=kind, name=name, text=text, candidates=candidates)


def _design(request: Request, budget: float, *, target: float, seed: int) -> dict[str, Any]:
    options = dataclasses.replace(request.design, budget=budget, target=target, seed=seed)
    return design_table(options, 1)


def _with_levers(best: Candidate, levers: tuple[str, ...]) -> list[Candidate]:
    return [dataclasses.replace(best, levers=(word,)) for word in levers]


def _by_name(request: Request, choosing: Sequence[Finished]) -> dict[str, Candidate]:
    """Return all candidates by name; those with levers are the best of the first rung's."""
    candidates = list(request.candidates)
    if request.levers:
        ranked = ranking(choosing[:1])
        candidates += [
            with_lever
            for candidate in request.candidates
            if ranked and candidate.name == ranked[0].name
            for with_lever in _with_levers(candidate, request.levers)
        ]
    return {candidate.name: candidate for candidate in candidates}


def _confirmed_name(it: Finished) -> str:
    return next(name for name in it.run.declared.subjects if name not in {BASE, CONTROL})


def _least_for_confirming(request: Request, choosing: Sequence[Finished]) -> float:
    """Return the seconds that a confirming run needs; two builds' tests are compiled for it."""
    base = choosing[-1].run.base
    compiling = 0.0 if base is None or request.grade is Grade.ANSWERS else base.build_seconds
    verifying = 2 * (expected_seconds(request.dbms.name, request.grade) + compiling)
    measuring = (MINIMUM_BLOCKS + 1) * 3 * choosing[-1].block_seconds
    return 1.2 * (verifying + measuring + 30.0)


def has_ended(run: Run) -> bool:
    """Return whether nothing more can come of a run of a search.

    One whose candidates all broke has failed for good: it found that they are not to be used.
    """
    if run.state is RunState.DONE:
        return True
    subjects = {subject.name: subject for subject in run.subjects}
    candidates = [name for name in run.declared.subjects if name not in {BASE, CONTROL}]
    return run.state is RunState.FAILED and all(
        name in subjects and subjects[name].broken is not None for name in candidates
    )


def tried(request: Request, choosing: Sequence[Finished]) -> Iterator[Candidate]:
    """Yield the candidates of which anything was measured, in the order of the space."""
    measured = scores(choosing)
    return (it for name, it in _by_name(request, choosing).items() if name in measured)
