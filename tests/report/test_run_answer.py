"""Whether B is slower than A: the answer, and its exit code."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dbhone.analysis.verdict import Verdict, overall
from dbhone.measurement.metric import CPU_SECONDS, THROUGHPUT
from dbhone.measurement.record import Code, Run, RunState, StopReason, Warning
from dbhone.measurement.sample_array import SampleArray
from dbhone.report.contract import report
from dbhone.report.findings import findings_of
from dbhone.report.headline import BY_THE_CONTROL
from dbhone.report.one_line import one_line
from dbhone.report.page import Page, build_page
from dbhone.report.run_answer import Answer, run_answer
from tests.analysis.columns import columns, with_values
from tests.report.answered_pages import _run, broken_page, compared_page
from tests.report.sample_run import changed, without
from tests.report.sample_servers import Shape, server_page, server_samples
from tests.report.told import answers


def page_where_operations_cost(ratio: float, *, control: float = 1.0, speed: float = 1.0) -> Page:
    """Return a page on which lto's operations take so many times the base's CPU time."""
    run = _run()
    samples = server_samples(run, Shape(effects={"lto": (speed, speed)}))
    table = columns(samples)
    factors = {"lto": ratio, "control": control}
    factor = np.array([factors.get(name, 1.0) for name in samples.subjects])[table.subject]
    costs = table.values[CPU_SECONDS.name] * factor
    return build_page(run, with_values(samples, **{CPU_SECONDS.name: costs}))


def test_cost_decides_where_throughput_does_not() -> None:
    dear = page_where_operations_cost(1.05)
    found = run_answer(dear)
    assert found.answer is Answer.SLOWER
    assert "no difference was found; but an operation takes 1.05" in found.sentence
    assert run_answer(dear, tolerance=0.1).answer is Answer.NOT_SLOWER
    assert run_answer(dear, tolerance=0.02).answer is Answer.SLOWER
    assert run_answer(dear, tolerance=0.05).answer is Answer.NOT_KNOWN
    said = one_line(findings_of(dear.run, dear.samples))
    assert said.endswith(", but 1.05 times the CPU time")
    assert "the server CPU time of rel: more." in dear.headline
    assert answers(dear)["Costs"].endswith(
        "more, which decides, since no difference in throughput is certain."
    )
    cheap = page_where_operations_cost(0.9)
    assert run_answer(cheap).answer is Answer.NOT_SLOWER
    assert "But an operation takes 0.90" in cheap.headline


def test_cost_decides_nothing_where_a_control_differs_in_it_or_throughput_decides() -> None:
    noisy = page_where_operations_cost(1.05, control=0.95)
    assert run_answer(noisy).answer is Answer.NOT_SLOWER
    assert "But an operation" not in noisy.headline
    assert "a control's differs, or may differ as much" in answers(noisy)["Costs"]
    faster = page_where_operations_cost(1.3, speed=1.2)
    assert run_answer(faster).answer is Answer.NOT_SLOWER
    assert answers(faster)["Costs"].endswith("and not as its throughput says.")


@pytest.mark.parametrize(
    ("page", "answer", "said"),
    [
        (compared_page(1.2), Answer.NOT_SLOWER, "times as fast as rel: faster"),
        (compared_page(0.8), Answer.SLOWER, "times as fast as rel: slower"),
        (compared_page(1.0), Answer.NOT_SLOWER, "; a loss of up to"),
        (
            compared_page(0.8, blocks=5),
            Answer.NOT_KNOWN,
            "not enough data: 5 blocks, and a verdict needs",
        ),
        (compared_page(1.2, blocks=1), Answer.NOT_KNOWN, "not enough data: 1 block,"),
        (compared_page(1.2, blocks=0), Answer.NOT_KNOWN, "were not measured together"),
        (
            compared_page(1.2, control=1.1),
            Answer.NOT_KNOWN,
            "not to be trusted: the base rel differs",
        ),
        (
            compared_page(0.8, control=1.1),
            Answer.NOT_KNOWN,
            "not to be trusted: the base rel differs",
        ),
        (broken_page("lto"), Answer.BROKEN, "lto broke: other results than the base"),
        (broken_page("rel"), Answer.BROKEN, "rel broke"),
        (broken_page("control"), Answer.BROKEN, "control broke"),
    ],
)
def test_answer_follows_the_overall_verdict(page: Page, answer: Answer, said: str) -> None:
    found = run_answer(page)
    assert found.answer is answer
    assert said in found.sentence


def test_a_run_without_a_candidate_has_no_answer() -> None:
    assert run_answer(server_page(without(_run(), "lto"))).answer is Answer.NOT_KNOWN


def test_the_loss_that_could_hide_is_the_intervals_end_or_the_controls() -> None:
    page = compared_page(1.0)
    found, control = (overall(page.analysis, name) for name in ("lto", "control"))
    assert found is not None and control is not None
    assert found.low is not None and control.low is not None and control.high is not None
    loss = max(1 - found.low, 1 - control.low, 1 - 1 / control.high)
    assert f"{loss * 100:.1f} %" in run_answer(page).sentence


def test_a_control_that_reads_further_off_than_the_candidate_limits_the_answer() -> None:
    page = compared_page(1.0, control=0.99)
    control = overall(page.analysis, "control")
    assert control is not None and control.low is not None
    reach = (1 - control.low) * 100
    said = f"{reach:.1f} % ({BY_THE_CONTROL}) is not ruled out"
    assert said in run_answer(page).sentence
    assert run_answer(page, tolerance=0.99 * (1 - control.low)).answer is Answer.NOT_KNOWN


def test_a_larger_loss_than_is_tolerated_is_no_answer() -> None:
    page = compared_page(1.0)
    loss = float(run_answer(page).sentence.partition("a loss of up to ")[2].split(" ")[0]) / 100
    assert run_answer(page, tolerance=loss + 0.001).answer is Answer.NOT_SLOWER
    found = run_answer(page, tolerance=loss - 0.001)
    assert found.answer is Answer.NOT_KNOWN
    said = f", and {(loss - 0.001) * 100:.4g} % is tolerated; "
    assert f"{said}'hone resume 12 --budget 15m' measures more" in found.sentence
    for reason, more in (
        (StopReason.TARGET, "a new run with a smaller --target measures more"),
        (StopReason.CLEAR, "a new run without --stop-early measures more"),
        (StopReason.BLOCKS, "it would take more than 100 blocks"),
    ):
        ended = replace(page, run=replace(page.run, stopped_by=reason))
        assert f"{said}{more}" in run_answer(ended, tolerance=loss - 0.001).sentence


@pytest.mark.parametrize(
    ("tolerance", "answer", "said"),
    [
        (None, Answer.SLOWER, "slower"),
        (0.1, Answer.SLOWER, "slower, by more than 10 %"),
        (0.2, Answer.NOT_KNOWN, "and 20 % is tolerated; "),
        (0.5, Answer.NOT_SLOWER, "slower, but by no more than 50 %"),
    ],
)
def test_a_certain_loss_counts_if_it_is_certainly_more_than_is_tolerated(
    tolerance: float | None, answer: Answer, said: str
) -> None:
    found = run_answer(compared_page(0.8), tolerance=tolerance)
    assert found.answer is answer
    assert said in found.sentence


def test_a_candidate_that_alone_failed_now_and_then_has_no_good_answer() -> None:
    failed = Warning(code=Code.FAILED_INVOCATIONS, text="lto failed on scan", subject="lto")
    run = _run()
    measured = server_samples(run, Shape(effects={"lto": (1.2, 1.2)}))
    alone = run_answer(build_page(replace(run, warnings=(failed,)), measured))
    assert alone.answer is Answer.NOT_KNOWN
    assert alone.sentence == "lto failed on scan. rel did not fail"
    both = (failed, replace(failed, subject="control"))
    found = run_answer(build_page(replace(run, warnings=both), measured))
    assert found.answer is Answer.NOT_SLOWER


def test_what_is_byte_for_byte_the_base_is_not_slower_whatever_was_measured() -> None:
    same = Warning(code=Code.IDENTICAL, text="lto is byte for byte the base", subject="lto")
    run = replace(_run(), warnings=(same,))
    for ratio in (1.0, 0.8):
        page = build_page(run, server_samples(run, Shape(effects={"lto": (ratio, ratio)})))
        found = run_answer(page)
        assert (found.answer, found.sentence) == (Answer.NOT_SLOWER, same.text)


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.INTERRUPTED])
def test_a_run_that_is_not_done_has_limited_trust(state: RunState) -> None:
    run = replace(_run(), state=state)
    page = build_page(run, server_samples(run, Shape(effects={"lto": (1.2, 1.2)})))
    assert page.headline.endswith(f"Trust is limited: {run.unfinished}.")
    assert report(page)["trust"]["grade"] == "limited"


def test_steps_that_are_slower_are_named_though_all_together_are_not() -> None:
    page = compared_page(1.2)
    effects = tuple(
        replace(each, verdict=Verdict.SLOWER) if each.step == "update-one_range=100" else each
        for each in page.analysis.effects
    )
    changed = replace(page, analysis=replace(page.analysis, effects=effects))
    found = run_answer(changed)
    assert found.answer is Answer.NOT_SLOWER
    assert found.sentence.endswith("; but slower on update-one")


def test_exit_codes_are_those_that_are_promised() -> None:
    assert {each.name: each.value for each in Answer} == {
        "NOT_SLOWER": 0,
        "BROKEN": 1,
        "SLOWER": 3,
        "NOT_KNOWN": 4,
    }


def _doubtful() -> dict[str, tuple[Run, SampleArray]]:
    """Return runs whose lto is faster, and not to be believed, by why."""
    run, faster = _run(), {"lto": (1.2, 1.2)}
    measured = server_samples(run, Shape(effects=faster))
    table = columns(measured)
    control = table.subject == measured.subjects.index("control")
    rates = np.where(control & (table.block > 2), np.nan, table.values[THROUGHPUT.name])
    return {
        "the control broke": (changed(run, "control", broken="it crashed"), measured),
        "too little was measured of the control": (
            run,
            with_values(measured, **{THROUGHPUT.name: rates}),
        ),
        "the base rel differs from itself": (
            run,
            server_samples(run, Shape(effects={**faster, "control": (1.1, 1.1)})),
        ),
        "the figures are not of the same work": (
            run,
            server_samples(run, Shape(effects=faster, refused=1.0)),
        ),
    }


@pytest.mark.parametrize("doubt", _doubtful())
def test_what_is_in_doubt_is_so_wherever_it_is_told(doubt: str) -> None:
    run, measured = _doubtful()[doubt]
    page = build_page(run, measured)
    assert run_answer(page).answer in (Answer.NOT_KNOWN, Answer.BROKEN)
    assert page.headline.startswith(f"Not to be trusted, since {doubt}")
    assert one_line(findings_of(run, measured)).startswith("Not to be trusted: lto is 1.2")
    told = report(page)
    assert told["winner"] is None
    assert told["trust"]["grade"] == "none"
    assert doubt in page.why_no_winner
    assert "To use it" not in answers(page)


def test_where_many_transactions_were_refused_there_is_no_answer() -> None:
    page = server_page(_run(), Shape(effects={"lto": (1.2, 1.2)}, refused=1.0))
    found = run_answer(page)
    assert found.answer is Answer.NOT_KNOWN
    assert "not of the same work: transactions were refused, by lto" in found.sentence


def test_a_limit_of_trust_stands_in_the_answer_and_in_the_headline() -> None:
    page = server_page(without(_run(), "control"), Shape(effects={"lto": (1.2, 1.2)}))
    limit = "Trust is limited: there is no A/A control to show how much is noise"
    found = run_answer(page)
    assert found.answer is Answer.NOT_SLOWER
    assert found.sentence.endswith(limit)
    assert page.headline.endswith(f"{limit}.")
