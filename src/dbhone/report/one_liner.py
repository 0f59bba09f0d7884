"""What was found in as few words as will do: for a list of runs."""

from __future__ import annotations

from dbhone.analysis.history import History
from dbhone.analysis.verdict import Summary, Verdict, find_winner, sound_scores
from dbhone.measurement.record import Role
from dbhone.report.findings import Findings
from dbhone.report.headline import headline
from dbhone.report.wording import format_ratio
from dbhone.units import count_of


def one_line(findings: Findings) -> str:
    """Return the answer without its interval, which the headline has."""
    text = _changes(findings.history) if findings.history is not None else _winner(findings)
    if text is None:
        return headline(findings, control_differs=False)
    differs = any(warning.code == "control-differs" for warning in findings.warnings)
    return f"Not to be trusted: {text}" if differs else text


def _changes(history: History) -> str | None:
    known = [step for step in history.steps if step.findable is not None]
    if not known:
        return None
    changed = sum(bool(step.shown_changes) for step in known)
    steps = count_of(len(history.steps), "step")
    return f"{changed} of {steps} changed from {history.versions[0]} to {history.versions[-1]}"


def _winner(findings: Findings) -> str | None:
    run, analysis = findings.run, findings.analysis
    winner = find_winner(analysis, run.subjects)
    if winner is not None:
        ratio = format_ratio(winner.ratio, winner)
        return f"{winner.subject} is {ratio} times as fast as {analysis.base}"
    candidates = [subject for subject in run.subjects if subject.role is Role.CANDIDATE]
    scores = sound_scores(analysis, candidates, Role.CANDIDATE)
    judged = [score for score in scores if score.verdict != Verdict.NOT_ENOUGH_DATA]
    if judged and len(candidates) == 1:
        return _candidate_words(judged[0], analysis.base)
    return f"nothing is faster than {analysis.base}" if judged else None


def _candidate_words(score: Summary, base: str) -> str:
    """Return the answer for the only candidate, which is not faster."""
    ratio = format_ratio(score.ratio, score)
    if score.verdict == Verdict.SLOWER:
        return f"{score.subject} is slower than {base} ({ratio})"
    return f"no difference found between {score.subject} and {base} ({ratio})"
