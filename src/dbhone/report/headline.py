"""The one sentence that a person can quote, and the steps that dissent from it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dbhone.analysis.gravity import COMPILERS_DIFFER
from dbhone.analysis.sample_size import SampleSize
from dbhone.analysis.trust import TrustGrade
from dbhone.analysis.verdict import (
    MINIMUM_BLOCKS,
    Analysis,
    Effect,
    Summary,
    Verdict,
    certain_cost,
    controls_of,
    differs,
    find_best,
    find_winner,
    likely,
    overall,
    possible_range,
)
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Role, Run, Subject
from dbhone.report.context import serves, short_names, workload
from dbhone.report.findings import Findings
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
_LEAST_TOLD = 0.0005
"""A gain or a loss that is smaller than this share would be shown as 0.0 %."""
_BY_CHANCE = "one of several comparisons can show that by chance"


@dataclass(frozen=True, slots=True, kw_only=True)
class _HeadlineData:
    """What the headline is written from."""

    run: Run
    base: Subject
    analysis: Analysis
    needs: SampleSize

    @property
    def in_sample(self) -> bool:
        return self.analysis.judged_in_sample

    def sets(self, *, in_sample: bool) -> list[str]:
        return sorted({workload(step) for step in self.run.steps if step.in_sample is in_sample})

    def named(self, *, in_sample: bool) -> str:
        sets = self.sets(in_sample=in_sample)
        return joined(sets) if len(sets) <= _MOST_NAMED else f"{len(sets)} sets"

    @property
    def threads(self) -> str:
        """Return at how many threads it was measured, if at more than one number."""
        numbers = {step.threads for step in self.run.steps if step.threads is not None}
        return f" at {min(numbers)} to {max(numbers)} threads" if len(numbers) > 1 else ""

    def reach(self, summary: Summary) -> str:
        if summary.low is None or summary.high is None:
            return f"{summary.blocks} blocks"
        low, high = (format_ratio(bound, summary) for bound in (summary.low, summary.high))
        confidence = f"{self.analysis.confidence * 100:.0f} %"
        chance = f"; {_BY_CHANCE}" if likely(summary) else ""
        return f"{confidence} interval {low} to {high}, {summary.blocks} blocks{chance}"


def headline(findings: Findings, *, history: str | None = None) -> str:
    """Return the answer, in a sentence or two that stand alone.

    ``history`` is the sentence on a history's changes, if there is one.
    """
    run = findings.run
    if not findings.measured:
        return why(run)
    if run.base is None:
        return "There is no verdict: the run ended before its base was built."
    if run.base.broken is not None:
        return f"There is no verdict: the base {run.base.name} broke ({run.base.broken})."
    candidates = [subject for subject in findings.trusted if subject.role is Role.CANDIDATE]
    data = _HeadlineData(run=run, base=run.base, analysis=findings.analysis, needs=findings.needs)
    versions = findings.history.versions if findings.history else ()
    text = _of_versions(data, versions, history) if history else _finding(data, candidates)
    text += _of_compilers(findings) if history else _left_out(findings.left_out)
    grade, reason = findings.trust.grade, findings.trust.reason
    sound = [subject for subject in run.subjects if subject.broken is None]
    if grade is TrustGrade.NONE and _is_judged(data, sound):
        return f"Not to be trusted, since {reason}: {text}"
    if grade is TrustGrade.LIMITED and _is_judged(data, candidates):
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
    if all(warning.code != COMPILERS_DIFFER for warning in findings.warnings):
        return ""
    return (
        " The versions were built by different compilers, which may be the cause of what changed"
        " between those."
    )


def _is_judged(data: _HeadlineData, subjects: Sequence[Subject]) -> bool:
    """Return whether there is a verdict on one of these subjects."""
    scores = (overall(data.analysis, subject.name) for subject in subjects)
    return any(score and score.verdict != Verdict.NOT_ENOUGH_DATA for score in scores)


def _finding(data: _HeadlineData, candidates: list[Subject]) -> str:
    controls = [subject for subject in data.run.subjects if subject.role is Role.CONTROL]
    compared = candidates or controls
    if not compared:
        return f"There is no verdict: nothing was compared with {data.base.name}."
    whole = [subject for subject in compared if subject.broken is None]
    if not whole:
        return f"There is no verdict: {listed([subject.name for subject in compared])} broke."
    scores = [overall(data.analysis, subject.name) for subject in whole]
    known = [score for score in scores if score is not None]
    judged = [score for score in known if score.verdict != Verdict.NOT_ENOUGH_DATA]
    if not judged:
        return _without_verdict(data, known)
    best = find_best(data.analysis, whole)
    if best is None:
        return _of_controls(data, judged)
    winner = find_winner(data.analysis, whole)
    dissent = dissenting_steps(data.run, data.analysis, best)
    # What is not ruled out is of use where no step shows a difference.
    noise = controls_of(data.analysis, data.run.subjects)
    left_open = () if dissent else tuple(_open(best, judged, noise))
    if winner is not None:
        subject = next(subject for subject in whole if subject.name == winner.subject)
        text = f"{_winner(data, subject, winner)}{_selection_bias_note(winner, judged)}"
        if subject.name in data.run.rejected:
            return f"{text} But it was rejected: {data.run.rejected[subject.name]}."
    elif len(candidates) == 1:
        text = _of_one(data, best, left_open)
        # Where steps dissent, they are what there is to say.
        text += "" if dissent else _cost(data, best)
    else:
        text = _nothing_faster(data, best, judged, left_open)
    return f"{text} But {dissent}" if dissent else text


def _without_verdict(data: _HeadlineData, scores: list[Summary]) -> str:
    """Return the answer of a run with too few blocks; it may have been meant to have no more."""
    most, base = data.run.design.max_blocks, data.base.name
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
        f"{data.needs.verdict_words}."
    )


def _of_controls(data: _HeadlineData, scores: list[Summary]) -> str:
    """Return the answer of a run that compared its base with nothing but itself."""
    base = data.base.name
    text = "; ".join(_control(data, score) for score in scores)
    return f"Nothing was compared with {base} but {base} itself: {text}."


def _control(data: _HeadlineData, score: Summary) -> str:
    judged = data.analysis.judged(score.subject)
    differing = sum(differs(score) for score in judged)
    text = f"{score.subject} runs {_where(data)} {_times(score)} as fast ({data.reach(score)})"
    if score.findable is not None:
        text = f"{text}, where {_would_be_found(score.findable)}"
    verb = "differ" if differing > 1 else "differs"
    return f"{text}, and {differing or 'none'} of {count_of(len(judged), 'figure')} {verb}"


def _winner(data: _HeadlineData, subject: Subject, score: Summary) -> str:
    text = (
        f"On this machine {subject.name} ({compiler(subject.compiler)}) runs "
        f"{_where(data)} {_times(score)} as fast as {data.base.name} ({data.reach(score)})"
    )
    which = "it was trained on" if subject.trained_on else "others were trained on"
    if data.in_sample:
        return f"{text}, measured only on what {which}."
    trained = data.analysis.summary(subject.name, in_sample=True, metric=THROUGHPUT.name)
    if trained is None:
        return f"{text}."
    sets = data.named(in_sample=True)
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


def _of_one(data: _HeadlineData, score: Summary, left_open: Sequence[str]) -> str:
    """Return the answer for the only candidate, which is not faster, and what it leaves open."""
    base, subject, reach = data.base.name, score.subject, data.reach(score)
    if score.verdict == Verdict.SLOWER:
        return f"{_is_slower(data, score)}."
    text = (
        f"No difference was found between {subject} and {base} on {_where(data)}: "
        f"{subject} runs {_times(score)} as fast ({reach})"
    )
    return f"{'; '.join([text, *left_open])}."


def _cost(data: _HeadlineData, score: Summary) -> str:
    """Return what decides where throughput does not: what an operation costs, if that differs."""
    spent = certain_cost(data.analysis, data.run.subjects, score.subject)
    if spent is None or score.verdict != Verdict.NO_DIFFERENCE:
        return ""
    words = cost_words(spent, data.base.name, server=serves(data.run.steps))
    return f" But an operation {words}: {spent.verdict}."


def _is_slower(data: _HeadlineData, score: Summary) -> str:
    return (
        f"{score.subject} is slower than {data.base.name} on {_where(data)}: "
        f"{_times(score)} as fast ({data.reach(score)})"
    )


def _of_versions(data: _HeadlineData, versions: Sequence[str], changes: str) -> str:
    """Return how the newest version compares with the oldest, and what changed between them."""
    oldest, newest = versions[0], versions[-1]
    score = overall(data.analysis, newest) if data.base.name == oldest else None
    if score is None or score.verdict == Verdict.NOT_ENOUGH_DATA:
        return f"From {oldest} to {newest} on {_where(data)}, {changes}"
    where, times, reach = _where(data), f"{_times(score)} as fast", data.reach(score)
    if score.verdict == Verdict.SLOWER:
        first = _is_slower(data, score)
    elif score.verdict == Verdict.FASTER:
        first = f"{newest} runs {where} {times} as {oldest} ({reach})"
    else:
        first = (
            f"No difference was found between {newest} and {oldest} on {where}: {times} ({reach})"
        )
    return f"{first}. On the way, {changes}"


def _nothing_faster(
    data: _HeadlineData, best: Summary, scores: Sequence[Summary], left_open: Sequence[str]
) -> str:
    text = (
        f"Nothing is faster than {data.base.name} on {_where(data)}: the best, "
        f"{best.subject}, runs {_times(best)} as fast ({data.reach(best)})"
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
    ranges = [(*possible_range(score, controls), score.subject) for score in known]
    ends = {
        "gain": [(high - 1, subject) for _, high, subject in ranges],
        "loss": [(1 - low, subject) for low, _, subject in ranges],
    }
    largest = {what: max(sizes) for what, sizes in ends.items() if sizes}
    texts = [
        f"a {what} of up to {size * 100:.1f} %{f' ({subject})' if len(scores) > 1 else ''}"
        for what, (size, subject) in largest.items()
        if size >= _LEAST_TOLD
    ]
    if texts:
        yield f"{' or '.join(texts)} is not ruled out"


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


def _times(summary: Summary) -> str:
    return f"{format_ratio(summary.ratio, summary)} times"


def _where(data: _HeadlineData) -> str:
    """Return what was run: ``speedtest1's held-out sets``."""
    trained, held_out = (data.sets(in_sample=in_sample) for in_sample in (True, False))
    suite = data.run.suite_name
    if not trained:
        return f"{suite}{data.threads}"
    if data.in_sample:
        return f"{suite}'s {data.named(in_sample=True)}{data.threads}"
    if len(held_out) == 1:
        return f"{suite}'s held-out set {held_out[0]}{data.threads}"
    return f"{suite}'s held-out sets{data.threads}"
