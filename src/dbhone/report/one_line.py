"""The answer of a run in as few words as will do, for a list of runs."""

from __future__ import annotations

from dbhone.analysis.history import History
from dbhone.analysis.trust import TrustGrade
from dbhone.analysis.verdict import Summary, Verdict, deciding_cost
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
    known = sum(step.findable is not None for step in history.steps)
    between = f"from {history.versions[0]} to {history.versions[-1]}"
    if changed:
        return f"{changed} of {count_of(len(history.steps), 'step')} changed {between}"
    return f"no change found in {count_of(known, 'step')} {between}" if known else None


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
        return _candidate_words(findings, best)
    return f"nothing was found faster than {analysis.base}"


def _candidate_words(findings: Findings, score: Summary) -> str:
    """Return the answer for the only candidate, which is not faster."""
    analysis, ratio = findings.analysis, format_ratio(score.ratio, score)
    if score.verdict == Verdict.SLOWER:
        return f"{score.subject} is slower than {analysis.base} ({ratio})"
    words = f"no difference found between {score.subject} and {analysis.base} ({ratio})"
    spent = deciding_cost(analysis, findings.run.subjects, score)
    return f"{words}, but {format_ratio(spent.ratio, spent)} times the CPU time" if spent else words
