"""What the store keeps of runs, and gives back."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbhone.errors import StoreError, UsageError
from dbhone.measurement.build_facts import BuildTarget, BuildTimings
from dbhone.measurement.metric import FIGURES
from dbhone.measurement.record import (
    Group,
    Measurement,
    Role,
    RunningServer,
    RunState,
    Step,
    Warning,
)
from dbhone.measurement.store import Store
from dbhone.measurement.tables import METADATA
from tests.analysis.columns import columns
from tests.measurement.store_records import (
    MOMENT,
    NEW_RUN,
    STEPS,
    begin,
    invocation,
    measurement,
    rows,
    subject,
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store for many runs: each of them sees only what is its own."""
    with Store.open(tmp_path_factory.mktemp("shared") / "store.db") as store:
        store.record(begin(store), invocation(0, "rel"))
        yield store


def test_a_new_run_is_running_and_knows_what_was_declared(store: Store) -> None:
    run = store.create_run(NEW_RUN)

    assert run == store.run(run.id)
    assert run.state is RunState.RUNNING
    assert run.seconds == 0
    assert run.created_at.utcoffset() == timedelta(0)
    assert (run.finished_at, run.stopped_by, run.error, run.base) == (None, None, None, None)
    assert (run.design, run.machine) == (NEW_RUN.design, NEW_RUN.machine)
    for field in ("title", "experiment", "experiment_name", "session", "suite", "size"):
        assert getattr(run, field) == getattr(NEW_RUN, field)


def test_subjects_come_back_in_their_order_whatever_the_order_of_telling(store: Store) -> None:
    run = store.create_run(NEW_RUN)
    store.set_subject(run.id, 1, subject("pgo"))
    store.set_subject(run.id, 0, subject("rel", Role.BASE))

    assert store.run(run.id).subjects == (subject("rel", Role.BASE), subject("pgo"))
    assert store.run(run.id).base == subject("rel", Role.BASE)


def test_a_subject_told_again_replaces_the_old_and_keeps_its_measurements(
    store: Store, run_id: int
) -> None:
    store.record(run_id, invocation(1, "pgo"))
    broken = subject("pgo", broken="its hashes differ")
    store.set_subject(run_id, 1, broken)

    assert store.run(run_id).subjects[1] == broken
    assert len(store.run(run_id).subjects) == 2
    assert len(columns(store.samples(run_id)).block) == len(STEPS)


def test_steps_told_again_are_updated_and_none_is_lost(store: Store, run_id: int) -> None:
    renamed = dataclasses.replace(STEPS[0], title="another title", group=Group.RANGE)
    added = Step(set="rtree", key="1", title="a tree", group=Group.POINT, in_sample=False)
    store.set_steps(run_id, STEPS)
    store.set_steps(run_id, (renamed, *STEPS[1:], added))

    assert store.run(run_id).steps == (renamed, *STEPS[1:], added)


def test_a_servers_settings_and_where_its_builds_time_went_come_back(
    store: Store, run_id: int
) -> None:
    timings = BuildTimings(
        seconds=840.5,
        cpu_seconds=1600.25,
        jobs=2,
        files=867,
        phases={"configure": 20.0, "compile": 820.5},
        slowest=(("sql/sql_yacc.cc.o", 61.5), ("storage/row0ins.cc.o", 40.0)),
        build_targets=(BuildTarget(name="innobase", cpu_seconds=402.5, files=121),),
    )
    settings = {"innodb_buffer_pool_size": "8G", "sync_binlog": "1"}
    told = dataclasses.replace(
        subject("pgo"),
        settings=settings,
        defaults={"innodb_flush_neighbors": "0", "ssl_ca": ""},
        timings=timings,
        levers=("cpus=0", "jemalloc"),
    )
    store.set_subject(run_id, 1, told)

    assert store.run(run_id).subjects == (subject("rel", Role.BASE), told)


def test_what_a_running_server_says_stays_whatever_else_is_told_of_its_subject(
    store: Store, run_id: int
) -> None:
    running = RunningServer(settings={"table_open_cache": "7947"}, open_files=20_000)
    store.set_running(run_id, "pgo", running)
    store.set_subject(run_id, 1, dataclasses.replace(subject("pgo"), broken="it crashed"))
    base, pgo = store.run(run_id).subjects
    assert base.running is None
    assert (pgo.running, pgo.broken) == (running, "it crashed")


