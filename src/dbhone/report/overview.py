"""What a reader wants to know before anything else: what was compared, and can it be believed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbhone.analysis.verdict import Summary, Verdict, find_winner, half_width, overall
from dbhone.measurement.record import Role, RunState, Subject, Warning
from dbhone.report.findings import Findings
from dbhone.report.wording import joined
from dbhone.units import count_of

_MOST_NAMED = 6
_LARGE = 0.1
"""A difference beyond which nobody needs a laboratory to find it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewItem:
    """One question's name, and its answer in a sentence or two."""

    name: str
    text: str


def overview(
    findings: Findings, alerts: tuple[Warning, ...], notes: int
) -> tuple[OverviewItem, ...]:
    """Return what was compared, how it was measured, and how far it can be trusted.

    ``alerts`` stand before everything, ``notes`` counts the other warnings. Empty without a base.
    """
    if findings.run.base is None:
        return ()
    return (
        OverviewItem(name="Compared", text=_compared(findings, findings.run.base)),
        OverviewItem(name="Measured", text=_measured(findings)),
        OverviewItem(name="To be trusted?", text=" ".join(_trust(findings, alerts, notes))),
    )


def _compared(findings: Findings, base: Subject) -> str:
    others = [subject.name for subject in findings.run.subjects if subject.role is Role.CANDIDATE]
    if findings.history is not None:
        others = [name for name in findings.history.versions if name != base.name]
    named = others if len(others) <= _MOST_NAMED else [f"{len(others)} others"]
    against = f"{base.name} (the base) with {joined(named)}" if named else f"{base.name} alone"
    return f"{joined(list(_makers(findings.run.subjects)))}: {against}."


def _makers(subjects: Sequence[Subject]) -> Iterator[str]:
    """Yield each DBMS with its versions; without them if the subjects are named by version."""
    for name in dict.fromkeys(subject.dbms for subject in subjects):
        own = [
            subject
            for subject in subjects
            if subject.dbms == name and subject.role is not Role.CONTROL
        ]
        versions = list(dict.fromkeys(subject.version for subject in own))
        if len(own) > 1 and all(subject.name == subject.version for subject in own):
            yield name
        elif len(versions) <= _MOST_NAMED:
            yield f"{name} {joined(versions)}"
        else:
            yield f"{name} {versions[0]} to {versions[-1]}"


def _measured(findings: Findings) -> str:
    run, machine = findings.run, findings.run.machine
    threads = sorted({step.threads for step in run.steps if step.threads is not None})
    clients = ""
    if threads:
        numbers = f"{threads[0]} to {threads[-1]}" if len(threads) > 1 else f"{threads[0]}"
        clients = f" with {numbers} client{'' if threads == [1] else 's'}"
    return (
        f"{count_of(len(run.steps), 'step')} of {run.suite}{clients}, in "
        f"{_blocks(findings)} of all subjects in random order, on "
        f"{machine.cpu_model}, {count_of(machine.cores, 'core')}."
    )


def _blocks(findings: Findings) -> str:
    """Return the number of blocks, and how many of them are whole if the run was cut off."""
    counts: dict[bool, int] = {}
    for summary in findings.analysis.throughput_summaries:
        if summary.group is None:
            counts[summary.in_sample] = max(summary.blocks, counts.get(summary.in_sample, 0))
    measured_blocks, whole = findings.analysis.blocks, min(counts.values(), default=0)
    if findings.run.state is RunState.DONE or whole >= measured_blocks:
        return count_of(measured_blocks, "block")
    return f"{count_of(whole, 'block')} and a part of another"


def _trust(findings: Findings, alerts: tuple[Warning, ...], notes: int) -> Iterator[str]:
    codes = {alert.code for alert in alerts}
    if "control-differs" in codes:
        yield "No: the warning above says why."
    elif "control-noisy" in codes:
        yield "Hardly: the warning above says why."
    else:
        yield _noise(findings)
    if notes:
        yield f"{count_of(notes, 'note')} below say{'s' if notes == 1 else ''} what to mind."


def _noise(findings: Findings) -> str:
    """Return how far the base is from itself, and the winner from it."""
    analysis, run = findings.analysis, findings.run
    if not run.controls:
        return "Not known: there is no A/A control to show how much is noise."
    control = run.controls[0]
    score = overall(analysis, control)
    if score is None or score.verdict == Verdict.NOT_ENOUGH_DATA:
        return "Not yet: too little was measured."
    noise = f"{analysis.base} against itself (A/A, {control}) {_differs(score)}"
    winner = None if findings.history else find_winner(analysis, run.subjects)
    if winner is not None:
        return f"As far as the control shows, yes: {noise}, {winner.subject} {_differs(winner)}."
    missed = None if findings.history else _missed(findings)
    if missed is None:
        return f"As far as the control shows, yes: {noise}."
    much = "Of large differences only" if missed > _LARGE else "As far as the control shows, yes"
    return (
        f"{much}: {noise}; half of such runs would have missed a difference of"
        f" {missed * 100:.1f}\u00a0%."
    )


def _missed(findings: Findings) -> float | None:
    """Return the largest difference that would not have been found."""
    subjects = [subject for subject in findings.run.subjects if subject.role is not Role.BASE]
    candidates = [subject for subject in subjects if subject.role is Role.CANDIDATE] or subjects
    scores = [overall(findings.analysis, subject.name) for subject in candidates]
    return max((score.findable for score in scores if score and score.findable), default=None)


def _differs(score: Summary) -> str:
    """Return how far a ratio is from 1: ``differs by 6.1 % (±1.2 %)``."""
    half = half_width(score)
    margin = "" if half is None else f" (±{half * 100:.1f}\u00a0%)"
    return f"differs by {abs(score.ratio - 1) * 100:.1f}\u00a0%{margin}"
