"""Executing a plan: what is done is what the plan says, in its order."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property

import pytest

from dbhone.errors import (
    BuildError,
    DriverError,
    HoneError,
    MachineError,
    NoSpaceError,
    ServerError,
    SettingsError,
    SourceError,
    ToolError,
    UsageError,
    VariantError,
)
from dbhone.experiment.declaration.comparing import COMPARISON
from dbhone.experiment.declaration.load import load_shipped, parse, shipped_names
from dbhone.experiment.declaration.model import Experiment, SubjectDeclaration
from dbhone.experiment.execution import earlier_sessions, execute
from dbhone.experiment.execution.builds import BuildService
from dbhone.experiment.execution.execute import Execution
from dbhone.experiment.execution.recorder import RunRecorder
from dbhone.experiment.execution.run_lifecycle import begin
from dbhone.experiment.plan.estimates import BuildEstimator
from dbhone.experiment.plan.events import Began, Ended, Event
from dbhone.experiment.plan.plan import (
    Compile,
    Cost,
    Fetch,
    PlanStep,
    PostLink,
    TakeReadyMade,
    Train,
)
from dbhone.experiment.plan.planning import make_plan
from dbhone.experiment.target.target import Answers, BuildResult, Schedule, ServerState
from dbhone.measurement.record import Run, RunState, Sliced, Warning
from dbhone.measurement.store import Store
from dbhone.session import Session
from dbhone.source.tree import SourceTree
from dbhone.verification.outcome import (
    Evidence,
    Failure,
    Grade,
    ListComparison,
    Outcome,
)
from dbhone.verification.verify import Verification
from tests.compilation.tiny import make_tree
from tests.experiment.experiment_files import CONFIGURED, GOOD
from tests.experiment.pretended import pretended_build
from tests.measurement.store_records import STEPS, a_slice, invocation


class PretendedService(BuildService):
    """Every build is there as soon as it is asked for."""

    def perform(self, step: PlanStep) -> bool:
        if isinstance(step, Fetch):
            self.use_tree(step.reference, self.only_tree)
        elif isinstance(step, Compile | PostLink | TakeReadyMade):
            folder = self.session.workdir("pretended-build")
            result = BuildResult(build=pretended_build(folder), tree=self.only_tree, reused=False)
            self._results[step.makes] = result
        return False

    @cached_property
    def only_tree(self) -> SourceTree:
        tree = make_tree(self.session.workdir("pretended") / "source")
        return replace(tree, digest="0" * 64)  # as pretended builds say


ABSENCE = Execution._absence
SILENCE: Answers = {}
"""In place of answers, that a server gives none."""


@dataclass
class PretendedTarget:
    """Answers alike for all subjects but those that are named as broken."""

    broken: Collection[str] = ()
    silent: Collection[str] = ()
    unfit: Collection[str] = ()
    runs_on: frozenset[int] = frozenset()
    answers: Mapping[str, list[Answers]] = field(default_factory=dict)
    sets: tuple[str, ...] | None = None
    before: Sequence[Sliced] = ()
    slow: frozenset[str] = frozenset()

    def __call__(
        self, experiment: Experiment, builds: Mapping[str, object], *_: object
    ) -> PretendedTarget:
        self.sets = experiment.workload.sets
        self._ask(builds)
        return self

    def _ask(self, subjects: Iterable[str]) -> None:
        for name in subjects:
            if name in self.silent:
                raise ServerError(f"{name} crashed when asked for its settings")

    def continue_from(self, earlier: Sequence[Sliced], slow_sets: frozenset[str]) -> None:
        self.before, self.slow = earlier, slow_sets

    def check_settings(self, _experiment: object, subject: SubjectDeclaration, *_: object) -> None:
        self._ask((subject.name,))
        for setting in subject.settings:
            if setting.name == "sync_bin_log":
                raise SettingsError("there is no setting 'sync_bin_log'")

    def check_start(self, _experiment: object, subject: SubjectDeclaration, *_: object) -> None:
        if subject.name in self.unfit:
            raise ServerError(f"{subject.name} does not start: invalid value")

    def state(self, subject: str) -> ServerState:
        return ServerState()

    def verify(self, subject: str) -> Answers:
        if subject in self.broken:
            raise DriverError("it crashed")
        given = self.answers.get(subject, [])
        if len(given) > 1:
            return given.pop(0)
        if given == [SILENCE]:
            raise ServerError("the server does not answer")
        return given[0] if given else {"all": "42"}

    def usable_cpus(self) -> frozenset[int]:
        return self.runs_on

    def schedule(self) -> Schedule:
        return Schedule(tasks={}, steps=(), seconds={})

    def block_seconds(self, _: object, subjects: int, copying: float) -> float:
        return 10.0 * subjects + copying


class PretendedMeasuring:
    """Measures nothing; remembers which subjects it was given, and how long a block would take."""

    subjects: tuple[str, ...] = ()
    planned = 0.0
    absent: Mapping[str, str] = {}

    def __init__(
        self,
        target: object,
        subjects: tuple[str, ...],
        *given: Callable[[str, str], None],
        planned: float,
        absent: Mapping[str, str],
    ) -> None:
        self.on_break = given[-1]
        PretendedMeasuring.subjects, PretendedMeasuring.planned = subjects, planned
        PretendedMeasuring.absent = absent

    def run(self) -> str:
        return "target"


class Bench:
    """Executes experiments with everything real but builds, servers and clocks."""

    def __init__(self, session: Session, store: Store) -> None:
        self.session = session
        self.store = store
        self.events: list[Event] = []
        self.target = PretendedTarget()
        self._run_id = 0

    def execute(self, declared: Experiment | str, run: Run | None = None) -> Run:
        """Execute an experiment, or the one that a text declares."""
        experiment = parse(declared, name="x.toml") if isinstance(declared, str) else declared
        self.events.clear()
        run = run or begin(experiment, self.session, self.store)
        self._run_id = run.id
        Execution(experiment, run, self.session, self.store, self.events.append).execute()
        return self.run

    @property
    def run(self) -> Run:
        """The last run, as it is kept."""
        return self.store.run(self._run_id)

    @property
    def broken(self) -> dict[str, str]:
        """Why subjects of the last run are broken."""
        return {each.name: each.broken for each in self.run.subjects if each.broken}

    @property
    def left_out(self) -> list[str | None]:
        """The subjects of the last run that were left out."""
        return [each.subject for each in self.run.warnings if each.code == "left-out"]

    def begun(self) -> list[tuple[str, str]]:
        return [(event.stage, event.what) for event in self.events if isinstance(event, Began)]

    def ended(self) -> list[tuple[str, str]]:
        return [(event.stage, event.what) for event in self.events if isinstance(event, Ended)]


@pytest.fixture
def bench(session: Session, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(execute, "BuildService", PretendedService)
    monkeypatch.setattr(BuildEstimator, "absence", lambda *_: None)
    monkeypatch.setattr(execute.Execution, "_absence", lambda *_: None)
    monkeypatch.setattr(execute, "check_can_measure", lambda *_: None)
    monkeypatch.setattr(execute, "Measuring", PretendedMeasuring)
    with Store.open(session.home.database) as store:
        bench = Bench(session, store)
        monkeypatch.setattr(execute, "target_class", lambda _: bench.target)
        yield bench


def told_by_plan(experiment: Experiment, bench: Bench) -> list[tuple[str, str]]:
    plan = make_plan(experiment, BuildEstimator(bench.session.home))
    return [(step.stage, step.label) for step in plan.steps]


@pytest.mark.parametrize("name", shipped_names())
def test_what_is_done_is_what_the_plan_of_a_shipped_experiment_says(
    name: str, bench: Bench
) -> None:
    shipped = load_shipped(name)
    ample = replace(shipped, design=replace(shipped.design, budget_seconds=1e6))
    planned = told_by_plan(ample, bench)
    run = bench.execute(ample)
    assert bench.begun() == planned
    assert bench.ended() == planned
    assert run.state is RunState.DONE
    assert [subject.name for subject in run.subjects] == [each.name for each in ample.subjects]


def test_a_setting_that_no_server_has_is_refused_before_all_others_are_built(bench: Bench) -> None:
    text = CONFIGURED.replace("sync_binlog", "sync_bin_log").replace(
        "b = {", 'b = { like = "a", variant = "o3" }\nc = {'
    )
    with pytest.raises(SettingsError, match="no setting 'sync_bin_log'"):
        bench.execute(f"{text}set = {{ max_connections = 10 }}\n")
    assert [what for stage, what in bench.begun() if stage == "build"] == ["a: rel with gcc"]
    assert bench.ended()[-1][0] != "build"


def test_a_base_that_does_not_start_as_requested_ends_the_run_before_others_are_built(
    bench: Bench,
) -> None:
    text = CONFIGURED.replace("b = {", 'b = { like = "a", variant = "o3" }\nc = {')
    bench.target = PretendedTarget(unfit=("a",))
    with pytest.raises(ServerError, match="a does not start: invalid value"):
        bench.execute(f"{text}set = {{ max_connections = 10 }}\n")
    assert [what for stage, what in bench.begun() if stage == "build"] == ["a: rel with gcc"]
    bench.target = PretendedTarget(unfit=("c",))
    assert bench.execute(f"{text}set = {{ max_connections = 10 }}\n").state is RunState.DONE


BESIDES = GOOD.replace("pgo = {", 'o1 = { like = "rel", variant = "o1" }\npgo = {', 1)
"""With a candidate that is not optional."""
SHORT = BESIDES.replace("1m30s", "1s")
"""No build leaves enough of a second."""
AMPLE = BESIDES.replace("1m30s", "10h")
"""Every build leaves enough of ten hours."""


def test_an_optional_subject_is_left_out_where_it_would_leave_too_little_time(
    bench: Bench,
) -> None:
    bench.execute(SHORT)
    assert PretendedMeasuring.subjects == ("rel", "control", "o1")
    assert not any("pgo" in label for _, label in bench.begun())
    assert bench.left_out == ["pgo"]


def test_an_optional_subject_is_built_where_the_machine_proves_faster_than_expected(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its steps are in the plan, so that the clock decides and not the forecast."""
    monkeypatch.setattr(BuildEstimator, "cost", lambda *_: Cost(seconds=40.0, guessed=True))
    experiment = parse(BESIDES, name="x.toml")
    assert make_plan(experiment, BuildEstimator(bench.session.home)).tentative == ("pgo",)
    bench.execute(experiment)
    assert PretendedMeasuring.subjects == ("rel", "control", "o1", "pgo")


