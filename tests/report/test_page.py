import re
from dataclasses import replace

import pytest

from dbhone.analysis.verdict import Direction, Verdict, controls_of, possible_range
from dbhone.measurement.record import Role, RunState, Warning
from dbhone.report.findings import findings_of
from dbhone.report.headline import BY_THE_CONTROL, headline
from dbhone.report.page import Page, build_page
from dbhone.report.table import Table
from tests.report.odd_runs import odd_page
from tests.report.sample_run import (
    EFFECTS,
    SUBJECTS,
    Shape,
    a_page,
    a_run,
    run_page,
    samples,
    with_only,
)
from tests.report.told import tables_of, titled

_OPEN = Verdict.NO_DIFFERENCE
_CANDIDATES = tuple(each.name for each in SUBJECTS if each.role is Role.CANDIDATE)


def _of_one(ratio: float) -> Page:
    """Return the page of a run with one candidate, and this as its true ratio."""
    run = with_only(a_run(), "rel", "control", "pgo")
    return run_page(run, Shape(effects={"pgo": (ratio, ratio)}))


def _names(table: Table) -> list[str]:
    return [row.cells[0].text for row in table.rows if not row.heading]


def test_headline_tells_held_out_and_in_sample_apart() -> None:
    assert a_page().headline == (
        "On this machine lto+pgo (gcc 12.2) runs speedtest1's held-out sets 1.06 times as fast "
        "as rel (95 % interval 1.05 to 1.08, 14 blocks), and 1.117 times on main, which it was "
        "trained on. It is the best of 2 that are statistically tied, so its figure is probably a "
        "little high."
    )


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ("nothing", "Nothing was measured: the run failed (the source is gone)."),
        ("no base", "the run ended before its base was built"),
        ("no block", "Nothing was measured: the run failed (gcc: internal compiler error)."),
        ("one block", "a verdict needs 6 blocks, and 1 was measured"),
        ("five blocks", "a verdict needs 6 blocks, and 5 were measured"),
        ("base broken", "the base rel broke (it crashed)"),
        ("all broken", "There is no verdict: o3, o3+native, lto, pgo and 1 more broke."),
        ("base alone", "nothing was compared with rel"),
        ("base not measured", "a verdict needs 6 blocks, and none were measured"),
        ("in-sample only", "speedtest1's main 1.117 times as fast as rel"),
        ("in-sample only", "measured only on what it was trained on"),
        ("nothing trained", "runs speedtest1 1.064 times as fast as rel"),
        ("no noise", "Nothing was found faster than rel"),
    ],
)
def test_headline_tells_what_can_be_told(odd: str, words: str) -> None:
    assert words in odd_page(odd).headline


def test_headline_says_what_is_not_ruled_out_when_nothing_is_faster() -> None:
    text = a_page(Shape(effects={})).headline
    assert text.startswith(
        "Nothing was found faster than rel on speedtest1's held-out sets: the best, "
    )
    by_control = f"(?:, {re.escape(BY_THE_CONTROL)})?"
    assert re.search(
        rf"; a gain of up to \d\.\d % \([\w+]+{by_control}\) or a loss of up to \d\.\d %"
        rf" \([\w+]+{by_control}\) is not ruled out\.$",
        text,
    )


def test_headline_of_one_candidate_says_that_it_is_slower() -> None:
    assert _of_one(0.8).headline == (
        "pgo is slower than rel on speedtest1's held-out sets: 0.796 times as fast "
        "(95 % interval 0.789 to 0.803, 14 blocks)."
    )


def test_headline_of_one_candidate_says_what_is_not_ruled_out_on_both_sides() -> None:
    page = _of_one(1.0)
    (found,) = (
        each
        for each in page.analysis.throughput_summaries
        if each.subject == "pgo" and each.group is None and not each.in_sample
    )
    low, high = possible_range(found, controls_of(page.analysis, page.run.subjects))
    assert found.low is not None
    assert found.high is not None
    assert low <= found.low
    assert high >= found.high
    assert page.headline.startswith("No difference was found between pgo and rel on speedtest1's ")
    gain, loss = (
        f"{size * 100:.1f} %{f' ({BY_THE_CONTROL})' if size > alone else ''}"
        for size, alone in ((high - 1, found.high - 1), (1 - low, 1 - found.low))
    )
    assert page.headline.endswith(
        f"; a gain of up to {gain} or a loss of up to {loss} is not ruled out."
    )


