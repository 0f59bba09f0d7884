"""The search: which experiment comes next, by what those before have found.

A search is a chain of ordinary runs. Choosing runs, the rungs, measure fewer and fewer candidates
in more and more blocks (``analysis/selection.py``). A confirming run measures the best of them and
the base alone, by another seed; only that tells the gain. Nothing is kept but the runs: to go on
with a search is to ask once more what comes next.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Callable, Mapping, Sequence
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
from dbhone.errors import UsageError
from dbhone.experiment.load import parse, recorded
from dbhone.experiment.model import Experiment
from dbhone.experiment.run_lifecycle import begin, take_over
from dbhone.experiment.templates import (
    design_table,
    file_text,
    workload_table,
)
from dbhone.home import Session
from dbhone.measurement.record import Run, RunState
from dbhone.measurement.sample_array import Array, SampleArray
from dbhone.measurement.store import Store
from dbhone.tuner.request import PREFIX, Request
from dbhone.tuner.space import BASE, Candidate, candidate_of
from dbhone.verification.outcome import Grade
from dbhone.verification.verify import expected_seconds

CONTROL = "control"
_RUNGS = 3
_UNKNOWN_BLOCK = 30.0
_FINE = 0.001
"""A precision that no rung reaches: it ends after its blocks."""
_BEYOND_BUDGET = 1
"""Confirming runs after the first, which takes all the time that is left: of the next best, too, a
user wants to know."""
_CONFIRMING_BLOCKS = 60
_OTHER_SEED = 1000


Execute = Callable[[Experiment, Run, bool], object]
"""Executes a run of an experiment; the flag says whether to look for newer sources."""


class Kind(StrEnum):
    """What a run of a search is for."""

    CHOOSE = "choose"
    CONFIRM = "confirm"


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


def of_kind(finished: Sequence[Finished], kind: Kind) -> list[Finished]:
    """Return the runs that were for this."""
    return [ended for ended in finished if ended.kind is kind]


def next_stage(request: Request, finished: Sequence[Finished]) -> Stage | Decision:
    """Return the run that comes next, or how the search ended. ``finished`` are in their order."""
    choosing, confirming = (of_kind(finished, kind) for kind in (Kind.CHOOSE, Kind.CONFIRM))
    left = request.budget - sum(ended.run.seconds for ended in finished)
    if not choosing:
        return rung(request, request.candidates, 0, request.budget - request.reserve)
    if not confirming:
        stage = _next_rung(request, choosing, left - request.reserve)
        if stage is not None:
            return stage
    refused: dict[str, str] = {}
    by_name = tried(choosing)
    for confirmed in confirming:
        candidate = by_name[_confirmed_name(confirmed)]
        reason = objection(confirmed, candidate, request.tolerated)
        if reason is None:
            refused = _ruled_out(choosing, candidate, request.tolerated) | refused
            return Decision(winner=candidate, confirmed=confirmed, refused=refused)
        refused[candidate.name] = reason
    least = _least_for_confirming(request, choosing)
    for standing in ranking(choosing):
        if standing.name in refused or standing.ratio <= 1:
            continue
        candidate = by_name[standing.name]
        reason = _earlier_objection(choosing, candidate, request.tolerated)
        if reason is None and len(confirming) > _BEYOND_BUDGET and left < least:
            reason = "there was no time left to measure it afresh"
        if reason is None:
            return confirmation(request, candidate, len(confirming), max(left, least))
        refused[candidate.name] = reason
    return Decision(winner=None, confirmed=None, refused=refused)


def scores(choosing: Sequence[Finished]) -> dict[str, Array]:
    """Return the candidates' log ratios to the base in all blocks of the rungs, by name."""
    parts = [block_scores(ended.samples, BASE, ended.run.steps) for ended in choosing]
    return pooled(parts, [len(ended.samples.blocks) for ended in choosing])


def ranking(choosing: Sequence[Finished]) -> tuple[Standing, ...]:
    """Return the standings of the candidates that did not break, the best first.

    Who came further in the search goes before who was dropped earlier.
    """
    broken = {
        subject.name
        for ended in choosing
        for subject in ended.run.subjects
        if subject.broken is not None
    }
    known = scores(choosing)
    ranked = standings({name: known[name] for name in known if name not in broken})
    reached = {
        name: rung_number
        for rung_number, ended in enumerate(choosing)
        for name in ended.samples.subjects
    }
    return tuple(sorted(ranked, key=lambda standing: -reached[standing.name]))


