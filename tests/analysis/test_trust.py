"""When a run's figures are in doubt, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from dbhone.analysis.comparison import analyse
from dbhone.analysis.trust import Trust, TrustGrade, left_out, trust, trusted_subjects
from dbhone.analysis.verdict import Analysis, Summary, Verdict, find_winner
from dbhone.analysis.warnings import find_warnings
from dbhone.measurement.record import Role, Run, Warning
from tests.report.sample_run import SUBJECTS, Shape, a_run, samples, subject

_SECOND = subject("second", role=Role.CONTROL, variant="rel")
_FASTER = {"pgo": (1.5, 1.5)}


def _run(*controls: str, broken: Sequence[str] = ()) -> Run:
    """Return a run of the base, these controls and pgo, of which some broke."""
    everyone = (*SUBJECTS, _SECOND)
    chosen = [each for each in everyone if each.name in ("rel", "pgo", *controls)]
    run = a_run(
        subjects=tuple(
            replace(each, broken="it crashed" if each.name in broken else None) for each in chosen
        )
    )
    return replace(run, steps=run.steps[12:16])


def _trust(run: Run, *, few: Sequence[str] = ()) -> Trust:
    """Return the trust in a run in which ``few`` subjects were measured in three blocks only."""
    shape = Shape(effects=_FASTER, missing=lambda name, _, block: name in few and block > 2)
    # What broke was measured before.
    whole = replace(run, subjects=tuple(replace(each, broken=None) for each in run.subjects))
    measured = samples(whole, shape)
    analysis = analyse(measured, base="rel", steps=run.steps, controls=run.controls)
    return trust(run, analysis, find_warnings(run, measured, analysis), history=False)


def _judged(run: Run, **verdicts: tuple[float, Verdict]) -> Analysis:
    """Return an analysis in which these subjects' overall figures are as given, to within 1 %."""
    analysis = analyse(samples(run), base="rel", steps=run.steps, controls=run.controls)

    def changed(each: Summary) -> Summary:
        if each.group is not None or each.subject not in verdicts:
            return each
        ratio, verdict = verdicts[each.subject]
        return replace(each, ratio=ratio, low=ratio / 1.01, high=ratio * 1.01, verdict=verdict)

    return replace(analysis, summaries=tuple(map(changed, analysis.summaries)))


def test_a_run_whose_control_shows_nothing_is_trusted() -> None:
    assert _trust(_run("control")).grade is TrustGrade.GOOD


def test_nothing_is_trusted_where_the_control_broke() -> None:
    for few in ((), ("control",)):
        found = _trust(_run("control", broken=["control"]), few=few)
        assert (found.grade, found.reason) == (TrustGrade.NONE, "the control broke")


def test_nothing_is_trusted_where_the_base_broke_as_it_may_in_one_of_several_runs() -> None:
    found = _trust(_run("control", broken=["rel"]))
    assert (found.grade, found.reason) == (TrustGrade.NONE, "the base rel broke")


def test_nothing_is_trusted_where_the_control_alone_has_too_few_blocks() -> None:
    found = _trust(_run("control"), few=["control"])
    assert found.grade is TrustGrade.NONE
    assert found.reason == "too little was measured of the control"
    assert _trust(_run("control"), few=["control", "pgo"]).reason.endswith("for a verdict")


def test_another_control_that_is_sound_will_do() -> None:
    broken = _trust(_run("control", "second", broken=["control"]))
    assert (broken.grade, broken.reason) == (TrustGrade.LIMITED, "control broke")
    assert _trust(_run("control", "second"), few=["control"]).grade is TrustGrade.GOOD


def test_the_control_that_is_furthest_off_is_told() -> None:
    run = _run("control", "second")
    same = Verdict.NO_DIFFERENCE
    analysis = _judged(run, control=(1.001, same), second=(0.995, same), pgo=(1.5, Verdict.FASTER))
    assert "(A/A, second)" in trust(run, analysis, (), history=False).reason


def test_a_difference_no_larger_than_the_controls_likely_one_is_not_trusted() -> None:
    run = _run("control")
    noise = (0.97, Verdict.NO_DIFFERENCE)
    for ratio, grade in ((1.02, TrustGrade.NONE), (1.2, TrustGrade.LIMITED)):
        analysis = _judged(run, control=noise, pgo=(ratio, Verdict.FASTER))
        assert trust(run, analysis, (), history=False).grade is grade
    none = _judged(run, control=noise, pgo=(1.02, Verdict.NO_DIFFERENCE))
    assert trust(run, none, (), history=False).grade is TrustGrade.LIMITED


