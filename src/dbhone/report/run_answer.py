"""What a comparison of two came to, for programs that wait for an answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from dbhone.analysis.trust import TrustGrade
from dbhone.analysis.verdict import (
    MINIMUM_BLOCKS,
    Summary,
    Verdict,
    controls_of,
    deciding_cost,
    overall,
    possible_range,
)
from dbhone.measurement.record import Code, Role, Run, StopReason, Subject
from dbhone.report.context import serves, short_names
from dbhone.report.headline import BY_THE_CONTROL, LEAST_TOLD
from dbhone.report.page import Page
from dbhone.report.wording import cost_words, format_ratio
from dbhone.units import count_of, listed, whole_minutes


class Answer(IntEnum):
    """The answers, as exit codes."""

    NOT_SLOWER = 0
    BROKEN = 1
    SLOWER = 3
    NOT_KNOWN = 4


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """An answer, and one sentence that says why. ``broken`` is which subject broke."""

    answer: Answer
    sentence: str
    broken: Role | None = None


def run_answer(page: Page, *, tolerance: float | None = None) -> RunAnswer:
    """Return whether the one candidate of a page is slower than its base.

    Without a ``tolerance`` the answer is "slower" for every loss that is certain. With one, a
    fraction, it is "slower" only for a loss that is certainly larger, and "not slower" only where a
    larger one is ruled out. The judged summary is the one that decides the winner: over all
    held-out steps, or over the in-sample steps if there are no others. Where a subject broke, where
    the candidate alone failed now and then, or where nothing found here is to be trusted, the
    answer is never "not slower". A limit of trust stands in the sentence.
    """
    candidate = next(iter(page.run.of_role(Role.CANDIDATE)), None)
    if page.run.base is None or candidate is None:
        return _broken(page.run) or RunAnswer(Answer.NOT_KNOWN, "nothing was compared")
    settled = _broken(page.run) or _identical(page.run, candidate)
    if settled is not None:
        return settled
    score = overall(page.analysis, candidate.name)
    if score is None:
        sentence = f"{candidate.name} and {page.run.base.name} were not measured together"
        return RunAnswer(Answer.NOT_KNOWN, sentence)
    if page.trust.grade is TrustGrade.NONE and score.verdict != Verdict.NOT_ENOUGH_DATA:
        return RunAnswer(Answer.NOT_KNOWN, f"not to be trusted: {page.trust.reason}")
    return _as_far_as_trusted(page, candidate, _judged(page, candidate, score, tolerance))


def _as_far_as_trusted(page: Page, candidate: Subject, found: RunAnswer) -> RunAnswer:
    """Return an answer with what limits it, which may be that there is none."""
    failed = _failed_alone(page.run, candidate)
    if failed is not None and found.answer is Answer.NOT_SLOWER:
        return RunAnswer(Answer.NOT_KNOWN, f"{failed}. {page.analysis.base} did not fail")
    if page.trust.grade is TrustGrade.LIMITED and found.answer is not Answer.NOT_KNOWN:
        limit = f"Trust is limited: {page.trust.reason}"
        return RunAnswer(found.answer, f"{found.sentence}. {limit}")
    return found


def _broken(run: Run) -> RunAnswer | None:
    broken = next((subject for subject in run.subjects if subject.broken is not None), None)
    if broken is None:
        return None
    return RunAnswer(Answer.BROKEN, f"{broken.name} broke: {broken.broken}", broken.role)


def _identical(run: Run, candidate: Subject) -> RunAnswer | None:
    for warning in run.warnings:
        if warning.code == Code.IDENTICAL and warning.subject == candidate.name:
            return RunAnswer(Answer.NOT_SLOWER, warning.text)
    return None


def _failed_alone(run: Run, candidate: Subject) -> str | None:
    """Return how a candidate failed in some blocks, None if it did not, or not it alone."""
    failed = {
        warning.subject: warning.text
        for warning in run.warnings
        if warning.code == Code.FAILED_INVOCATIONS
    }
    return failed.get(candidate.name) if len(failed) == 1 else None


def _judged(page: Page, candidate: Subject, summary: Summary, tolerance: float | None) -> RunAnswer:
    ratio = format_ratio(summary.ratio, summary)
    pair = f"{candidate.name} runs {ratio} times as fast as {page.analysis.base}"
    match summary.verdict:
        case Verdict.FASTER:
            return RunAnswer(Answer.NOT_SLOWER, f"{pair}: faster{_though(page, candidate)}")
        case Verdict.SLOWER:
            low, _ = possible_range(summary, controls_of(page.analysis, page.run.subjects))
            _, high = possible_range(summary, ())
            return _of_loss(page, f"{pair}: slower", 1 - high, 1 - low, tolerance)
        case Verdict.NO_DIFFERENCE:
            costs = _of_cost(page, summary, pair, tolerance)
            if costs is not None and costs.answer is not Answer.NOT_SLOWER:
                return costs
            return _of_what_is_left_open(page, candidate, summary, tolerance)
        case _:
            return RunAnswer(
                Answer.NOT_KNOWN,
                f"not enough data: {count_of(summary.blocks, 'block')}, and a verdict"
                f" needs {MINIMUM_BLOCKS}; {page.needs.verdict_words}",
            )


def _of_loss(
    page: Page, words: str, least: float, most: float, tolerance: float | None
) -> RunAnswer:
    """Return what a certain loss, from ``least`` to ``most``, is beside what is tolerated."""
    if tolerance is None:
        return RunAnswer(Answer.SLOWER, words)
    if least > tolerance:
        return RunAnswer(Answer.SLOWER, f"{words}, by more than {_percent(tolerance)}")
    if most <= tolerance:
        return RunAnswer(Answer.NOT_SLOWER, f"{words}, but by no more than {_percent(tolerance)}")
    return RunAnswer(
        Answer.NOT_KNOWN,
        f"{words}, by {max(least, 0.0) * 100:.1f} to {most * 100:.1f} %, and"
        f" {_percent(tolerance)} is tolerated; {_more(page.run)}",
    )


def _of_cost(page: Page, summary: Summary, pair: str, tolerance: float | None) -> RunAnswer | None:
    """Return what the CPU time of an operation says, None if it does not certainly say "more"."""
    spent = deciding_cost(page.analysis, page.run.subjects, summary)
    if spent is None or spent.ratio <= 1 or spent.low is None or spent.high is None:
        return None
    words = cost_words(spent, page.analysis.base, server=serves(page.run.steps))
    sentence = f"{pair}, where no difference was found; but an operation {words}: more"
    return _of_loss(page, sentence, spent.low - 1, spent.high - 1, tolerance)


def _of_what_is_left_open(
    page: Page, candidate: Subject, summary: Summary, tolerance: float | None
) -> RunAnswer:
    """Return the answer where no difference was found, by the loss that is not ruled out."""
    loss, alone = (
        max(0.0, 1 - possible_range(summary, controls)[0])
        for controls in (controls_of(page.analysis, page.run.subjects), ())
    )
    found_none = f"no difference was found between {candidate.name} and {page.analysis.base}"
    whose = f" ({BY_THE_CONTROL})" if loss > alone else ""
    left_open = f"a loss of up to {loss * 100:.1f} %{whose} is not ruled out"
    if tolerance is not None and loss > tolerance:
        return RunAnswer(
            Answer.NOT_KNOWN,
            f"{found_none}; {left_open}, and {_percent(tolerance)} is tolerated;"
            f" {_more(page.run)}{_though(page, candidate)}",
        )
    if loss < LEAST_TOLD:
        left_open = "a loss is ruled out"
    return RunAnswer(Answer.NOT_SLOWER, f"{found_none}; {left_open}{_though(page, candidate)}")


def _percent(tolerance: float) -> str:
    return f"{tolerance * 100:.4g} %"


def _more(run: Run) -> str:
    """Return how more can be known."""
    match run.stopped_by:
        case StopReason.BUDGET:
            budget = whole_minutes(2 * run.seconds)
            return f"'hone resume {run.id} --budget {budget}' measures more"
        case StopReason.BLOCKS:
            return f"it would take more than {count_of(run.design.max_blocks, 'block')}"
        case StopReason.CLEAR:
            return "a new run without --stop-early measures more"
        case _:
            return "a new run with a smaller --target measures more"


def _though(page: Page, candidate: Subject) -> str:
    """Name the steps on which the candidate is slower although it is not in all."""
    short = short_names(page.run)
    slower = [
        short[effect.step]
        for effect in page.analysis.throughput_effects
        if effect.subject == candidate.name and effect.verdict == Verdict.SLOWER
    ]
    return f"; but slower on {listed(slower)}" if slower else ""
