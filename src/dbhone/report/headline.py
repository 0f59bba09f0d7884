"""The one sentence that a person can quote, and the steps that dissent from it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from dbhone.analysis.trust import TrustGrade
from dbhone.analysis.verdict import (
    MINIMUM_BLOCKS,
    Analysis,
    Effect,
    Summary,
    Verdict,
    controls_of,
    deciding_cost,
    differs,
    likely,
    overall,
    possible_range,
)
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Code, Role, Run, Subject
from dbhone.report.context import serves, short_names
from dbhone.report.findings import Findings
from dbhone.report.history import changes_sentence
from dbhone.report.nothing_measured import why
from dbhone.report.wording import compiler, cost_words, format_ratio, joined
from dbhone.units import count_of, listed

_NAMED = 2


def dissenting_steps(run: Run, analysis: Analysis, score: Summary) -> str:
    """Return a sentence on the steps whose verdict is another difference than the score's.

    ``score`` is the figure over all steps by which a subject is judged. A step counts if its own
    corrected verdict is faster where the score's is not, or slower where the score's is not. The
    sentence is empty if there is none.
    """
    steps = [
        effect
        for effect in analysis.throughput_effects
        if effect.subject == score.subject and effect.in_sample is score.in_sample
    ]
    short = short_names(run)
    texts: list[str] = []
    for verdict in (Verdict.FASTER, Verdict.SLOWER):
        dissenting = [step for step in steps if step.verdict == verdict != score.verdict]
        if dissenting:
            suffix = "" if texts else f" of {len(steps)} steps"
            texts.append(f"{verdict} on {len(dissenting)}{suffix} ({_named(dissenting, short)})")
    return f"{score.subject} is {' and '.join(texts)}." if texts else ""


def _named(steps: Sequence[Effect], short: Mapping[str, str]) -> str:
    """Return the steps with their ratios, the largest differences first."""
    ordered = sorted(steps, key=lambda effect: (-abs(math.log(effect.ratio)), effect.step))
    named = [
        f"{short[effect.step]} {format_ratio(effect.ratio, effect)}" for effect in ordered[:_NAMED]
    ]
    return joined(named) if len(steps) <= _NAMED else f"most on {joined(named)}"


_MOST_NAMED = 4
LEAST_TOLD = 0.0005
"""A gain or a loss that is smaller than this share would be shown as 0.0 %."""
BY_THE_CONTROL = "as far as the control's interval reaches"
_BY_CHANCE = "one of several comparisons can show that by chance"


def headline(findings: Findings) -> str:
    """Return the answer, in a sentence or two that stand alone."""
    run = findings.run
    if not findings.measured:
        return why(run)
    if run.base is None:
        return "There is no verdict: the run ended before its base was built."
    if run.base.broken is not None:
        return f"There is no verdict: the base {run.base.name} broke ({run.base.broken})."
    history = findings.history
    changes = changes_sentence(history, run) if history else None
    if history and changes:
        text = _of_versions(findings, history.versions, changes) + _of_compilers(findings)
    else:
        text = _finding(findings) + _left_out(findings.left_out)
    grade, reason = findings.trust.grade, findings.trust.reason
    sound = [subject for subject in run.subjects if subject.broken is None]
    if grade is TrustGrade.NONE and _is_judged(findings, sound):
        return f"Not to be trusted, since {reason}: {text}"
    if grade is TrustGrade.LIMITED and _is_judged(findings, findings.candidates):
        return f"{text} Trust is limited: {reason}."
    return text


def _left_out(scores: Sequence[Summary]) -> str:
    """Return a sentence on the candidates that seem faster and cannot be believed."""
    if not scores:
        return ""
    named = joined([f"{score.subject} ({_times(score)} as fast)" for score in scores])
    were, whose = ("was", "its") if len(scores) == 1 else ("were", "their")
    return f" {named} {were} left out: {whose} figures are not of the same work."


def _of_compilers(findings: Findings) -> str:
    """Return a sentence on versions that were not compiled alike, as ready-made ones are not."""
    if all(warning.code != Code.COMPILERS_DIFFER for warning in findings.warnings):
        return ""
    return (
        " The versions were built by different compilers, which may be the cause of what changed"
        " between those."
    )


def _is_judged(findings: Findings, subjects: Sequence[Subject]) -> bool:
    """Return whether there is a verdict on one of these subjects."""
    scores = (overall(findings.analysis, subject.name) for subject in subjects)
    return any(score and score.verdict != Verdict.NOT_ENOUGH_DATA for score in scores)


def _finding(findings: Findings) -> str:
    compared = findings.candidates or findings.run.of_role(Role.CONTROL)
    if not compared:
        return f"There is no verdict: nothing was compared with {findings.analysis.base}."
    whole = [subject for subject in compared if subject.broken is None]
    if not whole:
        return f"There is no verdict: {listed([subject.name for subject in compared])} broke."
    scores = [overall(findings.analysis, subject.name) for subject in whole]
    known = [score for score in scores if score is not None]
    judged = [score for score in known if score.verdict != Verdict.NOT_ENOUGH_DATA]
    if not judged:
        return _without_verdict(findings, known)
    best = findings.best
    if best is None:
        return _of_controls(findings, judged)
    winner = findings.winner
    dissent = dissenting_steps(findings.run, findings.analysis, best)
    contrary = [dissent]
    # What is not ruled out is of use where no step shows a difference.
    noise = controls_of(findings.analysis, findings.run.subjects)
    left_open = () if dissent else tuple(_open(best, judged, noise))
    if winner is not None:
        subject = next(subject for subject in whole if subject.name == winner.subject)
        text = f"{_winner(findings, subject, winner)}{_selection_bias_note(winner, judged)}"
        if subject.name in findings.run.rejected:
            return f"{text} But it was rejected: {findings.run.rejected[subject.name]}."
    elif len(findings.candidates) == 1:
        text = _of_one(findings, best, left_open)
        contrary.append(_cost(findings, best))
    else:
        text = _nothing_faster(findings, best, judged, left_open)
    sentences = " And ".join(filter(None, contrary))
    return f"{text} But {sentences}" if sentences else text


def _without_verdict(findings: Findings, scores: list[Summary]) -> str:
    """Return the answer of a run with too few blocks; it may have been meant to have no more."""
    most, base = findings.run.design.max_blocks, findings.analysis.base
    blocks = max((score.blocks for score in scores), default=0)
    if scores and most < MINIMUM_BLOCKS:
        best = max(scores, key=lambda score: score.ratio)
        rank = f", the best of {len(scores)}" if len(scores) > 1 else ""
        return (
            f"In {count_of(blocks, 'block')} {best.subject} was {_times(best)} as fast as"
            f" {base}{rank}. That is no verdict: it needs {MINIMUM_BLOCKS} blocks, and the"
            f" experiment allows {most}."
        )
    return (
        f"There is no verdict yet: a verdict needs {MINIMUM_BLOCKS} blocks, "
        f"and {blocks or 'none'} {'was' if blocks == 1 else 'were'} measured: "
        f"{findings.needs.verdict_words}."
    )


def _of_controls(findings: Findings, scores: list[Summary]) -> str:
    """Return the answer of a run that compared its base with nothing but itself."""
    base = findings.analysis.base
    text = "; ".join(_control(findings, score) for score in scores)
    return f"Nothing was compared with {base} but {base} itself: {text}."


def _control(findings: Findings, score: Summary) -> str:
    judged = findings.analysis.judged(score.subject)
    differing = sum(differs(score) for score in judged)
    text = f"{score.subject} runs {_where(findings)} {_as_fast(score)}"
    if score.findable is not None:
        text = f"{text}, where {_would_be_found(score.findable)}"
    verb = "differ" if differing > 1 else "differs"
    return f"{text}, and {differing or 'none'} of {count_of(len(judged), 'figure')} {verb}"


def _winner(findings: Findings, subject: Subject, score: Summary) -> str:
    text = (
        f"On this machine {subject.name} ({compiler(subject.compiler)}) runs "
        f"{_where(findings)} {_times(score)} as fast as {findings.analysis.base}"
        f" ({_reach(score)})"
    )
    which = "it was trained on" if subject.trained_on else "others were trained on"
    if findings.analysis.judged_in_sample:
        return f"{text}, measured only on what {which}."
    trained = findings.analysis.summary(subject.name, in_sample=True, metric=THROUGHPUT.name)
    if trained is None:
        return f"{text}."
    sets = _trained_sets(findings.run)
    if trained.verdict in (Verdict.FASTER, Verdict.SLOWER):
        return f"{text}, and {_times(trained)} on {sets}, which {which}."
    return f"{text}; on {sets}, which {which}, the verdict is: {trained.verdict}."


def _selection_bias_note(winner: Summary, judged: Sequence[Summary]) -> str:
    """Return a sentence if others are so close that chance decided which of them is the winner."""
    if winner.low is None:
        return ""
    close = sum(score.high is not None and score.high > winner.low for score in judged)
    if close < 2:
        return ""
    return (
        f" It is the best of {close} that are statistically tied,"
        " so its figure is probably a little high."
    )


def _of_one(findings: Findings, score: Summary, left_open: Sequence[str]) -> str:
    """Return the answer for the only candidate, which is not faster, and what it leaves open."""
    base, subject = findings.analysis.base, score.subject
    if score.verdict == Verdict.SLOWER:
        return f"{_is_slower(findings, score)}."
    text = (
        f"No difference was found between {subject} and {base} on {_where(findings)}: "
        f"{subject} runs {_as_fast(score)}"
    )
    return f"{'; '.join([text, *left_open])}."


def _cost(findings: Findings, score: Summary) -> str:
    """Return what decides where throughput does not: what an operation costs, if that differs."""
    spent = deciding_cost(findings.analysis, findings.run.subjects, score)
    if spent is None:
        return ""
    words = cost_words(spent, findings.analysis.base, server=serves(findings.run.steps))
    return f"an operation {words}: {spent.verdict}."


def _is_slower(findings: Findings, score: Summary) -> str:
    return (
        f"{score.subject} is slower than {findings.analysis.base} on {_where(findings)}: "
        f"{_as_fast(score)}"
    )


def _of_versions(findings: Findings, versions: Sequence[str], changes: str) -> str:
    """Return how the newest version compares with the oldest, and what changed between them."""
    oldest, newest = versions[0], versions[-1]
    score = overall(findings.analysis, newest) if findings.analysis.base == oldest else None
    if score is None or score.verdict == Verdict.NOT_ENOUGH_DATA:
        return f"From {oldest} to {newest} on {_where(findings)}, {changes}"
    where, times, reach = _where(findings), f"{_times(score)} as fast", _reach(score)
    if score.verdict == Verdict.SLOWER:
        first = _is_slower(findings, score)
    elif score.verdict == Verdict.FASTER:
        first = f"{newest} runs {where} {times} as {oldest} ({reach})"
    else:
        first = (
            f"No difference was found between {newest} and {oldest} on {where}: {times} ({reach})"
        )
    return f"{first}. On the way, {changes}"


def _nothing_faster(
    findings: Findings, best: Summary, scores: Sequence[Summary], left_open: Sequence[str]
) -> str:
    text = (
        f"Nothing was found faster than {findings.analysis.base} on {_where(findings)}: the best, "
        f"{best.subject}, runs {_as_fast(best)}"
    )
    return f"{'; '.join([text, *left_open, *_slower(scores)])}."


def _open(best: Summary, scores: Sequence[Summary], controls: Sequence[Summary]) -> Iterator[str]:
    """Yield what is left open: what would have been found, then what is not ruled out.

    The latter are the ends of the intervals, or those of the control's where they reach further.
    """
    if best.findable is not None:
        yield _would_be_found(best.findable)
    unsure = [score for score in scores if score.verdict == Verdict.NO_DIFFERENCE]
    known = [score for score in unsure if score.low is not None]
    largest, alone = _largest(known, controls), _largest(known, ())
    texts = []
    for what, (size, subject) in largest.items():
        if size >= LEAST_TOLD:
            whose = [subject] if len(scores) > 1 else []
            how = [BY_THE_CONTROL] if size > alone[what][0] else []
            said = ", ".join(whose + how)
            texts.append(f"a {what} of up to {size * 100:.1f} %{f' ({said})' if said else ''}")
    if texts:
        yield f"{' or '.join(texts)} is not ruled out"


def _largest(
    scores: Sequence[Summary], controls: Sequence[Summary]
) -> dict[str, tuple[float, str]]:
    """Return the largest gain and loss that are possible, each with its subject."""
    if not scores:
        return {}
    ranges = [(*possible_range(score, controls), score.subject) for score in scores]
    return {
        "gain": max((high - 1, subject) for _, high, subject in ranges),
        "loss": max((1 - low, subject) for low, _, subject in ranges),
    }


def _slower(scores: Sequence[Summary]) -> Iterator[str]:
    """Yield which of several are slower, by name if they are few."""
    slower = [score for score in scores if score.verdict == Verdict.SLOWER]
    if len(slower) > _MOST_NAMED:
        yield f"{len(slower)} of {len(scores)} are slower"
    elif slower:
        named = [f"{score.subject} ({format_ratio(score.ratio, score)})" for score in slower]
        yield f"{joined(named)} {'is' if len(slower) == 1 else 'are'} slower"


def _would_be_found(difference: float) -> str:
    return f"a difference of {difference * 100:.1f} % would have been found in half of such runs"


def _as_fast(summary: Summary) -> str:
    return f"{_times(summary)} as fast ({_reach(summary)})"


def _times(summary: Summary) -> str:
    return f"{format_ratio(summary.ratio, summary)} times"


def _reach(summary: Summary) -> str:
    """Return a summary's interval, and the number of its blocks."""
    if summary.low is None or summary.high is None:
        return f"{summary.blocks} blocks"
    low, high = (format_ratio(bound, summary) for bound in (summary.low, summary.high))
    chance = f"; {_BY_CHANCE}" if likely(summary) else ""
    return f"95 % interval {low} to {high}, {summary.blocks} blocks{chance}"


def _where(findings: Findings) -> str:
    """Return what was run: ``speedtest1's held-out sets``."""
    suite, held_out = findings.run.suite_name, _sets(findings.run, in_sample=False)
    numbers = {step.threads for step in findings.run.steps if step.threads is not None}
    threads = f" at {min(numbers)} to {max(numbers)} threads" if len(numbers) > 1 else ""
    if not _sets(findings.run, in_sample=True):
        return f"{suite}{threads}"
    if findings.analysis.judged_in_sample:
        return f"{suite}'s {_trained_sets(findings.run)}{threads}"
    if len(held_out) == 1:
        return f"{suite}'s held-out set {held_out[0]}{threads}"
    return f"{suite}'s held-out sets{threads}"


def _trained_sets(run: Run) -> str:
    sets = _sets(run, in_sample=True)
    return joined(sets) if len(sets) <= _MOST_NAMED else f"{len(sets)} sets"


def _sets(run: Run, *, in_sample: bool) -> list[str]:
    return sorted({step.suite_set for step in run.steps if step.in_sample is in_sample})