def test_headline_says_which_difference_would_have_been_found() -> None:
    page = a_page(Shape(effects={}))
    best = max(
        (each for each in page.analysis.summaries if each.group is None and not each.in_sample),
        key=lambda each: (each.metric == "throughput", each.subject != "control", each.ratio),
    )
    assert best.findable is not None
    assert (
        f"a difference of {best.findable * 100:.1f} % would have been found in half"
        in page.headline
    )


def test_headline_says_how_much_more_a_verdict_needs() -> None:
    run = a_run()
    few = replace(samples(run, Shape(blocks=4)), block_seconds=31.0)
    assert build_page(run, few).headline == (
        "There is no verdict yet: a verdict needs 6 blocks, and 4 were measured:"
        " 2 more blocks (about 1 m 02 s) would give one."
    )


def test_a_run_that_may_have_too_few_blocks_shows_its_best_and_asks_for_no_more() -> None:
    run = a_run()
    preliminary = replace(run, design=replace(run.design, min_blocks=3, max_blocks=3))
    page = run_page(preliminary, Shape(blocks=3))
    assert page.headline.startswith("In 3 blocks lto+pgo was 1.06")
    assert page.headline.endswith(
        "times as fast as rel, the best of 5. That is no verdict: it needs 6 blocks, and the"
        " experiment allows 3."
    )
    about_blocks = [note for note in page.notes if "blocks" in note and "verdict" in note]
    assert about_blocks == [
        "the experiment allows 3 blocks, and a verdict needs 6: its figures are preliminary"
    ]


def test_summary_says_what_would_have_been_found_where_nothing_was() -> None:
    table = a_page().summary
    place = [column.title for column in table.columns].index("Would find")
    said = {
        row.cells[0].text: (row.cells[1].direction, row.cells[place].text) for row in table.rows
    }
    for direction, text in said.values():
        assert (direction is Direction.SAME) == text.endswith("%")
    few = a_page(Shape(blocks=5)).summary
    assert {row.cells[place].text for row in few.rows[1:]} == {"1 more block"}


def test_summary_has_no_such_column_where_everything_differs() -> None:
    page = a_page(
        Shape(effects=dict.fromkeys(("pgo", "control"), (1.5, 1.5))), subjects=SUBJECTS[:2]
    )
    assert "Would find" not in [column.title for column in page.summary.columns]


def test_headline_says_so_when_every_build_is_slower() -> None:
    slow = dict.fromkeys(_CANDIDATES, (0.8, 0.8))
    assert a_page(Shape(effects=slow)).headline.endswith("; 5 of 5 are slower.")


def test_headline_names_the_few_that_are_slower() -> None:
    text = a_page(Shape(effects={"o3": (0.8, 0.8), "lto": (0.7, 0.7)})).headline
    assert text.startswith(
        "Nothing was found faster than rel on speedtest1's held-out sets: the best, "
    )
    assert re.search(r"; o3 \(0\.\d+\) and lto \(0\.\d+\) are slower\.$", text)


def test_headline_says_why_an_interval_that_misses_1_is_no_difference() -> None:
    run = with_only(a_run(), "rel", "control", "pgo")
    found = findings_of(run, samples(run, Shape(effects={"pgo": (1.0, 1.0)})))

    def told(low: float, high: float) -> str:
        summaries = tuple(
            replace(each, low=low, high=high, verdict=_OPEN) for each in found.analysis.summaries
        )
        analysis = replace(found.analysis, summaries=summaries)
        return headline(replace(found, analysis=analysis))

    by_chance = "14 blocks; one of several comparisons can show that by chance)"
    assert by_chance in told(1.03, 1.13)
    assert by_chance in told(0.90, 0.98)
    assert "by chance" not in told(0.95, 1.05)


def test_headline_calls_nothing_slower_that_has_no_such_verdict() -> None:
    # Corrected for several comparisons, an interval below 1 may come without a difference.
    run = a_run()
    found = findings_of(run, samples(run, Shape(effects=dict.fromkeys(_CANDIDATES, (0.8, 0.8)))))
    analysis = replace(
        found.analysis,
        effects=tuple(replace(each, verdict=_OPEN) for each in found.analysis.effects),
        summaries=tuple(replace(each, verdict=_OPEN) for each in found.analysis.summaries),
    )
    found = replace(found, analysis=analysis)
    assert "slower" not in headline(found)
    assert "slower" not in odd_page("no noise").headline


