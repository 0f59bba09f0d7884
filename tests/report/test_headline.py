"""The headline, and the steps that go another way than all together."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dbhone.analysis.verdict import Effect, Summary, Verdict, overall
from dbhone.measurement.record import Warning
from dbhone.report.findings import Findings, findings_of
from dbhone.report.headline import dissenting_steps, headline
from dbhone.report.page import build_page
from tests.report.sample_run import Shape, a_run, a_small_run, samples, with_only
from tests.report.sample_servers import a_server_run, server_samples

_VERDICTS = (Verdict.FASTER, Verdict.SLOWER, Verdict.NO_DIFFERENCE, Verdict.NOT_ENOUGH_DATA)


def _found() -> Findings:
    run = with_only(a_run(), "rel", "control", "pgo")
    return findings_of(run, samples(run))


def _with(whole: Verdict, steps: dict[str, tuple[float, Verdict]]) -> Findings:
    """Return a run's findings with this verdict on all held-out steps, and these on some."""
    found = _found()
    analysis = found.analysis

    def effect(each: Effect) -> Effect:
        if each.subject != "pgo" or each.metric != "throughput":
            return each
        ratio, verdict = steps.get(each.step, (1.0, Verdict.NO_DIFFERENCE))
        return replace(each, ratio=ratio, low=ratio * 0.9, high=ratio * 1.1, verdict=verdict)

    def summary(each: Summary) -> Summary:
        chosen = each.subject == "pgo" and each.metric == "throughput" and each.group is None
        return replace(each, low=0.9, high=1.1, verdict=whole) if chosen else each

    return replace(
        found,
        analysis=replace(
            analysis,
            effects=tuple(effect(each) for each in analysis.effects),
            summaries=tuple(summary(each) for each in analysis.summaries),
        ),
    )


def _dissent(whole: Verdict, steps: dict[str, tuple[float, Verdict]]) -> str:
    analysis = _with(whole, steps).analysis
    score = overall(analysis, "pgo")
    assert score is not None
    return dissenting_steps(a_run(), analysis, score)


def _steps(*, in_sample: bool = False) -> list[str]:
    return [
        each.step
        for each in _found().analysis.throughput_effects
        if each.subject == "pgo" and each.in_sample is in_sample
    ]


@pytest.mark.parametrize("whole", _VERDICTS[:3])
def test_steps_count_that_differ_otherwise_than_the_whole(whole: Verdict) -> None:
    first, second, *others = _steps()
    steps = {first: (2.07, Verdict.FASTER), second: (0.54, Verdict.SLOWER)}
    told = _dissent(whole, steps)
    assert (f"faster on 1 of {len(others) + 2} steps ({first} 2.07)" in told) == (
        whole != Verdict.FASTER
    )
    assert ("slower on 1" in told and f"({second} 0.54)" in told) == (whole != Verdict.SLOWER)


def test_nothing_is_told_where_no_step_differs_or_all_do_alike() -> None:
    for verdict in (Verdict.FASTER, Verdict.NO_DIFFERENCE):
        steps = dict.fromkeys(_steps(), (1.2, verdict))
        assert _dissent(verdict, steps) == ""


def test_of_many_steps_the_largest_differences_are_named() -> None:
    steps = _steps()
    ratios = {step: (1 + 0.1 * place, Verdict.FASTER) for place, step in enumerate(steps, 1)}
    largest = f"(most on {steps[-1]} {1 + 0.1 * len(steps):.2f} and "
    told = _dissent(Verdict.NO_DIFFERENCE, ratios)
    assert f"faster on {len(steps)} of {len(steps)} steps {largest}" in told


def test_a_step_that_the_build_was_trained_on_is_not_among_them() -> None:
    trained = dict.fromkeys(_steps(in_sample=True), (0.5, Verdict.SLOWER))
    assert trained
    assert _dissent(Verdict.NO_DIFFERENCE, trained) == ""


def test_steps_are_named_as_short_as_is_plain() -> None:
    run = a_server_run()
    analysis = findings_of(run, server_samples(run)).analysis
    effects = tuple(
        replace(each, ratio=0.5, low=0.4, high=0.6, verdict=Verdict.SLOWER)
        for each in analysis.effects
    )
    score = overall(analysis, "lto")
    assert score is not None
    told = dissenting_steps(
        run, replace(analysis, effects=effects), replace(score, verdict=_VERDICTS[2])
    )
    assert " 0.50 and " in told
    assert "_range" not in told


def test_headline_without_a_difference_says_where_there_is_one_and_not_what_is_left_open() -> None:
    step = _steps()[0]
    text = headline(_with(Verdict.NO_DIFFERENCE, {step: (0.54, Verdict.SLOWER)}))
    assert text.startswith("No difference was found between pgo and rel on speedtest1's held-out")
    assert re.search(
        rf"blocks\)\. But pgo is slower on 1 of \d+ steps \({re.escape(step)} 0\.54\)\."
        r" And an operation takes 0\.\d+ times \[0\.\d+ to 0\.\d+\] the CPU time of rel: less\.$",
        text,
    )
    assert "ruled out" not in text


def test_headline_of_a_winner_says_where_it_is_slower() -> None:
    step = _steps()[0]
    text = headline(_with(Verdict.FASTER, {step: (0.9, Verdict.SLOWER)}))
    assert text.startswith("On this machine pgo ")
    assert re.search(
        rf"\. But pgo is slower on 1 of \d+ steps \({re.escape(step)} 0\.90\)\.$", text
    )


def test_the_best_that_can_be_believed_wins_and_a_faster_one_that_cannot_is_named() -> None:
    refused = Warning(code="many-refused", text="pgo's server refused", subject="pgo")
    run = a_small_run(warnings=(refused,))
    measured = samples(run, Shape(effects={"pgo": (1.5, 1.5), "lto": (1.2, 1.2)}))
    found = findings_of(run, measured)
    said = headline(found)
    assert "lto (gcc" in said
    assert re.search(r"pgo \(1\.\d+ times as fast\) was left out: its figures", said)
    assert "Trust is limited: transactions were refused, by pgo" in said
    page = build_page(run, measured)
    assert page.winner is not None
    assert page.winner.name == "lto"


def test_a_run_whose_only_faster_candidate_cannot_be_believed_has_no_winner() -> None:
    refused = Warning(code="many-refused", text="pgo's server refused", subject="pgo")
    run = a_small_run(warnings=(refused,))
    measured = samples(run, Shape(effects={"pgo": (1.5, 1.5)}))
    assert "was left out: its figures are not of the same work" in headline(
        findings_of(run, measured)
    )
    page = build_page(run, measured)
    assert page.winner is None
    assert page.why_no_winner == (
        "no candidate but pgo, whose figures are not of the same work, was certainly faster than"
        " its base"
    )
