"""Measuring: what is measured, when it ends, and how it goes on; with a pretended driver."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil
import pytest

from dbhone.compilation.manifest import Build
from dbhone.errors import BudgetSpentError, DriverError, HoneError, MachineError
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.model import Experiment, Servers, Slices
from dbhone.experiment.execution.builds import BuildService
from dbhone.experiment.execution.measure import Measuring, check_can_measure
from dbhone.experiment.execution.recorder import RunRecorder
from dbhone.experiment.plan.events import BlockEnded, Event, InvocationStarted, Listener
from dbhone.experiment.target.embedded_target import EmbeddedTarget
from dbhone.experiment.target.order import block_order
from dbhone.experiment.target.target import BuildResult, Schedule
from dbhone.experiment.target.warnings import failure_notes
from dbhone.instance import idle_inhibitor, page_cache
from dbhone.measurement.record import (
    Design,
    Group,
    Role,
    Run,
    Sliced,
    Step,
)
from dbhone.measurement.store import Store
from dbhone.session import Session
from dbhone.workload.drive import DriverCommand, DriverResult, drive
from dbhone.workload.task import Task
from tests.analysis.columns import columns
from tests.compilation.tiny import make_tree
from tests.experiment.experiment_files import EMBEDDED, GOOD_SERVERS
from tests.experiment.pretended import GARBAGE, GOOD, pretended_build
from tests.measurement.store_records import NEW_RUN, a_slice, subject

# A pretended driver can be as regular as a clock: only the number of blocks may end it.
DESIGN = Design(seed=1, target=1e-9, budget_seconds=600.0, min_blocks=99, max_blocks=3)
NAMES = ("rel", "control", "pgo")


@pytest.fixture
def run(store: Store) -> Run:
    new = store.create_run(replace(NEW_RUN, design=DESIGN))
    for position, name in enumerate((*NAMES, "o3")):
        role = Role.BASE if name == "rel" else Role.CANDIDATE
        store.set_subject(new.id, position, subject(name, role))
    return new


def steps() -> tuple[Step, ...]:
    return tuple(
        Step(set=name, key=key, title="t", group=Group.WRITE, in_sample=name == "main")
        for name in ("main", "cte")
        for key in ("100", "110")
    )


EXPERIMENT = EMBEDDED.replace(
    "[workload]", 'pgo = { like = "rel", variant = "o1" }\n[workload]\nsets = ["main", "cte"]'
)


def target(
    experiment: Experiment, recorder: RunRecorder, builds: dict[str, Build], session: Session
) -> EmbeddedTarget:
    tree = make_tree(session.workdir("source") / "tree")
    known_sets = "".join(f'strcmp(zThisTest,"{name}")==0\n' for name in ("main", "cte"))
    (tree.path / "test").mkdir()
    (tree.path / "test" / "speedtest1.c").write_text(known_sets)
    results = {
        name: BuildResult(build=build, tree=tree, reused=False) for name, build in builds.items()
    }
    return EmbeddedTarget(experiment, results, session, recorder)


SCHEDULE = Schedule(
    tasks={name: Task(set=name, size=5) for name in ("main", "cte")},
    steps=steps(),
    seconds={"main": 0.1, "cte": 0.1},
)


class Bench:
    """Measures, and remembers what it told."""

    def __init__(self, run: Run, store: Store, session: Session) -> None:
        self.run = run
        self.store = store
        self.session = session
        self.events: list[Event] = []
        self.broken: dict[str, str] = {}
        store.set_steps(run.id, steps())

    def measure(
        self,
        builds: dict[str, Build],
        design: Design = DESIGN,
        *,
        listen: Listener | None = None,
        awake: bool = False,
        allot: bool = True,
        stop_early: bool = False,
        slices: Slices = Slices.FRESH,
        servers: Servers = Servers.ALL,
        planned: float | None = None,
        absent: Mapping[str, str] = MappingProxyType({}),
    ) -> Measuring:
        """Return what measures these builds, one after the other unless told otherwise."""
        listen = listen or self.events.append
        service = BuildService(self.session, listen)
        recorder = RunRecorder(self.run, self.store, listen, design.budget_seconds)
        declared = parse(EXPERIMENT, name="x.toml")
        experiment = replace(
            declared,
            design=design,
            awake=awake,
            allot=allot,
            stop_early=stop_early,
            slices=slices,
            servers=servers,
        )
        made = target(experiment, recorder, builds, self.session)
        return Measuring(
            made,
            tuple(builds),
            SCHEDULE,
            service,
            recorder,
            self.broken.__setitem__,
            planned=planned,
            absent=absent,
        )

    def done(self) -> list[tuple[int, str, str]]:
        return sorted((each.block, each.set, each.subject) for each in self.store.done(self.run.id))

    def everything(self, blocks: int) -> list[tuple[int, str, str]]:
        return sorted(
            (block, name, subject)
            for block in range(blocks)
            for name in ("main", "cte")
            for subject in NAMES
        )


def cut_off(measuring: Measuring, number: int) -> None:
    """Interrupt measuring when an invocation of block 1 begins."""

    def stop(event: Event) -> None:
        if isinstance(event, InvocationStarted) and event.block == 1 and event.number == number:
            raise KeyboardInterrupt

    measuring.recorder.listen = stop
    with pytest.raises(KeyboardInterrupt):
        measuring.run()


@pytest.fixture
def bench(run: Run, store: Store, session: Session) -> Bench:
    return Bench(run, store, session)


@pytest.fixture
def builds(tmp_path: Path) -> dict[str, Build]:
    return {name: pretended_build(tmp_path / "builds" / name) for name in NAMES}


@pytest.fixture
def two_candidates(builds: dict[str, Build], tmp_path: Path) -> dict[str, Build]:
    """Return builds of which one may break, since another candidate is left."""
    return builds | {"o3": pretended_build(tmp_path / "builds" / "o3")}


@pytest.mark.parametrize("slices", Slices)
def test_every_subject_is_measured_once_in_every_block(
    bench: Bench, builds: dict[str, Build], slices: Slices
) -> None:
    assert bench.measure(builds, slices=slices).run() == "blocks"
    assert bench.done() == bench.everything(3)
    samples = bench.store.samples(bench.run.id)
    assert len(columns(samples).block) == 3 * 3 * 4
    assert set(samples.steps) == {"main/100", "main/110", "cte/100", "cte/110"}
    assert sum(isinstance(event, BlockEnded) for event in bench.events) == 3


def test_one_subject_does_all_sets_before_the_next_ones_turn(
    bench: Bench, builds: dict[str, Build]
) -> None:
    assert bench.measure(builds, servers=Servers.ONE).run() == "blocks"
    assert bench.done() == bench.everything(3)
    begun = [event for event in bench.events if isinstance(event, InvocationStarted)]
    for block in range(3):
        own = [event for event in begun if event.block == block]
        assert [event.number for event in own] == list(range(1, 7))
        turns = [subject for subject, _ in itertools.groupby(event.subject for event in own)]
        assert sorted(turns) == sorted(NAMES)


def test_a_block_that_was_cut_off_is_measured_anew_where_one_server_is_up_at_a_time(
    bench: Bench, builds: dict[str, Build]
) -> None:
    cut_off(bench.measure(builds, servers=Servers.ONE), 4)
    assert len(bench.done()) == 6 + 3
    bench.events.clear()
    assert bench.measure(builds, servers=Servers.ONE).run() == "blocks"
    assert bench.done() == bench.everything(3)
    begun = [event for event in bench.events if isinstance(event, InvocationStarted)]
    assert len(begun) == 2 * 6, "nothing of the second block was left as it was"


def test_a_wide_target_ends_it_after_the_least_blocks(
    bench: Bench, builds: dict[str, Build]
) -> None:
    design = replace(DESIGN, target=0.99, min_blocks=6, max_blocks=50)
    assert bench.measure(builds, design).run() == "target"
    assert len(bench.done()) == 6 * 6


@pytest.mark.parametrize(
    ("slow", "stop_early", "why"),
    [(True, True, "clear"), (True, False, "blocks"), (False, True, "blocks")],
)
def test_a_clear_difference_ends_it_early_only_where_that_is_wanted(
    bench: Bench,
    builds: dict[str, Build],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    slow: bool,
    stop_early: bool,
    why: str,
) -> None:
    # A pretended driver varies in nothing, so the target would be met.
    monkeypatch.setattr("dbhone.experiment.execution.measure.precision", lambda _: 1.0)
    if slow:
        for name in NAMES[1:]:
            builds[name] = pretended_build(
                tmp_path / "slow" / name, GOOD.replace("0.025s", "0.925s")
            )
    design = replace(DESIGN, min_blocks=6, max_blocks=8)
    assert bench.measure(builds, design, stop_early=stop_early).run() == why
    assert bench.done() == bench.everything(6 if why == "clear" else 8)


def test_a_budget_that_no_block_fits_in_is_an_error(bench: Bench, builds: dict[str, Build]) -> None:
    with pytest.raises(BudgetSpentError, match="the budget is too small") as caught:
        bench.measure(builds, replace(DESIGN, budget_seconds=0.01, min_blocks=6)).run()
    # The budget that it proposes is for the whole run, as resume takes it.
    assert f"'hone resume {bench.run.id} --budget 1m'" in (caught.value.hint or "")
    assert bench.done() == []


def test_a_first_block_that_its_starts_and_loads_make_too_long_for_the_budget_is_not_begun(
    bench: Bench, builds: dict[str, Build]
) -> None:
    with pytest.raises(BudgetSpentError, match="one block takes about 700 s"):
        bench.measure(builds, planned=700.0).run()
    assert bench.done() == []


def test_a_run_that_goes_on_begins_no_block_that_would_take_longer_than_what_is_left(
    bench: Bench, builds: dict[str, Build], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.measure(builds, replace(DESIGN, max_blocks=2)).run()
    samples = replace(bench.store.samples(bench.run.id), block_seconds=700.0)
    monkeypatch.setattr(bench.store, "samples", lambda _: samples)
    assert bench.measure(builds).run() == "budget"
    assert bench.done() == bench.everything(2)


def test_what_was_cut_off_is_made_anew_and_kept(bench: Bench, builds: dict[str, Build]) -> None:
    cut_off(bench.measure(builds), 5)
    before = len(bench.done())
    assert before == 6 + 4
    assert bench.measure(builds).run() == "blocks"
    assert bench.done() == bench.everything(3)
    raw = bench.store.samples(bench.run.id)
    assert len(columns(raw).block) == 3 * 3 * 4


def test_a_resumed_run_keeps_its_order(bench: Bench, builds: dict[str, Build]) -> None:
    first = bench.measure(builds)
    first.run()
    told = [(e.block, e.set, e.subject) for e in bench.events if isinstance(e, InvocationStarted)]
    again = bench.measure(builds, replace(DESIGN, max_blocks=4))
    again.run()
    whole = [(e.block, e.set, e.subject) for e in bench.events if isinstance(e, InvocationStarted)]
    order = block_order(DESIGN.seed, 3, tuple(SCHEDULE.tasks), tuple(builds))
    assert whole[len(told) :] == [(3, set_, name) for set_, names in order for name in names]


def test_the_rest_of_a_block_does_not_tell_how_long_a_whole_one_takes(
    bench: Bench, builds: dict[str, Build], monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_off(bench.measure(builds), 5)
    again = bench.measure(builds)
    block_seconds = sum(SCHEDULE.seconds.values()) * len(builds)
    now = again.recorder.clock()

    def left() -> float:
        ended = any(isinstance(event, BlockEnded) for event in bench.events)
        return block_seconds * 0.9 if ended else 600.0

    monkeypatch.setattr(again.recorder, "clock", lambda: now)
    monkeypatch.setattr(again.recorder, "left", left)
    assert again.run() == "budget"
    assert bench.done() == bench.everything(2)


def test_a_block_that_is_complete_is_not_begun_again(
    bench: Bench, builds: dict[str, Build]
) -> None:
    bench.measure(builds).run()
    bench.store.supersede(bench.run.id, 1, "cte")
    bench.events.clear()
    assert bench.measure(builds).run() == "blocks"
    assert [event.block for event in bench.events if isinstance(event, BlockEnded)] == [1]
    assert bench.done() == bench.everything(3)


def test_a_subject_whose_data_is_damaged_takes_no_further_part(
    bench: Bench, two_candidates: dict[str, Build], monkeypatch: pytest.MonkeyPatch
) -> None:
    measuring = bench.measure(two_candidates)
    damage = {"pgo": DriverError("the server's tables are damaged: 3.3.2.1")}
    monkeypatch.setattr(measuring.target, "check", lambda: damage)
    assert measuring.run() == "blocks"
    assert measuring.broken == {"pgo": "the server's tables are damaged: 3.3.2.1"}
    assert bench.broken == measuring.broken
    assert {block for block, _, subject in bench.done() if subject == "pgo"} == {0}


def test_other_hones_wait_while_data_is_checked_and_cleared_away(
    bench: Bench, builds: dict[str, Build], monkeypatch: pytest.MonkeyPatch
) -> None:
    measuring = bench.measure(builds)
    exclusive, checked = [False], list[bool]()

    @contextlib.contextmanager
    def alone() -> Iterator[None]:
        exclusive.append(True)
        try:
            yield
        finally:
            exclusive.pop()

    def check() -> dict[str, HoneError]:
        checked.append(exclusive[-1])
        return {}

    @contextlib.contextmanager
    def opened(*_: object) -> Iterator[None]:
        with open_block(("rel",), 0):
            yield
        cleared.append(exclusive[-1])

    open_block, cleared = measuring.target.open, list[bool]()
    monkeypatch.setattr(measuring.service, "exclusive", alone)
    monkeypatch.setattr(measuring.target, "check", check)
    monkeypatch.setattr(measuring.target, "open", opened)
    measuring.run()
    assert checked == cleared == [True] * 3


def test_a_subject_that_fails_twice_running_takes_no_further_part(
    bench: Bench, two_candidates: dict[str, Build], tmp_path: Path
) -> None:
    two_candidates["pgo"] = pretended_build(tmp_path / "builds" / "bad", GARBAGE)
    measuring = bench.measure(two_candidates)
    assert measuring.run() == "blocks"
    assert measuring.broken["pgo"].startswith("it failed on ")
    assert "printed an unexpected" in measuring.broken["pgo"]
    failed = [each for each in bench.store.done(bench.run.id) if each.failure]
    assert [each.subject for each in failed] == ["pgo", "pgo"]
    samples = bench.store.samples(bench.run.id)
    assert "pgo" not in set(samples.measured_subjects())


FAILING_ON_CTE = GOOD.replace("#!/bin/sh\n", '#!/bin/sh\n[ "$5" = cte ] && exit 1\n', 1)
"""What succeeds on one set and fails on the other."""


@pytest.fixture
def alternating(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets come in the same order in all blocks, so that no two failures follow each other."""

    def in_order(*given: Any, ordered: bool) -> tuple[tuple[str, tuple[str, ...]], ...]:
        del ordered
        return block_order(*given, ordered=True)

    monkeypatch.setattr("dbhone.experiment.execution.measure.block_order", in_order)