def _wide(analysis: Analysis, *names: str, half: float) -> Analysis:
    """Return the analysis with wider intervals of these subjects' overall figures."""
    return replace(
        analysis,
        summaries=tuple(
            replace(each, low=each.ratio / (1 + half), high=each.ratio * (1 + half))
            if each.subject in names and each.group is None
            else each
            for each in analysis.summaries
        ),
    )


@pytest.mark.parametrize(
    ("half", "ratio", "verdict", "grade"),
    [
        (0.01, 1.001, Verdict.NO_DIFFERENCE, TrustGrade.GOOD),
        (0.12, 1.001, Verdict.NO_DIFFERENCE, TrustGrade.LIMITED),
        (0.01, 0.95, Verdict.SLOWER, TrustGrade.GOOD),
        (0.06, 0.95, Verdict.SLOWER, TrustGrade.LIMITED),
        (0.06, 0.7, Verdict.SLOWER, TrustGrade.GOOD),
        (0.12, 1.5, Verdict.FASTER, TrustGrade.GOOD),
    ],
)
def test_a_wide_control_limits_what_it_may_hide(
    half: float, ratio: float, verdict: Verdict, grade: TrustGrade
) -> None:
    run = _run("control")
    same = (1.0, Verdict.NO_DIFFERENCE)
    analysis = _wide(_judged(run, control=same, pgo=(ratio, verdict)), "control", half=half)
    known = replace(
        analysis,
        summaries=tuple(replace(each, findable=0.03) for each in analysis.summaries),
    )
    found = trust(run, known, (), history=False)
    assert found.grade is grade
    assert ("the A/A control's interval reaches" in found.reason) == (grade is TrustGrade.LIMITED)


def test_a_wide_control_limits_a_history() -> None:
    run = _run("control")
    same = (1.0, Verdict.NO_DIFFERENCE)
    analysis = _judged(run, control=same, pgo=(0.9, Verdict.SLOWER))
    assert trust(run, analysis, (), history=True).grade is TrustGrade.GOOD
    found = trust(run, _wide(analysis, "control", half=0.12), (), history=True)
    assert found.grade is TrustGrade.LIMITED
    assert found.reason == "the A/A control's interval reaches 12.0\u00a0% from 1"


def test_refused_transactions_matter_to_whom_the_figure_is_of() -> None:
    run = replace(_run("control"), subjects=tuple(SUBJECTS[:2] + SUBJECTS[4:]))
    verdicts = {"pgo": (1.5, Verdict.FASTER), "lto": (1.2, Verdict.FASTER)}
    analysis = _judged(run, **verdicts, **{"lto+pgo": (1.1, Verdict.FASTER)})
    for name, grade in (
        ("rel", TrustGrade.NONE),
        ("control", TrustGrade.NONE),
        ("lto", TrustGrade.LIMITED),
        ("pgo", TrustGrade.LIMITED),
    ):
        many = Warning(code="many-refused", text="", subject=name)
        found = trust(run, analysis, (many,), history=False)
        assert found.grade is grade
        assert f"transactions were refused, by {name}" in found.reason
    assert trust(run, analysis, (many,), history=True).grade is TrustGrade.LIMITED


_CANDIDATES = ("lto", "pgo", "lto+pgo")


@pytest.mark.parametrize(
    ("refusing", "winner", "out"),
    [
        ((), "pgo", []),
        (("lto",), "pgo", []),
        (("pgo",), "lto", ["pgo"]),
        (("pgo", "lto"), "lto+pgo", ["lto", "pgo"]),
        (_CANDIDATES, "pgo", []),
        (("rel", "pgo"), "pgo", []),
        (("control", "pgo"), "pgo", []),
    ],
)
def test_the_best_that_can_be_believed_wins(
    refusing: Sequence[str], winner: str, out: list[str]
) -> None:
    run = replace(_run("control"), subjects=tuple(SUBJECTS[:2] + SUBJECTS[4:]))
    ratios = {"pgo": 1.5, "lto": 1.2, "lto+pgo": 1.1}
    faster = {name: (ratio, Verdict.FASTER) for name, ratio in ratios.items()}
    analysis = _judged(run, **faster)
    many = [Warning(code="many-refused", text="", subject=name) for name in refusing]
    best = find_winner(analysis, trusted_subjects(run, many))
    assert best is not None
    assert best.subject == winner
    assert sorted(score.subject for score in left_out(run, analysis, many)) == out


def test_where_all_candidates_are_in_doubt_so_is_the_run() -> None:
    run = replace(_run("control"), subjects=tuple(SUBJECTS[:2] + SUBJECTS[4:]))
    analysis = _judged(run, pgo=(1.5, Verdict.FASTER), lto=(1.2, Verdict.FASTER))
    many = [Warning(code="many-refused", text="", subject=name) for name in _CANDIDATES]
    assert trust(run, analysis, many, history=False).grade is TrustGrade.NONE
