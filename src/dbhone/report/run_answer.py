"""What a comparison of two came to, for programs that wait for an answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from dbhone.analysis.trust import TrustGrade
from dbhone.analysis.verdict import (
    MINIMUM_BLOCKS,
    Summary,
    Verdict,
    certain_cost,
    controls_of,
    overall,
    possible_range,
)
from dbhone.measurement.record import Role, Subject
from dbhone.report.context import serves, short_names
from dbhone.report.headline import BY_THE_CONTROL, LEAST_TOLD
from dbhone.report.page import Page
from dbhone.report.wording import cost_words, format_ratio
from dbhone.units import count_of, exact_percent, listed


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


def run_answer(
    page: Page, *, tolerance: float | None = None, tolerates_certain: bool = False
) -> RunAnswer:
    """Return whether the one candidate of a page is slower than its base.

    With a ``tolerance``, a fraction, it is "not slower" only if a larger loss is ruled out. If that
    ``tolerates_certain`` losses, too, it is "slower" only by a loss that is certainly larger. The
    judged summary is the one that decides the winner: over all held-out steps, or over the
    in-sample steps if there are no others. Where a subject broke, or where nothing found here is to
    be trusted, the answer is never "not slower". A limit of trust stands in the sentence.
    """
    broken = next((subject for subject in page.run.subjects if subject.broken is not None), None)
    if broken is not None:
        return RunAnswer(Answer.BROKEN, f"{broken.name} broke: {broken.broken}", broken.role)
    candidate = next(iter(page.run.of_role(Role.CANDIDATE)), None)
    if page.run.base is None or candidate is None:
        return RunAnswer(Answer.NOT_KNOWN, "nothing was compared")
    score = overall(page.analysis, candidate.name)
    if score is None:
        sentence = f"{candidate.name} and {page.run.base.name} were not measured together"
        return RunAnswer(Answer.NOT_KNOWN, sentence)
    if page.trust.grade is TrustGrade.NONE and score.verdict != Verdict.NOT_ENOUGH_DATA:
        return RunAnswer(Answer.NOT_KNOWN, f"not to be trusted: {page.trust.reason}")
    if score.verdict == Verdict.SLOWER and tolerates_certain and tolerance is not None:
        found = _beyond(_pair(page, candidate, score), score, tolerance)
    else:
        found = _judged(page, candidate, score, tolerance)
    if page.trust.grade is TrustGrade.LIMITED and found.answer is not Answer.NOT_KNOWN:
        limit = f"Trust is limited: {page.trust.reason}"
        return RunAnswer(found.answer, f"{found.sentence}. {limit}")
    return found


def _pair(page: Page, candidate: Subject, summary: Summary) -> str:
    ratio = format_ratio(summary.ratio, summary)
    return f"{candidate.name} runs {ratio} times as fast as {page.analysis.base}"


def _beyond(pair: str, summary: Summary, tolerance: float) -> RunAnswer:
    """Return what a certain loss is beside one that is tolerated."""
    low, high = possible_range(summary, ())
    least, most = 1 - high, 1 - low
    if least > tolerance:
        return RunAnswer(Answer.SLOWER, f"{pair}: slower, by more than {exact_percent(tolerance)}")
    if most <= tolerance:
        return RunAnswer(
            Answer.NOT_SLOWER, f"{pair}: slower, but by no more than {exact_percent(tolerance)}"
        )
    return RunAnswer(
        Answer.NOT_KNOWN,
        f"{pair}: slower; the loss may be larger or smaller than {exact_percent(tolerance)},"
        f" from {least:.1%} to {most:.1%}",
    )


def _judged(page: Page, candidate: Subject, summary: Summary, tolerance: float | None) -> RunAnswer:
    base = page.analysis.base
    pair = _pair(page, candidate, summary)
    match summary.verdict:
        case Verdict.FASTER:
            return RunAnswer(Answer.NOT_SLOWER, f"{pair}: faster{_though(page, candidate)}")
        case Verdict.SLOWER:
            return RunAnswer(Answer.SLOWER, f"{pair}: slower")
        case Verdict.NO_DIFFERENCE:
            spent = certain_cost(page.analysis, page.run.subjects, candidate.name)
            if spent is not None and spent.ratio > 1 + (tolerance or 0.0):
                words = cost_words(spent, base, server=serves(page.run.steps))
                sentence = f"{pair}, where no difference was found; but an operation {words}: more"
                return RunAnswer(Answer.SLOWER, sentence)
            controls = controls_of(page.analysis, page.run.subjects)
            loss = max(0.0, 1 - possible_range(summary, controls)[0])
            alone = max(0.0, 1 - possible_range(summary, ())[0])
            whose = BY_THE_CONTROL if loss > alone else ""
            exceeds, much = False, ""
            if tolerance is not None and loss > tolerance:
                exceeds, much = True, f", and {exact_percent(tolerance)} is tolerated"
            left_open = f"a loss of up to {loss * 100:.1f} % is not ruled out{whose}{much}"
            return RunAnswer(
                Answer.NOT_KNOWN if exceeds else Answer.NOT_SLOWER,
                f"no difference was found between {candidate.name} and {base}; "
                f"{left_open if loss >= LEAST_TOLD else 'a loss is ruled out'}"
                f"{_though(page, candidate)}",
            )
        case _:
            return RunAnswer(
                Answer.NOT_KNOWN,
                f"not enough data: {count_of(summary.blocks, 'block')}, and a verdict"
                f" needs {MINIMUM_BLOCKS}; {page.needs.verdict_words}",
            )


def _though(page: Page, candidate: Subject) -> str:
    """Name the steps on which the candidate is slower although it is not in all."""
    short = short_names(page.run)
    slower = [
        short[effect.step]
        for effect in page.analysis.throughput_effects
        if effect.subject == candidate.name and effect.verdict == Verdict.SLOWER
    ]
    return f"; but slower on {listed(slower)}" if slower else ""
