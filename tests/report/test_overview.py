"""What stands at the top of a page, and what the subjects differ in."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from dbhone.measurement.metric import CPU_SECONDS, THROUGHPUT
from dbhone.measurement.record import Role, RunState
from dbhone.report.page import build_page
from tests.analysis.columns import columns, with_values
from tests.report.odd_runs import odd_runs
from tests.report.sample_history import a_history, history_page
from tests.report.sample_run import EFFECTS, SUBJECTS, Shape, a_page, a_run, samples, without
from tests.report.sample_servers import Shape as ServerShape
from tests.report.sample_servers import a_server_run, a_sweep_run, server_page
from tests.report.told import answers, rows_of, tables_of, titled


def test_it_says_what_was_compared_and_how() -> None:
    page = server_page(a_sweep_run())
    found = answers(page)
    assert found["Compared"] == "postgresql 15.14: rel (the base) with lto and lto+pgo."
    assert found["Measured"] == (
        "21 steps of sysbench:micro with 1 to 64 clients, in 10 blocks of all subjects in random "
        "order, on AMD EPYC 9R14, 8 cores."
    )


def test_a_block_that_was_cut_off_does_not_count_as_whole() -> None:
    cut = Shape(blocks=8, missing=lambda _, step, block: block == 7 and "rtree" in step)
    said = answers(a_page(cut, state=RunState.INTERRUPTED))["Measured"]
    assert ", in 7 blocks and a part of another of all subjects" in said
    whole = answers(a_page(Shape(blocks=8), state=RunState.INTERRUPTED))["Measured"]
    assert ", in 8 blocks of all subjects" in whole


def test_versions_that_are_the_subjects_names_are_not_told_twice() -> None:
    page = history_page(a_history())
    assert answers(page)["Compared"].startswith("mysql: 5.6.14 (the base) with 5.7.22")


def test_it_can_be_trusted_as_far_as_the_control_shows() -> None:
    said = answers(a_page())["To be trusted?"]
    assert said.startswith(
        "As far as the control shows, yes: rel against itself (A/A, control) differs by 0."
    )
    assert "lto+pgo differs by 6.5 % (±1.0 %)" in said
    assert said.endswith("See the 3 notes.")


@pytest.mark.parametrize(
    ("shape", "changes", "words"),
    [
        (
            Shape(effects={**EFFECTS, "control": (1.05, 1.0)}),
            {},
            "No: the base rel differs from itself here",
        ),
        (
            Shape(effects={**EFFECTS, "control": (1.02, 1.0)}),
            {},
            "With limits: rel likely differs from itself",
        ),
        (Shape(blocks=3), {}, "No: too little was measured for a verdict."),
        (
            Shape(),
            {"subjects": tuple(each for each in SUBJECTS if each.role is not Role.CONTROL)},
            "With limits: there is no A/A control",
        ),
    ],
)
def test_it_is_not_trusted_without_a_reason(
    shape: Shape, changes: dict[str, object], words: str
) -> None:
    assert answers(a_page(shape, **changes))["To be trusted?"].startswith(words)


def test_it_names_the_commands_that_make_use_of_a_winner() -> None:
    assert "'hone package 7' packs it" in answers(a_page())["To use it"]
    verified = f'{a_run().experiment}\n[verification]\ngrade = "smoke"\n'
    said = answers(a_page(experiment=verified))["To use it"]
    assert said.startswith("lto+pgo passed all tests of the grade smoke that rel passes;")
    assert "To use it" not in answers(a_page(Shape(effects={})))


def test_it_names_the_command_that_says_why_servers_differ() -> None:
    assert answers(server_page(a_sweep_run()))["Why"] == (
        "'hone explain 12 lto+pgo read-write_range=100@16' samples both servers' stacks and says"
        " where the time goes."
    )
    assert "Why" not in answers(a_page())  # an embedded DBMS has no server
    assert "Why" not in answers(
        server_page(a_sweep_run(), ServerShape(effects={"none": (1.0, 1.0)}))
    )


def test_steps_too_short_for_a_cpu_time_are_no_limit_of_trust() -> None:
    run = a_run()
    table = columns(samples(run, Shape()))
    short = (table.step == table.steps.index("rtree/100")) & (table.block > 2)
    for metric, grade in ((CPU_SECONDS, "good"), (THROUGHPUT, "limited")):
        values = np.where(short, np.nan, table.values[metric.name])
        page = build_page(run, with_values(samples(run, Shape()), **{metric.name: values}))
        assert page.trust.grade == grade


def test_what_noise_would_have_hidden_is_told_where_nothing_was_found() -> None:
    quiet = answers(a_page(Shape(effects={})))["To be trusted?"]
    assert quiet.startswith("As far as the control shows, yes: ")
    assert re.search(r"half of such runs would have missed a difference of \d\.\d %\.", quiet)
    noisy = answers(a_page(Shape(effects={}, spread=0.5)))["To be trusted?"]
    assert noisy.startswith("With limits: half of such runs")
    assert re.search(r"half of such runs would have missed a difference of \d\d\.\d %\.", noisy)


def test_what_moved_most_is_told_with_what_is_only_likely() -> None:
    effects = {**EFFECTS, "pgo": (1.0, 1.0)}
    said = answers(a_page(Shape(effects=effects, spread=0.02)))["Moved most"]
    assert said.startswith("Gains: lto+pgo on ")
    assert re.search(r"1\.\d\d \[1\.\d{3} to 1\.\d{3}\]", said)


def test_a_history_has_no_winner_to_trust() -> None:
    page = history_page(a_history())
    assert answers(page)["To be trusted?"].count("differs by") == 1


@pytest.mark.parametrize("odd", odd_runs())
def test_an_odd_run_has_an_overview_unless_only_its_base_was_not_measured(odd: str) -> None:
    run, measured = odd_runs()[odd]
    whole = run.base is not None or not measured.measured_subjects()
    assert bool(build_page(run, measured).overview) == whole


def test_of_the_subjects_only_what_differs_and_their_builds_are_in_the_table() -> None:
    table = titled(a_page(), "Subjects")
    assert table is not None
    titles = [each.title for each in table.columns]
    assert titles == [
        *("Subject", "Variant", "Build", "Training", "Profile", "Trained on", "Flags"),
    ]
    flags = {row.cells[0].text: row.cells[-1].text for row in table.rows}
    assert flags["rel (base)"] == ""
    assert flags["lto"] == "-flto=auto"
    assert (
        "All have alike: sqlite 3.40.1, apt:sqlite3=3.40.1-2+deb12u2, gcc 12.2, -O2 -g -DNDEBUG."
    ) in table.caption


def test_of_subjects_that_do_not_differ_all_is_alike() -> None:
    table = titled(a_page(subjects=SUBJECTS[:2]), "Subjects")
    assert table is not None
    assert [each.title for each in table.columns] == ["Subject", "Build"]
    assert "3.40.1-2+deb12u2, rel, gcc 12.2, -O2 -g -DNDEBUG." in table.caption


def test_a_single_subject_is_told_in_the_columns() -> None:
    table = titled(a_page(subjects=SUBJECTS[:1]), "Subjects")
    assert table is not None
    assert rows_of(table) == {
        "rel (base)": [
            *("sqlite 3.40.1", "apt:sqlite3=3.40.1-2+deb12u2", "rel", "gcc 12.2"),
            *("034303430343", "-O2 -g -DNDEBUG"),
        ]
    }
    assert "alike" not in table.caption


def test_servers_that_differ_in_settings_alone_are_told_by_their_settings() -> None:
    base, control, *_ = a_server_run().subjects
    other = replace(control, name="small", role=Role.CANDIDATE, settings={"fsync": "off"})
    page = server_page(a_server_run(subjects=(base, other)))
    subjects, settings = tables_of(page, "subjects")
    assert [each.title for each in subjects.columns] == ["Subject", "Build"]
    assert settings.title == "Settings that differ"


def test_of_a_suite_that_is_a_file_sentences_have_the_name() -> None:
    page = a_page(suite="/home/me/shop.workload")
    assert " of shop.workload" in answers(page)["Measured"]
    assert "runs shop.workload's held-out sets" in page.headline


def test_how_much_faster_builds_could_be_is_told_where_only_builds_differ() -> None:
    run = a_server_run()
    assert "At most" not in answers(server_page(run)), "one subject has another setting"
    told = answers(server_page(without(run, "lto+pgo")))["At most"]
    assert re.match(r"No build of the server could be more than about \d\.\d\d times as fast", told)