def failed(bench: Bench) -> list[tuple[int, str, str]]:
    done = bench.store.done(bench.run.id)
    return [(each.block, each.set, each.subject) for each in done if each.failure]


@pytest.mark.usefixtures("alternating")
def test_a_subject_that_fails_on_one_set_in_every_block_takes_no_further_part(
    bench: Bench, two_candidates: dict[str, Build], tmp_path: Path
) -> None:
    two_candidates["pgo"] = pretended_build(tmp_path / "builds" / "bad", FAILING_ON_CTE)
    measuring = bench.measure(two_candidates)
    assert measuring.run() == "blocks"
    assert measuring.broken["pgo"].startswith("it failed on cte again: ")
    assert failed(bench) == [(0, "cte", "pgo"), (1, "cte", "pgo")]


@pytest.mark.usefixtures("alternating")
def test_what_a_subject_failed_on_before_counts_when_the_run_goes_on(
    bench: Bench, two_candidates: dict[str, Build], tmp_path: Path
) -> None:
    two_candidates["pgo"] = pretended_build(tmp_path / "builds" / "bad", FAILING_ON_CTE)
    first = bench.measure(two_candidates, replace(DESIGN, max_blocks=1))
    assert first.run() == "blocks"
    assert first.broken == {}
    resumed = bench.measure(two_candidates)
    assert resumed.run() == "blocks"
    assert "pgo" in resumed.broken
    assert failed(bench) == [(0, "cte", "pgo"), (1, "cte", "pgo")]


