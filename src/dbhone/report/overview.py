"""What a reader wants to know before anything else: what was compared, and can it be believed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from dbhone.analysis.trust import TrustGrade
from dbhone.analysis.verdict import (
    Effect,
    Summary,
    Verdict,
    certain_cost,
    cost,
    differs,
    likely,
    most_different,
)
from dbhone.measurement.record import Role, RunState, Subject, wholes
from dbhone.report.context import serves, short_names
from dbhone.report.findings import Findings
from dbhone.report.nothing_measured import what_is_left
from dbhone.report.wording import capital, cost_words, ends, format_ratio, joined
from dbhone.units import count_of

_MOST_NAMED = 6
_TESTED = frozenset({"smoke", "full"})
"""The grades that have the DBMS's own tests."""
_MOST_MOVED = 3


_ANSWERS = {
    TrustGrade.GOOD: "As far as the control shows, yes",
    TrustGrade.LIMITED: "With limits",
    TrustGrade.NONE: "No",
}


def overview(
    findings: Findings, winner: Subject | None, notes: int, ceiling: float | None
) -> tuple[tuple[str, str], ...]:
    """Return what was compared, how it was measured, what moved, and how far it can be trusted.

    Each is a question's name, and its answer in a sentence or two. Of a ``winner`` it names the
    next commands. ``notes`` counts the warnings of the page; ``ceiling`` is the largest gain that
    any build could have. Where nothing was measured it says what is ready and what to do next.
    Empty where the base alone was not.
    """
    if not findings.measured:
        return tuple(what_is_left(findings.run))
    if findings.run.base is None:
        return ()
    moved = "; ".join(_moved(findings)) if findings.history is None else ""
    costs = _costs(findings) if findings.history is None else ""
    answer = f"{_ANSWERS[findings.trust.grade]}: {findings.trust.reason}."
    if notes:
        answer += f" See the {'note' if notes == 1 else count_of(notes, 'note')}."
    answers = {
        "Compared": _compared(findings, findings.run.base),
        "Measured": _measured(findings),
        "Moved most": f"{capital(moved)}." if moved else "",
        "Why": _why(findings),
        "Costs": costs,
        "At most": _at_most(findings, ceiling) if ceiling else "",
        "To be trusted?": answer,
        "To use it": _next(findings, winner) if winner else "",
    }
    return tuple((name, text) for name, text in answers.items() if text)


def _at_most(findings: Findings, ceiling: float) -> str:
    base = findings.analysis.base
    return (
        f"No build of the server could be more than about {ceiling:.2f} times as fast as {base}"
        " here: the kernel and the clients take the rest."
    )


def _next(findings: Findings, winner: Subject) -> str:
    if winner.ready_made or len(findings.origins) > 1:
        return f"{winner.name} is at {winner.build_path}."
    run, grade = findings.run.id, findings.run.declared.grade
    if grade in _TESTED:
        return (
            f"{winner.name} passed all tests of the grade {grade} that {findings.analysis.base}"
            f" passes; 'hone package {run}' packs it with the proof."
        )
    return (
        f"'hone verify {run}' runs the DBMS's own tests on {winner.name}, and 'hone package {run}'"
        " packs it with the proof."
    )


def _compared(findings: Findings, base: Subject) -> str:
    others = [subject.name for subject in findings.run.of_role(Role.CANDIDATE)]
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
        f"{count_of(len(wholes(run.steps)), 'step')} of {run.suite_name}{clients}, in "
        f"{_blocks(findings)} of all subjects in random order, on "
        f"{machine.cpu_model}, {count_of(machine.cores, 'core')}."
    )


def _blocks(findings: Findings) -> str:
    """Return the number of blocks, and how many of them are whole if the run was cut off.

    Summaries count the blocks of a layout once.
    """
    counts: dict[bool, int] = {}
    for summary in findings.analysis.throughput_summaries:
        if summary.group is None:
            counts[summary.in_sample] = max(summary.blocks, counts.get(summary.in_sample, 0))
    measured_blocks, whole = findings.analysis.blocks, min(counts.values(), default=0)
    counted = min(measured_blocks, findings.run.layouts or measured_blocks)
    if findings.run.state is RunState.DONE or whole >= counted:
        return count_of(measured_blocks, "block")
    return f"{count_of(whole, 'block')} and a part of another"


def _moved(findings: Findings) -> Iterator[str]:
    """Yield the largest gains and the largest losses, of all candidates' steps and their parts."""
    candidates = {subject.name for subject in findings.run.of_role(Role.CANDIDATE)}
    short = short_names(findings.run)
    analysis = findings.analysis
    effects = [
        effect
        for effect in analysis.throughput_effects_with_parts
        if effect.subject in candidates and (differs(effect) or likely(effect))
    ]
    for word, ordered in (
        ("Gains", sorted(effects, key=lambda effect: -effect.ratio)),
        ("losses", sorted(effects, key=lambda effect: effect.ratio)),
    ):
        own = [effect for effect in ordered if (effect.ratio > 1) == (word == "Gains")]
        named = [_named(effect, short, many=len(candidates) > 1) for effect in own[:_MOST_MOVED]]
        if named:
            more = f" and {len(own) - len(named)} more" if len(own) > len(named) else ""
            yield f"{word}: {', '.join(named)}{more}"


def _why(findings: Findings) -> str:
    """Return the command that says why, of servers that were up at once and differ."""
    run = findings.run
    if len(findings.origins) > 1 or run.one_server or not serves(run.steps):
        return ""
    effect = most_different(findings.analysis, run.controls)
    if effect is None or not differs(effect):
        return ""
    command = shlex.join(("hone", "explain", str(run.id), effect.subject, effect.step))
    return f"'{command}' samples both servers' stacks and says where the time goes."


def _costs(findings: Findings) -> str:
    """Return what an operation costs the winner, or else the best of the candidates.

    That is the second figure by which a subject is judged, and it is said which of the two decides.
    """
    run, analysis = findings.run, findings.analysis
    best = findings.best
    spent = cost(analysis, best.subject) if best is not None else None
    if best is None or spent is None or spent.low is None:
        return ""
    words = cost_words(spent, analysis.base, server=serves(run.steps))
    decides = _deciding(best, spent, certain_cost(analysis, run.subjects, best.subject))
    return f"An operation of {best.subject} {words}: {decides}."


def _deciding(score: Summary, spent: Summary, certain: Summary | None) -> str:
    """Return which of throughput and cost decides between a subject and the base, and how."""
    if spent.verdict == Verdict.NOT_ENOUGH_DATA:
        return "throughput decides, since too few blocks have a CPU time of all steps"
    if certain is None:
        unsure = " (a control's differs, or may differ as much)" if differs(spent) else ""
        return "throughput decides, since no difference in CPU time is certain" + unsure
    if differs(score):
        same = (score.ratio > 1) == (certain.ratio < 1)
        return f"{certain.verdict}, {'as' if same else 'and not as'} its throughput says"
    return f"{certain.verdict}, which decides, since no difference in throughput is certain"


def _named(effect: Effect, short: Mapping[str, str], *, many: bool) -> str:
    whose = f"{effect.subject} on " if many else ""
    unsure = " (likely)" if likely(effect) else ""
    interval = f" [{ends(effect)}]" if effect.low is not None else ""
    return f"{whose}{short[effect.step]} {format_ratio(effect.ratio, effect)}{interval}{unsure}"
