"""The answer of a run in as few words as will do, for a list of runs."""

from __future__ import annotations

from dbhone.analysis.history import History
from dbhone.analysis.trust import TrustGrade
from dbhone.analysis.verdict import Summary, Verdict
from dbhone.report.findings import Findings
from dbhone.report.headline import headline
from dbhone.report.history import changed_steps
from dbhone.report.wording import format_ratio
from dbhone.units import count_of


def one_line(findings: Findings) -> str:
    """Return the answer in as few words as will do, for a list of runs: without its interval."""
    text = _changes(findings.history) if findings.history is not None else _winner_words(findings)
    if text is None:
        return headline(findings)
    match findings.trust.grade:
        case TrustGrade.NONE:
            return f"Not to be trusted: {text}"
        case TrustGrade.LIMITED:
            return f"{text} (trust is limited)"
        case TrustGrade.GOOD:
            return text


def _changes(history: History) -> str | None:
    changed = len(changed_steps(history))
    if not changed and all(step.findable is None for step in history.steps):
        return None
    steps = count_of(len(history.steps), "step")
    return f"{changed} of {steps} changed from {history.versions[0]} to {history.versions[-1]}"


def _winner_words(findings: Findings) -> str | None:
    run, analysis = findings.run, findings.analysis
    winner, best = findings.winner, findings.best
    if winner is not None:
        ratio = format_ratio(winner.ratio, winner)
        rejected = ", but was rejected" if winner.subject in run.rejected else ""
        return f"{winner.subject} is {ratio} times as fast as {analysis.base}{rejected}"
    if best is None:
        return None
    if len(findings.candidates) == 1:
        return _candidate_words(best, analysis.base)
    return f"nothing is faster than {analysis.base}"


def _candidate_words(score: Summary, base: str) -> str:
    """Return the answer for the only candidate, which is not faster."""
    ratio = format_ratio(score.ratio, score)
    if score.verdict == Verdict.SLOWER:
        return f"{score.subject} is slower than {base} ({ratio})"
    return f"no difference found between {score.subject} and {base} ({ratio})"