def test_a_set_that_is_one_step_is_a_step_by_its_own_name(store: Store, run_id: int) -> None:
    one = Step(
        set="point-query@4",
        key="",
        title="point query",
        group=Group.AGGREGATE,
        in_sample=False,
        threads=4,
    )
    store.set_steps(run_id, (*STEPS, one))
    measured = (measurement("point-query@4", 9.0),)
    whole = dataclasses.replace(invocation(1, "rel"), set="point-query@4", measurements=measured)
    store.record(run_id, whole)

    samples = columns(store.samples(run_id))
    assert store.run(run_id).steps == (*STEPS, one)
    assert [samples.steps[each] for each in samples.step] == ["point-query@4"]


def test_a_warning_is_kept_once_for_each_subject_and_step_with_its_latest_text(
    store: Store, run_id: int
) -> None:
    about_all = Warning(code="steal", text="3% was stolen")
    about_one = Warning(code="steal", text="5% was stolen", subject="pgo", step="main/100")
    for warning in (about_all, about_one, about_all, about_one):
        store.add_warning(run_id, warning)
    latest = dataclasses.replace(about_all, text="4% was stolen")
    store.add_warning(run_id, latest)

    assert store.run(run_id).warnings == (latest, about_one)


def test_a_warning_that_is_so_no_longer_is_withdrawn(store: Store, run_id: int) -> None:
    out = [Warning(code="left-out", text="no time", subject=name) for name in ("pgo", "lto")]
    for warning in (*out, Warning(code="steal", text="3% was stolen", subject="pgo")):
        store.add_warning(run_id, warning)
    store.withdraw_warning(run_id, "left-out", "pgo")
    store.withdraw_warning(run_id, "left-out", "never")
    found = store.run(run_id).warnings
    assert {(each.code, each.subject) for each in found} == {("left-out", "lto"), ("steal", "pgo")}
    store.withdraw_warning(run_id, "left-out")
    assert {each.code for each in store.run(run_id).warnings} == {"steal"}


def test_what_is_given_of_a_run_changes_and_the_rest_stays(store: Store, run_id: int) -> None:
    store.update_run(run_id, seconds_added=1.5)
    store.update_run(run_id, seconds_added=2.0, state=RunState.DONE, stopped_by="target")
    store.update_run(run_id, finished_at=MOMENT)
    store.update_run(run_id)

    run = store.run(run_id)
    assert (run.seconds, run.state, run.stopped_by) == (3.5, RunState.DONE, "target")
    assert (run.finished_at, run.session) == (MOMENT, NEW_RUN.session)


def test_a_resumed_run_forgets_how_it_ended(store: Store, run_id: int) -> None:
    store.update_run(run_id, state=RunState.FAILED, error="the disk was full", finished_at=MOMENT)
    store.update_run(run_id, state=RunState.RUNNING, session="another")

    run = store.run(run_id)
    assert (run.state, run.session) == (RunState.RUNNING, "another")
    assert (run.error, run.finished_at) == (None, None)


def test_of_two_sessions_that_want_a_run_one_gets_it(store: Store, run_id: int) -> None:
    assert store.claim_run(run_id, session="first", instead_of=NEW_RUN.session)
    assert not store.claim_run(run_id, session="second", instead_of=NEW_RUN.session)
    assert store.run(run_id).session == "first"


def test_runs_are_listed_with_subjects_and_the_number_of_blocks(store: Store) -> None:
    assert store.runs() == ()
    assert store.last_run_id() is None
    first, second = begin(store), store.create_run(NEW_RUN).id
    for block in (1, 2):
        store.record(first, invocation(block, "rel"))
        store.record(first, invocation(block, "pgo"))
    store.supersede(first, 2, "main")

    assert [(each.id, each.subjects, each.blocks) for each in store.runs()] == [
        (first, ("rel", "pgo"), 1),
        (second, (), 0),
    ]
    assert store.runs()[0].title == NEW_RUN.title
    assert store.last_run_id() == second


def test_equal_machines_are_kept_once(store: Store, tmp_path: Path) -> None:
    other = dataclasses.replace(NEW_RUN.machine, kernel="6.2.0")
    for machine in (NEW_RUN.machine, other, NEW_RUN.machine):
        run = store.create_run(dataclasses.replace(NEW_RUN, machine=machine))
        assert run.machine == machine

    assert rows(tmp_path / "store.db", "SELECT count(*) FROM machines") == [(2,)]


