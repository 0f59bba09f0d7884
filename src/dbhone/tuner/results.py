"""What a search reports in the end: all that was tried, and what each stage of the winner brought.

These figures are of the choosing runs, which flatter whoever did best in them. The gain is the
confirming run's alone.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Set

from dbhone.analysis.selection import stage_ratio
from dbhone.compilation.inputs import USUAL_COMPILER
from dbhone.measurement.record import Code, Run
from dbhone.measurement.series import Observation
from dbhone.measurement.store import Store
from dbhone.report.page import Page, build_page
from dbhone.report.search import CandidateResult, Search, StageGain
from dbhone.tuner.chain import Chain
from dbhone.tuner.search import Decision, search_of
from dbhone.tuner.space import BASE, Candidate

_ORDER = ("lto", "cspgo", "pgo", "bolt")
"""The stages of a waterfall; what else sets a build apart comes after them."""


def page_of(run: Run, store: Store, observations: tuple[Observation, ...] = ()) -> Page:
    """Return a run's page; that of a search's confirming run tells of the search, too."""
    page = build_page(run, store.samples(run.id), observations)
    found = search_of(run, store)
    return page if found is None else dataclasses.replace(page, search=results(*found))


def results(chain: Chain, decision: Decision) -> Search:
    """Return what a search found."""
    stages = () if decision.winner is None else waterfall(chain, decision.winner)
    return Search(tried=all_tried(chain, decision), stages=stages)


def all_tried(chain: Chain, decision: Decision) -> tuple[CandidateResult, ...]:
    """Return all candidates, the best first, and then those that were not measured."""
    rows = [
        CandidateResult(
            name=standing.name,
            ratio=standing.ratio,
            blocks=standing.blocks,
            status=_status(standing.name, standing.beaten, chain, decision),
        )
        for standing in chain.ranking
    ]
    unmeasured = dict(_absent(chain, {standing.name for standing in chain.ranking}))
    rows += [
        CandidateResult(name=name, ratio=None, blocks=0, status=why)
        for name, why in unmeasured.items()
    ]
    return tuple(rows)


def waterfall(chain: Chain, best: Candidate) -> tuple[StageGain, ...]:
    """Return what each stage brought on the way from the base to a candidate, as far as measured.

    Each stage is a candidate that has one word more; what was not measured by itself is one stage
    with what comes after it.
    """
    known = chain.scores
    if best.name not in known:
        return ()
    measured = {
        candidate: known[name] for name, candidate in chain.candidates.items() if name in known
    }
    zero = known[best.name] * 0.0
    stages: list[StageGain] = []
    before, told = zero, frozenset[str]()
    for words in _prefixes(best):
        stages_of = (candidate for candidate in measured if _is_stage(candidate, best, words))
        stage = next(stages_of, None)
        if stage is None:
            continue
        ratio, half = stage_ratio(measured[stage], before)
        if math.isnan(ratio):
            continue
        added = [word for word in words if word not in told]
        title = "+".join(added) or f"{stage.compiler} instead of {USUAL_COMPILER}"
        if added and not told and not stages and best.compiler != USUAL_COMPILER:
            title = f"{stage.compiler}, {title}"
        reach = (None, None) if half is None else (ratio / math.exp(half), ratio * math.exp(half))
        stages.append(StageGain(stage=title, ratio=ratio, low=reach[0], high=reach[1]))
        before, told = measured[stage], frozenset(words)
    return tuple(stages)


def _status(name: str, beaten: bool, chain: Chain, decision: Decision) -> str:
    if name in decision.rejected:
        return f"rejected: {decision.rejected[name]}"
    if decision.winner is not None and name == decision.winner.name:
        return "measured afresh"
    if name in chain.choosing[-1].samples.subjects:
        return "not the best" if not beaten else "certainly worse"
    return "dropped: certainly worse" if beaten else "dropped: among the worse half"


def _absent(chain: Chain, measured: Set[str]) -> Iterator[tuple[str, str]]:
    """Yield each candidate that has no figure, with the reason."""
    for ended in chain.choosing:
        for warning in ended.run.warnings:
            name = warning.subject
            if warning.code == Code.LEFT_OUT and name is not None and name not in measured:
                yield name, warning.text.removeprefix(f"{name} was left out: ")
        for subject in ended.run.subjects:
            if subject.broken is not None and subject.name not in {BASE, *measured}:
                yield subject.name, f"broken: {subject.broken}"


def _prefixes(best: Candidate) -> Iterator[tuple[str, ...]]:
    """Yield the words of each stage, from the compiler alone to the candidate as a whole."""
    words = sorted(
        best.words, key=lambda word: _ORDER.index(word) if word in _ORDER else len(_ORDER)
    )
    return (tuple(words[:count]) for count in range(len(words) + 1))


def _is_stage(candidate: Candidate, best: Candidate, words: tuple[str, ...]) -> bool:
    return candidate.compiler == best.compiler and frozenset(candidate.words) == frozenset(words)