def test_an_optional_subject_is_left_out_once_there_is_too_little_time_for_the_rest_of_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = parse(BESIDES, name="x.toml")
    budget = experiment.design.budget_seconds
    perform, left = PretendedService.perform, [budget]

    def perform_slowly(service: PretendedService, step: PlanStep) -> bool:
        if isinstance(step, Compile) and "pgo" in step.subjects:
            left[0] = 0.2 * budget
        return perform(service, step)

    monkeypatch.setattr(BuildEstimator, "cost", lambda *_: Cost(seconds=0.1 * budget, guessed=True))
    monkeypatch.setattr(PretendedService, "perform", perform_slowly)
    monkeypatch.setattr(RunRecorder, "left", lambda _: left[0])
    bench.execute(experiment)
    assert ("build", "pgo: rel+lto+pgo with clang, instrumented") in bench.ended()
    assert PretendedMeasuring.subjects == ("rel", "control", "o1")
    assert bench.left_out == ["pgo"]


def test_the_only_candidate_is_built_however_little_time_there_is(bench: Bench) -> None:
    bench.execute(GOOD.replace("1m30s", "1s"))
    assert PretendedMeasuring.subjects == ("rel", "control", "pgo")


@pytest.mark.parametrize(
    ("target", "why"),
    [
        (PretendedTarget(broken={"pgo"}), "it crashed"),
        (PretendedTarget(silent={"pgo"}), "pgo crashed when asked for its settings"),
    ],
)
def test_a_subject_that_answers_nothing_is_broken_and_the_others_are_measured(
    bench: Bench, target: PretendedTarget, why: str
) -> None:
    bench.target = target
    bench.execute(AMPLE)
    assert bench.broken == {"pgo": why}
    assert PretendedMeasuring.subjects == ("rel", "control", "o1")
    assert PretendedMeasuring.planned == 30.0, "a block of three subjects"
    assert PretendedMeasuring.absent == {"pgo": why}