def test_a_run_that_does_not_exist_is_wrong_use(store: Store) -> None:
    attempts = (
        lambda: store.run(7),
        lambda: store.samples(7),
        lambda: store.done(7),
        lambda: store.record(7, invocation(1, "rel")),
        lambda: store.set_steps(7, STEPS),
        lambda: store.update_run(7, state=RunState.DONE),
    )
    for attempt in attempts:
        with pytest.raises(UsageError, match="there is no run 7") as caught:
            attempt()
        assert caught.value.hint == "'hone runs' lists the runs"


def test_a_value_that_no_database_keeps_is_told_without_a_traceback(store: Store) -> None:
    for wrong in ({"title": "\udcff"}, {"design": dataclasses.replace(NEW_RUN.design, seed=2**70)}):
        with pytest.raises(StoreError, match="cannot keep a value"):
            store.create_run(dataclasses.replace(NEW_RUN, **wrong))
    assert store.runs() == ()


def test_a_run_without_measurements_has_empty_samples(store: Store, run_id: int) -> None:
    samples = store.samples(run_id)

    assert (samples.subjects, samples.steps) == (("rel", "pgo"), tuple(s.name for s in STEPS))
    assert samples.metrics == ()
    assert len(samples.blocks) == 0


def test_a_block_takes_from_its_start_to_the_next_ones(store: Store, run_id: int) -> None:
    starts = {1: 0, 2: 40, 3: 80, 4: 110, 5: 5000}
    for block, seconds in starts.items():
        at = MOMENT + timedelta(seconds=seconds)
        store.record(run_id, dataclasses.replace(invocation(block, "rel"), started_at=at))
    assert store.samples(run_id).block_seconds == 40


def test_a_pause_after_one_of_few_blocks_does_not_count(store: Store, run_id: int) -> None:
    for block, seconds in {1: 0, 2: 36_000, 3: 36_040}.items():
        at = MOMENT + timedelta(seconds=seconds)
        store.record(run_id, dataclasses.replace(invocation(block, "rel"), started_at=at))
    assert store.samples(run_id).block_seconds == 40


def test_a_pause_between_the_only_two_blocks_does_not_count(store: Store, run_id: int) -> None:
    for block, seconds in {1: 0, 2: 36_000}.items():
        at = MOMENT + timedelta(seconds=seconds)
        store.record(run_id, dataclasses.replace(invocation(block, "rel"), started_at=at))
    assert store.samples(run_id).block_seconds == 1.5


def test_blocks_in_which_subjects_had_the_same_layouts_are_told(store: Store) -> None:
    text = f"{NEW_RUN.experiment}\n[design]\nlayouts = 6\n"
    run_id = begin(store, experiment=text)
    store.set_subject(run_id, 0, dataclasses.replace(subject("rel"), inputs={"layouts": 12}))
    for block in range(8):
        store.record(run_id, invocation(block, "rel"))
    clusters = store.samples(run_id).clusters
    assert clusters is not None
    assert clusters.tolist() == [0, 1, 2, 3, 4, 5, 0, 1]


def test_the_only_block_takes_what_its_invocations_do(store: Store, run_id: int) -> None:
    assert store.samples(run_id).block_seconds is None
    for name in ("rel", "pgo"):
        store.record(run_id, invocation(1, name))
    assert store.samples(run_id).block_seconds == 3


def test_every_figure_of_a_server_is_among_the_samples(store: Store, run_id: int) -> None:
    """Also when only some of a run's measurements have them."""
    known = {metric.name: 1.0 + at for at, metric in enumerate(FIGURES)}
    rich = Measurement(step=STEPS[1].name, **known)
    poor = measurement(STEPS[0].name, 5.0)
    for name, measured in (("rel", (poor,)), ("pgo", (rich,))):
        store.record(run_id, dataclasses.replace(invocation(1, name), measurements=measured))

    samples = columns(store.samples(run_id))
    assert {name: column[1] for name, column in samples.values.items()} == known
    missing = {name for name, column in samples.values.items() if np.isnan(column[0])}
    assert missing == set(known) - {"throughput", "cpu_seconds", "peak_memory_bytes"}