def test_headline_of_an_untrained_winner_does_not_claim_training() -> None:
    text = a_page(Shape(effects={"o3": (1.2, 1.1)})).headline
    assert "times on main, which others were trained on." in text


def test_headline_claims_no_difference_in_sample_that_is_noise() -> None:
    text = a_page(Shape(effects={"pgo": (1.2, 1.0)})).headline
    assert "; on main, which it was trained on, the verdict is: no difference found." in text


def test_headline_of_a_server_against_itself_says_what_came_of_it() -> None:
    alone = tuple(each for each in SUBJECTS if each.role is not Role.CANDIDATE)
    page = a_page(Shape(effects={}), subjects=alone)
    assert page.headline.startswith("Nothing was compared with rel but rel itself: control runs ")
    assert f"none of {len(page.analysis.judged('control'))} figures differs" in page.headline
    uneven = a_page(Shape(effects={"control": (1.2, 1.2)}), subjects=alone).headline
    assert uneven.startswith("Not to be trusted, since the base rel differs from itself here: No")
    few = a_page(Shape(blocks=4), subjects=alone).headline
    assert few.startswith("There is no verdict yet: a verdict needs 6 blocks, and 4 were measured")


def test_a_control_that_differs_stands_before_everything_and_in_the_headline() -> None:
    page = a_page(Shape(effects={**EFFECTS, "control": (1.05, 1.0)}))
    assert [each.code for each in page.alerts] == ["control-differs"]
    assert page.headline.startswith(
        "Not to be trusted, since the base rel differs from itself here"
    )


def test_winner_is_the_subject_with_its_build() -> None:
    winner = a_page().winner
    assert winner is not None
    assert (winner.name, winner.build_path) == ("lto+pgo", SUBJECTS[-1].build_path)
    assert a_page(Shape(effects={})).winner is None
    unbelieved = a_page(Shape(effects={**EFFECTS, "control": (1.05, 1.0)}))
    assert unbelieved.winner is None
    assert unbelieved.gain is None


def test_subjects_stand_from_the_base_to_the_best_to_the_control() -> None:
    assert _names(a_page().summary) == [
        "rel (base)",
        "lto+pgo",
        "pgo",
        "o3",
        "lto",
        "o3+native",
        "control (A/A)",
    ]


def test_broken_subject_is_shown_as_broken() -> None:
    broken = (*SUBJECTS[:-1], replace(SUBJECTS[-1], broken="wrong results"))
    page = a_page(subjects=broken)
    assert "lto+pgo (broken)" in _names(page.summary)
    assert page.winner is not None
    assert page.winner.name == "pgo"


def test_only_significant_figures_point_a_way_for_certain() -> None:
    page = a_page(Shape(effects={}, seed=8))
    tones = {
        cell.direction
        for table in (page.summary, *tables_of(page, "groups"), *tables_of(page, "steps"))
        for row in table.rows
        for cell in row.cells
    }
    likely = {Direction.LIKELY_BETTER, Direction.LIKELY_WORSE}
    assert tones - likely == {None, Direction.SAME}


def test_no_table_mixes_held_out_and_in_sample() -> None:
    page = a_page()
    trained = {step.name for step in page.run.steps if step.in_sample}
    held_out, in_sample = (set(_names(table)) for table in tables_of(page, "steps"))
    assert in_sample == trained
    assert not held_out & trained
    titles = [column.title for column in page.summary.columns]
    assert titles[1:3] == ["Held-out", "In-sample"]


def test_without_training_there_is_nothing_held_out() -> None:
    page = odd_page("nothing trained")
    assert [column.title for column in page.summary.columns][1] == "All sets"


def test_spread_of_the_control_is_told() -> None:
    note = a_page().control_note
    assert note is not None
    assert note.startswith("control is rel once more (A/A): its steps' ratios lie between 0.9")


def test_footnotes_hold_the_warnings_of_the_run() -> None:
    own = Warning(code="steal", text="another guest took 12 % of the CPU")
    page = a_page(warnings=(own,), state=RunState.INTERRUPTED)
    assert own in page.footnotes
    assert "run-not-finished" in {each.code for each in page.footnotes}


def test_a_metric_that_was_not_measured_is_not_shown() -> None:
    page = a_page()
    metrics = titled(page, "Other metrics")
    assert metrics is not None
    titles = [column.title for column in metrics.columns]
    assert "CPU time, held-out" in titles
    assert not [title for title in titles if "nstructions" in title]
    assert titled(odd_page("throughput only"), "Other metrics") is None
