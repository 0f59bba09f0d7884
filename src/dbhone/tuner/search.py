"""The search: which experiment comes next, by what those before have found.

A search is a chain of ordinary runs. Choosing runs, the rungs, measure fewer and fewer candidates
in more and more blocks (``analysis/selection.py``). A confirming run measures the best of them and
the base alone, by another seed; only that tells the gain. Nothing is kept but the runs: to continue
with a search is to ask once more what comes next.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dbhone.analysis.ceiling import overall_ceiling
from dbhone.analysis.comparison import analyse
from dbhone.analysis.judged_steps import judged_steps
from dbhone.analysis.levels import find_levels
from dbhone.analysis.selection import Standing, blocks_of_rung, survivors
from dbhone.analysis.trust import doing_other_work
from dbhone.analysis.verdict import MINIMUM_BLOCKS, Effect, Verdict
from dbhone.analysis.warnings import refused
from dbhone.errors import BudgetSpentError, UsageError
from dbhone.experiment.declaration.load import experiment_of, recorded
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.execution.participants import left_out_warning
from dbhone.experiment.execution.run_lifecycle import begin, take_over
from dbhone.measurement.record import Code, Run, Warning
from dbhone.measurement.store import Store
from dbhone.session import Session
from dbhone.tuner.chain import (
    Chain,
    EndedRun,
    Purpose,
    has_ended,
    runs_named,
    runs_up_to,
    search_of_run,
)
from dbhone.tuner.experiments import confirmation, rung
from dbhone.tuner.inputs import Inputs
from dbhone.tuner.request import Request
from dbhone.tuner.space import BASE, Candidate
from dbhone.verification.verify import expected_seconds

_RUNGS = 3
_BEYOND_BUDGET = 1
"""Confirming runs after the first, which takes all the time that is left: of the next best, too, a
user wants to know."""
_AMPLE = 1.2
"""How many times as long as it probably needs a confirming run gets beyond the search's budget."""
_NEAR_CEILING = 0.97
"""The share of the largest gain that any build could have from which on choosing is over."""
_ANY_LOSS = 1.0
"""The tolerated loss with which no candidate is rejected for being slow."""
_PREPARING_AGAIN = 60.0
"""The seconds that a run needs until it measures if all is built and verified."""