def objection(ended: Finished, candidate: Candidate, tolerated: float) -> str | None:
    """Return why a candidate is not to be used, by a run that measured it; None if it may win.

    It broke, or it is slower on a step for certain by more than is tolerated.
    """
    run = ended.run
    for subject in run.subjects:
        if subject.name == candidate.name and subject.broken is not None:
            return subject.broken
    if BASE not in ended.samples.subjects:
        return None
    analysis = analyse(ended.samples, base=BASE, steps=run.steps, controls=run.controls)
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


def _earlier_objection(
    choosing: Sequence[Finished], candidate: Candidate, tolerated: float
) -> str | None:
    """Return why a choosing run rules a candidate out, so that none has to confirm it."""
    reasons = (
        objection(ended, candidate, tolerated)
        for ended in choosing
        if candidate.name in ended.samples.subjects
    )
    return next((reason for reason in reasons if reason is not None), None)


def _ruled_out(choosing: Sequence[Finished], winner: Candidate, tolerated: float) -> dict[str, str]:
    """Return the candidates that stood before the winner and were ruled out, with the reasons."""
    names = [standing.name for standing in ranking(choosing)]
    candidates = tried(choosing)
    reasons = {
        name: _earlier_objection(choosing, candidates[name], tolerated)
        for name in names[: names.index(winner.name)]
    }
    return {name: reason for name, reason in reasons.items() if reason is not None}


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
    by_name = tried(choosing)
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


def _confirmed_name(confirmed: Finished) -> str:
    return next(name for name in confirmed.run.declared.subjects if name not in {BASE, CONTROL})


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


def tried(choosing: Sequence[Finished]) -> dict[str, Candidate]:
    """Return the candidates of choosing runs by name, in the order of promise."""
    sections = [tomllib.loads(ended.run.experiment)["subjects"] for ended in choosing]
    return {
        name: candidate_of(section)
        for subjects in sections
        for name, section in subjects.items()
        if name != BASE
    }


def search_of(run: Run, store: Store) -> tuple[list[Finished], Decision] | None:
    """Return the search whose best candidate a run measured, as far as it came by then.

    None for any other run.
    """
    name, _, kind = run.experiment_name.rpartition("-")[0].rpartition("-")
    if not name.startswith(PREFIX) or kind != Kind.CONFIRM:
        return None
    runs = [own for own in _runs_named(name, store) if own.id <= run.id]
    finished = finished_of(runs, store)
    choosing, confirming = (of_kind(finished, kind) for kind in (Kind.CHOOSE, Kind.CONFIRM))
    candidates = tried(choosing)
    *earlier, last = [(candidates[_confirmed_name(one)], one) for one in confirming]
    refused = {
        candidate.name: objection(one, candidate, 0.0) or "another was measured afresh"
        for candidate, one in earlier
    }
    refused = _ruled_out(choosing, last[0], 0.0) | refused
    return finished, Decision(winner=last[0], confirmed=last[1], refused=refused)


def runs_of(request: Request, store: Store) -> list[Run]:
    """Return the runs of a search so far, in their order."""
    return _runs_named(request.name, store)


def _runs_named(name: str, store: Store) -> list[Run]:
    return [
        store.run(summary.id)
        for summary in store.runs()
        if summary.experiment_name.startswith(f"{name}-")
    ]


def finished_of(runs: Sequence[Run], store: Store) -> list[Finished]:
    """Return runs with their samples."""
    return [Finished(run=run, samples=store.samples(run.id)) for run in runs]


def run_search(
    request: Request, session: Session, store: Store, execute: Execute, *, refresh: bool
) -> Decision:
    """Make run after run until the search has ended; one that was cut off goes on first.

    ``execute`` executes a run to its end. Raises UsageError if the source is another meanwhile.
    """
    while True:
        runs = runs_of(request, store)
        _check_source(runs)
        if runs and not has_ended(runs[-1]):
            take_over(runs[-1], session, store)
            experiment = parse(
                runs[-1].experiment, name=runs[-1].experiment_name, home=session.home
            )
            execute(experiment, runs[-1], False)
            continue
        stage = next_stage(request, finished_of(runs, store))
        if isinstance(stage, Decision):
            return stage
        experiment = recorded(parse(stage.text, name=stage.name), session.home)
        run = begin(experiment, session, store)
        execute(experiment, run, refresh and stage.kind is Kind.CHOOSE)


def _check_source(runs: Sequence[Run]) -> None:
    """Raise UsageError if the source is no longer what it was when the search began."""
    digests = {run.base.source_digest for run in runs if run.base is not None}
    if len(digests) > 1:
        raise UsageError(
            "the source is no longer what it was when the search began",
            hint="--seed 2 begins another search",
        )