@pytest.mark.parametrize("figure", [each.name for each in FIGURES if each.name != "throughput"])
def test_one_figure_alone_is_not_lost(store: Store, run_id: int, figure: str) -> None:
    only = measurement(STEPS[2].name, 5.0)
    object.__setattr__(only, figure, 7.0)
    measured = (measurement(STEPS[0].name, 5.0), only)
    store.record(run_id, dataclasses.replace(invocation(1, "rel"), measurements=measured))

    assert columns(store.samples(run_id)).values[figure][1] == 7.0


Figures = st.floats(min_value=0, max_value=1e15)
Cells = st.lists(
    st.tuples(
        st.integers(0, 3),  # block
        st.sampled_from(["rel", "pgo"]),
        st.lists(
            st.tuples(st.sampled_from(STEPS), Figures, st.none() | Figures),
            unique_by=lambda cell: cell[0].name,
        ),
        st.booleans(),  # superseded afterwards, with all of its block
    ),
    max_size=12,
)


@settings(max_examples=40)
@given(Cells)
def test_samples_are_what_was_recorded_and_counts(
    shared: Store,
    cells: list[tuple[int, str, list[tuple[Step, float, float | None]], bool]],
) -> None:
    expected: dict[tuple[str, int], list[tuple[str, float, float]]] = {}
    run_id = begin(shared)
    for block, name, measured, cut_off in cells:
        if (name, block) in expected:
            continue
        made = tuple(
            dataclasses.replace(measurement(step.name, value), instructions=count)
            for step, value, count in measured
        )
        shared.record(run_id, dataclasses.replace(invocation(block, name), measurements=made))
        expected[name, block] = [
            (step.name, value, np.nan if count is None else count)
            for step, value, count in measured
        ]
        if cut_off:
            shared.supersede(run_id, block, "main")
            expected = {key: rest for key, rest in expected.items() if key[1] != block}
    samples = columns(shared.samples(run_id))
    nothing = np.full(len(samples.block), np.nan)
    got = [
        (samples.subjects[subject], block, samples.steps[step], value, count)
        for subject, block, step, value, count in zip(
            samples.subject,
            samples.block,
            samples.step,
            samples.values.get("throughput", nothing),
            samples.values.get("instructions", nothing),
            strict=True,
        )
    ]
    wanted = [(*key, *figures) for key, rest in expected.items() for figures in rest]
    assert sorted(map(repr, map(plain, got))) == sorted(map(repr, map(plain, wanted)))


def plain(row: tuple[str, int, str, float, float]) -> tuple[str, int, str, float, float]:
    subject_name, block, step, value, count = row
    return subject_name, int(block), step, float(value), float(count)


def test_people_can_read_the_results_in_plain_sql(
    store: Store, run_id: int, tmp_path: Path
) -> None:
    store.record(run_id, invocation(1, "rel"))
    store.record(run_id, invocation(2, "rel"))
    store.supersede(run_id, 2, "main")

    assert rows(
        tmp_path / "store.db",
        "SELECT subject, block, set_name, step_key, step_group, throughput FROM results"
        " ORDER BY step_key",
    ) == [
        ("rel", 1, "main", "100", "write", 2.0),
        ("rel", 1, "main", "110", "point", 3.0),
        ("rel", 1, "main", "120", "range", 4.0),
    ]


def test_a_run_can_be_renamed(store: Store, run_id: int) -> None:
    store.update_run(run_id, title="another title")
    assert store.run(run_id).title == "another title"


def test_a_deleted_run_leaves_nothing_and_takes_nothing_of_others(
    store: Store, run_id: int, tmp_path: Path
) -> None:
    other = begin(store)
    for run in (run_id, other):
        store.record(run, invocation(1, "rel"))
        store.add_warning(run, Warning(code="code", text="text"))
    store.delete_run(run_id)
    with pytest.raises(UsageError, match="there is no run"):
        store.run(run_id)
    assert [run.id for run in store.runs()] == [other]
    assert [done.block for done in store.done(other)] == [1]
    for table in METADATA.sorted_tables:
        if "run_id" in table.c:
            count = f"SELECT count(*) FROM {table.name} WHERE run_id = {run_id}"
            assert rows(tmp_path / "store.db", count) == [(0,)]
    assert rows(tmp_path / "store.db", "SELECT count(*) FROM outputs") == [(1,)]
