"""What was found in as few words as will do: for a list of runs."""

from __future__ import annotations

from dbhone.analysis.history import History
from dbhone.analysis.verdict import Summary, Verdict, find_winner, overall
from dbhone.measurement.record import Role
from dbhone.report.findings import Findings
from dbhone.report.headline import headline
from dbhone.report.wording import spoken
from dbhone.units import count_of


def brief(found: Findings) -> str:
    """Return what was found, without its interval: the headline has that, and the report more."""
    said = _changes(found.history) if found.history is not None else _winner(found)
    if said is None:
        return headline(found, control_differs=False)
    differs = any(each.code == "control-differs" for each in found.warnings)
    return f"Not to be trusted: {said}" if differs else said


def _changes(history: History) -> str | None:
    known = [each for each in history.steps if each.findable is not None]
    if not known:
        return None
    changed = sum(bool(each.told) for each in known)
    steps = count_of(len(history.steps), "step")
    return f"{changed} of {steps} changed from {history.versions[0]} to {history.versions[-1]}"


def _winner(found: Findings) -> str | None:
    run, analysis = found.run, found.analysis
    winner = find_winner(analysis, run.subjects)
    if winner is not None:
        return (
            f"{winner.subject} is {spoken(winner.ratio, winner)} times as fast as {analysis.base}"
        )
    candidates = [each for each in run.subjects if each.role is Role.CANDIDATE]
    scores = [overall(analysis, each.name) for each in candidates if each.broken is None]
    judged = [each for each in scores if each and each.verdict != Verdict.NOT_ENOUGH_DATA]
    if judged and len(candidates) == 1:
        return _of_one(judged[0], analysis.base)
    return f"nothing is faster than {analysis.base}" if judged else None


def _of_one(score: Summary, base: str) -> str:
    """Return what came of the only candidate, which is not faster."""
    ratio = spoken(score.ratio, score)
    if score.verdict == Verdict.SLOWER:
        return f"{score.subject} is slower than {base} ({ratio})"
    return f"no difference found between {score.subject} and {base} ({ratio})"