def test_other_hones_wait_while_servers_are_asked_for_settings_and_variants_are_tried(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    holding, alone = [False], list[bool]()

    @contextlib.contextmanager
    def exclusive(_: object) -> Iterator[None]:
        assert not holding[-1], "the lock would wait for itself"
        holding.append(True)
        try:
            yield
        finally:
            holding.pop()

    def note(*_: object) -> None:
        alone.append(holding[-1])

    monkeypatch.setattr(Execution, "_absence", ABSENCE)
    monkeypatch.setattr(execute, "why_variant_fails", note)
    monkeypatch.setattr(PretendedService, "exclusive", exclusive)
    monkeypatch.setattr(PretendedService, "compiler", lambda *_: None)
    monkeypatch.setattr(execute, "linker_of", lambda *_: None)
    monkeypatch.setattr(PretendedTarget, "check_settings", note)
    monkeypatch.setattr(PretendedTarget, "_ask", note)
    bench.execute(CONFIGURED.replace("[config]", "[config]\nset = { max_connections = 10 }"))
    assert len(alone) > 3
    assert all(alone)


def test_what_the_base_answers_otherwise_itself_breaks_no_subject_and_is_told(bench: Bench) -> None:
    first, second, third = ({"all": "42", "now": now} for now in ("10:00", "10:05", "10:09"))
    bench.target = PretendedTarget(
        answers={"rel": [first, second], "control": [second], "o1": [third], "pgo": [first]}
    )
    run = bench.execute(AMPLE)
    assert bench.broken == {}
    (note,) = (each.text for each in run.warnings if each.code == "varying-answers")
    assert note.startswith("1 answer of the base itself varied")
    assert note.endswith(": now")


def test_a_subject_that_answers_otherwise_than_the_base_is_broken(bench: Bench) -> None:
    bench.target = PretendedTarget(answers={"pgo": [{"all": "43"}]})
    run = bench.execute(AMPLE)
    assert bench.broken == {"pgo": "it answers otherwise than the base: all"}
    assert "varying-answers" not in {each.code for each in run.warnings}


def test_that_subjects_use_slower_cpus_than_the_fastest_is_told(bench: Bench) -> None:
    noted = {each.code for each in bench.execute(AMPLE).warnings}
    bench.target = PretendedTarget(runs_on=frozenset({99_999}))
    assert {each.code for each in bench.execute(AMPLE).warnings} - noted == {"hybrid-cpu"}


def test_a_base_that_does_not_answer_again_ends_the_run_and_blames_no_subject(bench: Bench) -> None:
    bench.target = PretendedTarget(
        answers={"rel": [{"all": "42"}, SILENCE], "pgo": [{"all": "43"}]}
    )
    with pytest.raises(DriverError, match="the base rel is not sound: the server does not answer"):
        bench.execute(AMPLE)
    assert bench.broken == {}


def test_where_the_base_tells_no_settings_no_other_subject_is_broken(bench: Bench) -> None:
    bench.target = PretendedTarget(silent={"rel", "control", "pgo"})
    with pytest.raises(ServerError, match="rel crashed"):
        bench.execute(AMPLE)
    assert bench.broken == {}


class PretendedVerification(Verification):
    """Finds that each build fails a test whose difference is a page long."""

    def outcome(self, *_: object) -> Outcome:
        failure = Failure(check="check", list="list", test="joins", difference="-1\n+2\n" * 999)
        tests = ListComparison(
            check="check",
            list="list",
            evidence=Evidence.BYTES,
            tests=1,
            proving=1,
            base_failures=(),
            undecided=(),
            failures=() if self.candidate is self.base else (failure,),
            seconds=0.0,
        )
        return Outcome(
            grade=self.grade, build="", base="", lists=(tests,), finished_at=datetime.now(UTC)
        )


def test_a_subject_that_fails_a_test_is_broken_and_a_footnote_shows_what_the_test_found(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execute, "Verification", PretendedVerification)
    monkeypatch.setattr(execute, "check_needs", lambda *_: None)
    experiment = parse(GOOD, name="x.toml")
    with pytest.raises(DriverError, match="nothing is left to compare"):
        bench.execute(replace(experiment, verification=Grade.SMOKE))
    assert bench.broken["pgo"].startswith(
        "it fails 1 test of check list that the base passes: joins (results:"
    )
    notes = {each.subject: each for each in bench.run.warnings if each.code == "failed-test"}
    assert notes.keys() == {"control", "pgo"}
    note = notes["pgo"]
    assert note.text.startswith("what joins of check list found in pgo, and not in the base: -1 /")
    assert len(note.text) < 400


NOT_THERE = AMPLE.replace("[subjects]", 'gone = "apt:sqlite3=9"\n[subjects]').replace(
    "pgo = {", 'new = { like = "rel", source = "gone", optional = true }\npgo = {', 1
)
"""With a candidate of another source."""


def fail_at(
    kind: type[PlanStep], subject: str, error: HoneError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let each step of a kind fail that is for one subject alone."""
    perform = PretendedService.perform

    def fail(service: PretendedService, step: PlanStep) -> bool:
        if isinstance(step, kind) and step.subjects == (subject,):
            raise error
        return perform(service, step)

    monkeypatch.setattr(PretendedService, "perform", fail)


def test_a_source_that_only_optional_subjects_use_is_done_without_if_it_cannot_be_fetched(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_at(Fetch, "new", SourceError("there is no sqlite3 9"), monkeypatch)
    run = bench.execute(NOT_THERE)
    assert PretendedMeasuring.subjects == ("rel", "control", "o1", "pgo")
    texts = [each.text for each in run.warnings if each.subject == "new"]
    assert texts == ["new was left out: its source could not be fetched: there is no sqlite3 9"]
    needed = NOT_THERE.replace('"gone", optional = true', '"gone"')
    with pytest.raises(SourceError) as failed:
        bench.execute(needed)
    assert failed.value.subjects == (), "it says nothing of the subject that it cannot be had"


def test_a_full_disk_is_no_reason_to_do_without_an_optional_subject(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_at(Compile, "pgo", NoSpaceError("no space left"), monkeypatch)
    with pytest.raises(NoSpaceError):
        bench.execute(AMPLE)


@pytest.mark.parametrize("error", [UsageError, VariantError, MachineError])
def test_an_optional_subject_is_left_out_for_what_its_version_or_the_machine_lacks(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, error: type[HoneError]
) -> None:
    fail_at(Train, "pgo", error("this version has no sets main"), monkeypatch)
    bench.execute(AMPLE)
    assert PretendedMeasuring.subjects == ("rel", "control", "o1")
    assert bench.left_out == ["pgo"]


@pytest.mark.parametrize("error", [BuildError, SourceError, ToolError])
def test_an_optional_subject_whose_build_fails_is_left_out_and_the_others_are_measured(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, error: type[HoneError]
) -> None:
    fail_at(Compile, "pgo", error("the compiler crashed"), monkeypatch)
    run = bench.execute(AMPLE)
    assert PretendedMeasuring.subjects == ("rel", "control", "o1")
    texts = [each.text for each in run.warnings if each.subject == "pgo"]
    assert texts == ["pgo was left out: its build failed: the compiler crashed"]
    with pytest.raises(error) as failed:
        bench.execute(AMPLE.replace("optional = true", "optional = false"))
    with pytest.raises(
        DriverError, match=r"left out: pgo \(its build failed: the compiler"
    ) as none:
        bench.execute(GOOD)
    assert failed.value.subjects == none.value.subjects == ("pgo",)


NOTHING_LEFT = "nothing is left to compare with rel; broken or left out: pgo (it crashed)"


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"rel"}, "the base rel is not sound: it crashed"),
        ({"control", "pgo"}, NOTHING_LEFT),
        ({"pgo"}, NOTHING_LEFT),
    ],
)
def test_without_a_base_or_a_candidate_there_is_nothing_to_measure(
    bench: Bench, broken: set[str], message: str
) -> None:
    bench.target = PretendedTarget(broken)
    with pytest.raises(DriverError) as error:
        bench.execute(GOOD)
    assert error.value.message == message
    assert (bench.run.state, bench.run.error) == (RunState.FAILED, message)


def test_a_run_without_a_candidate_measures_the_base_and_its_control(bench: Bench) -> None:
    alone = "".join(line for line in GOOD.splitlines(keepends=True) if "pgo" not in line)
    assert bench.execute(alone).state is RunState.DONE
    assert PretendedMeasuring.subjects == ("rel", "control")


def test_a_comparison_of_what_is_byte_for_byte_the_same_is_answered_unmeasured(
    bench: Bench,
) -> None:
    PretendedMeasuring.subjects = ()
    run = bench.execute(parse(GOOD, name=COMPARISON))
    assert (run.state, run.stopped_by) == (RunState.DONE, "identical")
    assert PretendedMeasuring.subjects == ()
    assert bench.execute(GOOD).stopped_by == "target"
    bench.target = PretendedTarget(broken={"pgo"})
    with pytest.raises(DriverError, match="nothing is left to compare with rel"):
        bench.execute(parse(GOOD, name=COMPARISON))


def test_a_subject_that_broke_takes_no_part_when_the_run_goes_on(bench: Bench) -> None:
    bench.target = PretendedTarget(broken={"pgo"})
    run = bench.execute(AMPLE)
    bench.execute(AMPLE, run)
    assert PretendedMeasuring.subjects == ("rel", "control", "o1")
    assert not any("pgo" in label for _, label in bench.begun())


def test_a_subject_that_was_left_out_is_asked_nothing_when_the_run_goes_on(
    bench: Bench, failed_once: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = CONFIGURED.replace('dbms = "mariadb"', 'dbms = "mariadb", variant = "o3"')
    text = text.replace(
        "b = {", 'c = { like = "a", settings = { sync_binlog = 1 } }\nb = { optional = true,'
    )
    asked: list[str] = []

    def ask(_: object, subject: SubjectDeclaration, *__: object) -> None:
        asked.append(subject.name)

    def leave_out(execution: Execution, *_: object) -> None:
        execution._participants.leave_out({"b": "it lacks its allocator"})

    monkeypatch.setattr(bench.target, "check_settings", ask, raising=False)
    with monkeypatch.context() as patched:
        patched.setattr(Execution, "_check_machine", leave_out)
        run = bench.execute(text)
    bench.store.record(run.id, invocation(0, "a", failure="it crashed"))
    asked.clear()
    bench.execute(text, bench.run)
    assert set(asked) == {"a", "c", "control"}


def test_a_subject_that_breaks_while_it_is_measured_is_kept_as_broken_before_measuring_ends(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[str, str] = {}

    class Breaking(PretendedMeasuring):
        def run(self) -> str:
            self.on_break("pgo", "its tables are damaged")
            kept.update(bench.broken)
            return "target"

    monkeypatch.setattr(execute, "Measuring", Breaking)
    bench.execute(AMPLE)
    assert kept == {"pgo": "its tables are damaged"}


def test_a_run_whose_only_candidate_broke_fails_again_when_it_goes_on(bench: Bench) -> None:
    bench.target = PretendedTarget(broken={"pgo"})
    run: Run | None = None
    for _ in range(2):
        with pytest.raises(DriverError) as error:
            bench.execute(GOOD, run)
        assert error.value.message == NOTHING_LEFT
        run = bench.run


AGED = AMPLE.replace("[subjects]", 'old = "apt:sqlite3=1"\n[subjects]').replace(
    "pgo = {", 'aged = { like = "rel", variant = "pgo", profile_source = "old" }\npgo = {', 1
)
"""With a candidate that takes the profile of another source."""


def test_the_source_of_a_profile_is_not_taken_for_that_of_the_subject_when_the_run_goes_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = bench.execute(AGED)
    before = make_tree(bench.session.workdir("before") / "source")
    use_tree, taken = PretendedService.use_tree, list[str]()

    def use(service: PretendedService, reference: str, tree: SourceTree) -> None:
        if tree is before:
            taken.append(reference)
        use_tree(service, reference, tree)

    monkeypatch.setattr(earlier_sessions, "kept_tree", lambda digest, _: before if digest else None)
    monkeypatch.setattr(PretendedService, "use_tree", use)
    bench.execute(AGED, run)
    assert taken == ["apt:sqlite3"]


@pytest.mark.parametrize("derived", ["0" * 64, "1" * 64])
def test_a_source_that_is_edited_before_it_is_built_is_known_again_when_the_run_goes_on(
    bench: Bench, failed_once: Run, monkeypatch: pytest.MonkeyPatch, derived: str
) -> None:
    fetched = make_tree(bench.session.workdir("fetched") / "source")
    monkeypatch.setattr(PretendedService, "only_tree", fetched)
    edited = replace(fetched, digest=derived)
    monkeypatch.setattr(PretendedService, "tree_to_take", lambda *_: edited)
    changed = pytest.raises(UsageError, match="apt:sqlite3 is no longer what it was when run 1")
    with contextlib.nullcontext() if derived == failed_once.subjects[0].source_digest else changed:
        assert bench.execute(AMPLE, bench.run).state is RunState.DONE


def test_a_run_does_not_go_on_with_another_build_than_it_has_measured(bench: Bench) -> None:
    run = bench.execute(AMPLE)
    bench.store.record(run.id, invocation(0, "pgo", failure="it crashed"))
    for _ in range(2):
        with pytest.raises(UsageError, match="the build of pgo is no longer the one that") as error:
            bench.execute(AMPLE, bench.run)
        assert error.value.hint == "begin a new run"


@pytest.fixture
def failed_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a run of AMPLE in which pgo has failed once, and whose builds stay the same."""
    kept = pretended_build(bench.session.workdir("kept"))
    monkeypatch.setattr("tests.experiment.execution.test_execute.pretended_build", lambda _: kept)
    run = bench.execute(AMPLE)
    bench.store.record(run.id, invocation(0, "pgo", failure="it crashed"))
    return run


def test_a_run_goes_on_with_the_builds_that_it_has_measured(bench: Bench, failed_once: Run) -> None:
    assert bench.execute(AMPLE, bench.run).state is RunState.DONE


def test_a_run_goes_on_with_the_sets_that_it_has_measured_whichever_versions_are_left(
    bench: Bench, failed_once: Run
) -> None:
    assert bench.target.sets is None, "all that every version has"
    bench.store.set_steps(failed_once.id, STEPS)
    bench.execute(AMPLE, bench.run)
    assert bench.target.sets == ("main",)


def test_a_run_goes_on_as_its_trials_so_far_show(
    bench: Bench, failed_once: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.store.add_warning(
        failed_once.id, Warning(code="slow-operations", text="few", step="main")
    )
    sliced = (Sliced(block=0, set="main", subject="rel", slices=(a_slice(0),)),)
    monkeypatch.setattr(bench.store, "sliced", lambda _: sliced)
    bench.execute(AMPLE, bench.run)
    assert (bench.target.before, bench.target.slow) == (sliced, frozenset({"main"}))


def test_a_footnote_on_what_no_longer_counts_is_withdrawn_when_the_run_goes_on(
    bench: Bench, failed_once: Run
) -> None:
    failed = bench.execute(AMPLE, bench.run)
    assert "failed-invocations" in {each.code for each in failed.warnings}
    bench.store.supersede(failed_once.id, block=0, set="main")
    mended = bench.execute(AMPLE, bench.run)
    assert "failed-invocations" not in {each.code for each in mended.warnings}


def test_a_footnote_tells_what_all_sessions_waited_for_other_hones(
    bench: Bench, failed_once: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PretendedService, "waited", 40.0)
    for told in ("40 s were", "80 s were"):
        run = bench.execute(AMPLE, bench.run)
        (text,) = (each.text for each in run.warnings if each.code == "waited")
        assert text.startswith(told)


def test_an_error_is_kept_with_the_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise HoneError("no more")

    monkeypatch.setattr(PretendedService, "perform", fail)
    with contextlib.suppress(HoneError):
        bench.execute(GOOD)
    assert (bench.run.state, bench.run.error) == (RunState.FAILED, "no more")


def test_a_full_disk_ends_a_run_as_failed_and_is_named(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/home/scratch")

    monkeypatch.setattr(PretendedService, "perform", fill)
    with pytest.raises(NoSpaceError):
        bench.execute(GOOD)
    assert bench.run.state is RunState.FAILED
    assert bench.run.error == "no space left on /home/scratch while run 1 was executed"