@pytest.mark.usefixtures("alternating")
def test_a_base_that_fails_on_one_set_in_every_block_ends_the_run(
    bench: Bench, builds: dict[str, Build], tmp_path: Path
) -> None:
    builds["rel"] = pretended_build(tmp_path / "builds" / "bad", FAILING_ON_CTE)
    with pytest.raises(DriverError, match="the base cannot be measured: it failed on cte again"):
        bench.measure(builds).run()
    assert failed(bench) == [(0, "cte", "rel"), (1, "cte", "rel")]


def change_after(starts: int, build: Build, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a build's driver be another once it was started so many times."""
    program = build.path("speedtest1")
    left = itertools.count(starts - 1, -1)

    def drive_and_change(command: DriverCommand) -> DriverResult:
        result = drive(command)
        if command.request.program == program and next(left) == 0:
            program.write_text(script)
        return result

    monkeypatch.setattr("dbhone.experiment.target.embedded_target.drive", drive_and_change)


def test_a_subject_that_failed_once_is_measured_on_and_told(
    bench: Bench, builds: dict[str, Build], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builds["pgo"] = pretended_build(tmp_path / "builds" / "failing", GARBAGE)
    change_after(1, builds["pgo"], GOOD, monkeypatch)
    measuring = bench.measure(builds)
    assert measuring.run() == "blocks"
    assert measuring.broken == {}
    assert bench.done() == bench.everything(3)
    (note,) = failure_notes(bench.store.done(bench.run.id))
    assert note.subject == "pgo"
    assert re.match(r"pgo failed on (main|cte) in 1 of 3 blocks and has no", note.text)


def test_a_subject_that_broke_keeps_nobody_from_the_target(
    bench: Bench, two_candidates: dict[str, Build], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_candidates["pgo"] = pretended_build(tmp_path / "builds" / "breaking")
    change_after(4, two_candidates["pgo"], GARBAGE, monkeypatch)
    design = replace(DESIGN, target=0.99, min_blocks=6, max_blocks=12)
    assert bench.measure(two_candidates, design).run() == "target"
    samples = bench.store.samples(bench.run.id)
    measured = set(samples.measured_subjects())
    assert measured == {*NAMES, "o3"}, "what was measured of it is kept"
    del two_candidates["pgo"]
    again = bench.measure(two_candidates, design)
    assert again.run() == "target", "it takes no part when resumed either"


@pytest.mark.parametrize("bad", [("pgo", "control"), ("pgo",)])
def test_a_base_beside_which_no_candidate_is_left_is_not_measured_on(
    bench: Bench, builds: dict[str, Build], tmp_path: Path, bad: tuple[str, ...]
) -> None:
    for name in bad:
        builds[name] = pretended_build(tmp_path / "bad" / name, GARBAGE)
    left = (
        r"nothing is left to compare with rel; broken or left out: o3 \(absent\), pgo \(it failed"
    )
    with pytest.raises(DriverError, match=left) as error:
        bench.measure(builds, absent={"o3": "absent"}).run()
    assert error.value.subjects == ("o3", "pgo")


def test_a_base_that_cannot_be_measured_ends_the_run(
    bench: Bench, builds: dict[str, Build], tmp_path: Path
) -> None:
    builds["rel"] = pretended_build(tmp_path / "builds" / "bad", GARBAGE)
    with pytest.raises(DriverError, match="the base cannot be measured"):
        bench.measure(builds).run()


@pytest.mark.parametrize("wanted", [True, False])
def test_every_set_is_asked_as_long_in_every_block_where_that_is_wanted(
    bench: Bench, builds: dict[str, Build], monkeypatch: pytest.MonkeyPatch, wanted: bool
) -> None:
    looked = []
    monkeypatch.setattr(
        "dbhone.experiment.execution.measure.allocate_time", lambda *_, **__: looked.append(1)
    )
    bench.measure(builds, replace(DESIGN, max_blocks=2), allot=wanted).run()
    assert len(looked) == (2 if wanted else 0)


def test_time_is_divided_by_ratios_to_the_base_wherever_the_file_declares_it(
    bench: Bench, builds: dict[str, Build], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[list[str]] = []
    monkeypatch.setattr(
        "dbhone.experiment.execution.measure.allocate_time",
        lambda _, subjects, *__, **___: given.append(list(subjects)),
    )
    turned = {name: builds[name] for name in reversed(NAMES)}
    bench.measure(turned, replace(DESIGN, max_blocks=1)).run()
    assert given == [["rel", "pgo", "control"]]


def test_a_resumed_run_goes_on_as_its_trials_so_far_show(
    bench: Bench, builds: dict[str, Build], monkeypatch: pytest.MonkeyPatch
) -> None:
    lasted = 2.0
    slices = tuple(
        replace(a_slice(number), began=number * lasted / 4, seconds=lasted / 4)
        for number in range(4)
    )
    sliced = tuple(Sliced(block=0, set="cte", subject=name, slices=slices) for name in NAMES)
    monkeypatch.setattr(bench.store, "sliced", lambda _: sliced)
    allotted: list[tuple[int, float]] = []

    def allocate(*_: object, block_seconds: float, **__: object) -> None:
        begun = sum(isinstance(event, InvocationStarted) for event in bench.events)
        allotted.append((begun, block_seconds))

    monkeypatch.setattr("dbhone.experiment.execution.measure.allocate_time", allocate)
    measuring = bench.measure(builds, replace(DESIGN, max_blocks=1))
    usual = measuring._block_seconds
    measuring.run()
    # The set's trial took two seconds, where 0.1 on each of three subjects were expected.
    begun, block_seconds = allotted[0]
    assert begun == 0
    assert block_seconds == pytest.approx(usual + lasted - 0.3)


def await_spinners(count: int, *, spinning: bool) -> None:
    """Wait until so many programs of ours yield to all others, and whether they run or stop."""
    while True:
        whole = psutil.Process().children(recursive=True)
        idle = [each for each in whole if os.sched_getscheduler(each.pid) == os.SCHED_IDLE]
        stopped = [each for each in idle if each.status() == psutil.STATUS_STOPPED]
        if len(idle) == count and len(stopped) == (0 if spinning else count):
            return
        time.sleep(0.01)


def test_cpus_are_awake_while_something_is_measured_and_only_then(
    bench: Bench, builds: dict[str, Build]
) -> None:
    cpus = frozenset(os.sched_getaffinity(0))
    told = []

    def listen(event: Event) -> None:
        if isinstance(event, InvocationStarted | BlockEnded):
            await_spinners(len(cpus), spinning=isinstance(event, InvocationStarted))
            told.append(type(event))

    design = replace(DESIGN, max_blocks=1)
    bench.measure(builds, design, listen=listen, awake=True).run()
    assert told == [InvocationStarted] * 6 + [BlockEnded]
    await_spinners(0, spinning=False)


@pytest.mark.parametrize(
    "clock", ["dbhone.instance.idle_inhibitor.IdleInhibitor.cpu_seconds", "time.process_time"]
)
def test_the_time_of_hone_and_of_what_keeps_cpus_awake_is_no_load_by_others(
    bench: Bench, builds: dict[str, Build], monkeypatch: pytest.MonkeyPatch, clock: str
) -> None:
    own = []

    def note(*moments: object, own_cpu_seconds: float) -> dict[str, float]:
        own.append(own_cpu_seconds)
        return {}

    seconds = itertools.count(0.0, 5.0)
    monkeypatch.setattr(clock, lambda *_: next(seconds))
    monkeypatch.setattr("dbhone.experiment.target.trial.between", note)
    bench.measure(builds, replace(DESIGN, max_blocks=1)).run()
    assert len(own) == len(bench.everything(1))
    assert all(5.0 <= each < 10.0 for each in own)


def test_what_the_machine_cannot_do_is_refused_before_anything_starts(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def keep(folder: object) -> None:
        raise MachineError("the kernel keeps it all")

    monkeypatch.setattr(idle_inhibitor, "refusal", lambda: "there is a quota")
    monkeypatch.setattr(page_cache, "check_evictable", keep)
    check_can_measure(parse(GOOD_SERVERS, name="x.toml"), session)
    with pytest.raises(MachineError, match="the CPUs cannot be kept awake: there is a quota"):
        check_can_measure(
            parse(f"{GOOD_SERVERS}\n[design]\nawake = true\n", name="x.toml"), session
        )
    with pytest.raises(MachineError, match="keeps it all"):
        check_can_measure(parse(GOOD_SERVERS.replace("os-cached", "cold"), name="x.toml"), session)