Execute = Callable[[Experiment, Run], object]
"""Executes a run of an experiment."""
Look = Callable[[Experiment], Inputs]
"""Says what the source, the user's files and the machine are by now, for a run to be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """How a search ended.

    ``confirmed`` is the run that measured the ``winner``. ``rejected`` has the reason for each
    candidate that was the best of the rest and is not to be used, the best first.
    """

    winner: Candidate | None
    confirmed: EndedRun | None
    rejected: Mapping[str, str] = field(default_factory=dict)


def next_run(request: Request, chain: Chain) -> Experiment | Decision:
    """Return the run that comes next, or how the search ended."""
    left = request.budget - chain.seconds
    if not chain.choosing:
        return rung(request, request.candidates, 0, request.for_choosing)
    if not chain.confirming:
        another = _next_rung(request, chain, left - request.reserve)
        if another is not None:
            return another
    rejected: dict[str, str] = {}
    by_name = chain.candidates
    # The rung that measured another one was deleted.
    for confirmed in (ended for ended in chain.confirming if ended.confirmed in by_name):
        candidate = by_name[confirmed.confirmed]
        reason = objection(confirmed, candidate.name, request.tolerated)
        if reason is None:
            rejected = _ruled_out(chain, candidate, request.tolerated) | rejected
            return Decision(winner=candidate, confirmed=confirmed, rejected=rejected)
        rejected[candidate.name] = reason
    least = _least_for_confirming(request, chain)
    for standing in chain.ranking:
        if standing.name in rejected or standing.ratio <= 1:
            continue
        candidate = by_name[standing.name]
        reason = _earlier_objection(chain, candidate.name, request.tolerated)
        if reason is None and len(chain.confirming) > _BEYOND_BUDGET and left < least:
            reason = "there was no time left to measure it afresh"
        if reason is None:
            budget = left if left >= least else _AMPLE * least
            return confirmation(request, candidate, len(chain.confirming), budget)
        rejected[candidate.name] = reason
    places = {standing.name: place for place, standing in enumerate(chain.ranking)}
    best_first = sorted(rejected, key=lambda name: places.get(name, len(places)))
    return Decision(
        winner=None, confirmed=None, rejected={name: rejected[name] for name in best_first}
    )


def objection(ended: EndedRun, candidate: str, tolerated: float) -> str | None:
    """Return why a candidate is not to be used, by a run that measured it; None if it may win.

    It broke, it did other work than the base, or it is certainly slower on a step by more than is
    tolerated.
    """
    run = ended.run
    for subject in run.subjects:
        if subject.name == candidate and subject.broken is not None:
            return subject.broken
    if BASE not in ended.samples.subjects:
        return None
    if candidate in doing_other_work(run, (*refused(run, ended.samples), *run.warnings)):
        return "its figures are not of the same work as the base's: transactions were refused"
    analysis = analyse(ended.samples, base=BASE, steps=run.steps, controls=run.controls)
    worst = min(
        (
            effect
            for effect in analysis.throughput_effects
            if effect.subject == candidate and _is_lost(effect, tolerated)
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


def only_loses(chain: Chain, candidate: str, tolerated: float) -> bool:
    """Return whether nothing but a loss on a step speaks against a candidate."""

    def speaks_against(ended: EndedRun, tolerated: float) -> bool:
        return objection(ended, candidate, tolerated) is not None

    strictly = any(speaks_against(ended, tolerated) for ended in chain.runs)
    return strictly and not any(speaks_against(ended, _ANY_LOSS) for ended in chain.runs)


def _earlier_objection(chain: Chain, candidate: str, tolerated: float) -> str | None:
    """Return why a choosing run rules a candidate out, so that none has to confirm it."""
    reasons = (
        objection(ended, candidate, tolerated)
        for ended in chain.choosing
        if candidate in ended.samples.subjects
    )
    return next((reason for reason in reasons if reason is not None), None)


def _ruled_out(chain: Chain, winner: Candidate, tolerated: float) -> dict[str, str]:
    """Return the candidates that stood before the winner and were ruled out, with the reasons."""
    names = [standing.name for standing in chain.ranking]
    reasons = {
        name: _earlier_objection(chain, name, tolerated)
        for name in names[: names.index(winner.name)]
    }
    return {name: reason for name, reason in reasons.items() if reason is not None}


def _is_lost(effect: Effect, tolerated: float) -> bool:
    certain = effect.verdict == Verdict.SLOWER and effect.high is not None
    return certain and (effect.high or 1.0) < 1 - tolerated


def _next_rung(request: Request, chain: Chain, left: float) -> Experiment | None:
    """Return another rung, None if the choice is made or the time for choosing is spent.

    The levers are not tried where they would leave too little time for the builds.
    """
    last, number = chain.choosing[-1], len(chain.choosing)
    ranked = [standing for standing in chain.ranking if standing.name in last.samples.subjects]
    if not ranked or number >= _RUNGS or _is_at_ceiling(last, ranked[0]):
        return None
    alone = tuple(chain.candidates[name] for name in survivors(ranked))
    levers = request.available_levers if number == 1 else ()
    with_levers = (*alone, *(alone[0].with_lever(word) for word in levers))
    for candidates in (with_levers, alone):
        seconds = last.block_seconds * (len(candidates) + 1)
        blocks = min(blocks_of_rung(number), int(left / seconds))
        if len(candidates) > 1 and blocks >= blocks_of_rung(0):
            return rung(request, candidates, number, left, blocks)
    return None


def _is_at_ceiling(ended: EndedRun, best: Standing) -> bool:
    """Return whether the best is about as fast as any build could be."""
    run = ended.run
    judged = judged_steps(ended.samples, BASE, run.steps)
    ceiling = overall_ceiling(find_levels(ended.samples), judged, BASE, run.machine.cores)
    return ceiling is not None and best.ratio >= ceiling * _NEAR_CEILING


def _least_for_confirming(request: Request, chain: Chain) -> float:
    """Return the seconds that a confirming run probably needs, by how fast the base was built."""
    last = chain.choosing[-1]
    base = last.run.base
    slowness = 1.0 if base is None else base.build_seconds / request.dbms.build_seconds
    verifying = slowness * expected_seconds(request.dbms.name, request.grade, builds=2)
    measuring = (MINIMUM_BLOCKS + 1) * 3 * last.block_seconds
    return verifying + measuring + 30.0


def keep_rejection(request: Request, run: Run, store: Store) -> Run:
    """Return a run that has ended, with a warning if its candidate is rejected, else without.

    What spoke against a candidate may have been put right since, as by a repeated verification.
    """
    ended = EndedRun(run=run, samples=store.samples(run.id))
    if ended.purpose is not Purpose.CONFIRM:
        return run
    candidate = ended.confirmed
    reason = objection(ended, candidate, request.tolerated)
    if reason == run.rejected.get(candidate):
        return run
    if reason is None:
        store.withdraw_warning(run.id, Code.REJECTED, candidate)
    else:
        store.add_warning(run.id, Warning(code=Code.REJECTED, text=reason, subject=candidate))
    return store.run(run.id)


def search_of(run: Run, store: Store) -> tuple[Chain, Decision] | None:
    """Return the search whose best candidate a run measured, as far as it came by then.

    None for any other run, and where the runs that chose the candidate were deleted.
    """
    chain = Chain.of_runs(runs_up_to(run, store), store)
    if not chain.confirming:
        return None
    *before, last = chain.confirming
    candidate = chain.candidates.get(last.confirmed)
    if candidate is None:
        return None
    rejected = {
        one.confirmed: objection(one, one.confirmed, 0.0) or "another was measured afresh"
        for one in before
    }
    rejected = _ruled_out(chain, candidate, 0.0) | rejected | dict(run.rejected)
    winner = None if candidate.name in run.rejected else candidate
    return chain, Decision(winner=winner, confirmed=last, rejected=rejected)


def begun_elsewhere(request: Request, store: Store) -> Run | None:
    """Return the last run of a search of the same on another machine or kernel, None without."""
    assert request.inputs is not None, "the machine of a search is known"
    for summary in reversed(store.runs()):
        search = search_of_run(summary.experiment_name)
        if search is None:
            continue
        run = store.run(summary.id)
        there = dataclasses.replace(request.inputs, machine=run.machine.fingerprint)
        elsewhere = dataclasses.replace(request, inputs=there)
        if there != request.inputs and search == elsewhere.name:
            return run
    return None


def run_search(
    request: Request, session: Session, store: Store, execute: Execute, look: Look
) -> Decision:
    """Make run after run until the search has ended; one that was cut off is continued first.

    ``execute`` executes a run to its end. A run whose builds took all of its budget is given the
    time to measure them. ``look`` is asked before each run but the first. Raises UsageError if what
    it says has changed since the search was named.
    The first run keeps what was left out of the search.
    A confirming run that another command ended gets its warning here.
    """

    def complete(experiment: Experiment, run: Run) -> None:
        try:
            execute(dataclasses.replace(experiment, design=run.design), run)
        except BudgetSpentError as spent:
            store.update_run(run.id, budget_seconds=spent.enough + _PREPARING_AGAIN)
            begun = store.run(run.id)
            execute(dataclasses.replace(experiment, design=begun.design), begun)

    unfinished = [run for run in runs_named(request.name, store)[-1:] if not has_ended(run)]
    for run in unfinished:
        take_over(run, session, store)
        complete(experiment_of(run, session.home), run)
    executed = bool(unfinished)
    while True:
        ended = [keep_rejection(request, run, store) for run in runs_named(request.name, store)]
        following = next_run(request, Chain.of_runs(ended, store))
        if isinstance(following, Decision):
            return following
        if executed:
            _check_unchanged(request.inputs, look(following))
        experiment = recorded(following, session.home)
        run = begin(experiment, session, store)
        if not ended:
            for name, reason in request.left_out.items():
                store.add_warning(run.id, left_out_warning(name, reason))
        complete(experiment, run)
        executed = True


def _check_unchanged(before: Inputs | None, now: Inputs) -> None:
    """Raise UsageError if the source, the user's files or the machine are not what they were."""
    if now == before:
        return
    if before is None or now.source != before.source:
        changed = "source"
    else:
        changed = "machine" if now.machine != before.machine else "workload"
    raise UsageError(
        f"the {changed} is no longer what it was when the search began",
        hint="the same command again begins another search, with what is there now",
    )
