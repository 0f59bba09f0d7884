"""Walks the plan of an experiment: every step, in order, committed as it is finished.

Whatever ends it, what is finished is kept: sources, builds and profiles in the home folder,
measurements in the store. To execute a run again makes a new plan, in which that is done already.
"""

from __future__ import annotations

import contextlib

from dbhone.compilation.bolt import check_memory
from dbhone.compilation.feature_probe import why_variant_fails
from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import Build
from dbhone.compilation.spec import linker_of
from dbhone.cpus import fastest_cpus
from dbhone.dbms.base import load_dbms
from dbhone.errors import (
    BuildError,
    DriverError,
    HoneError,
    Interrupted,
    MachineError,
    NoSpaceError,
    ProfileError,
    ServerError,
    SourceError,
    ToolError,
    UsageError,
    disk_full,
)
from dbhone.experiment.declaration.comparing import COMPARISON
from dbhone.experiment.declaration.model import Experiment, SubjectDeclaration
from dbhone.experiment.execution.builds import BuildService
from dbhone.experiment.execution.earlier_sessions import EarlierSessions, progress_of, users_files
from dbhone.experiment.execution.expected_answers import ExpectedAnswers
from dbhone.experiment.execution.measure import Measuring, check_can_measure
from dbhone.experiment.execution.participants import Participants, nothing_to_compare
from dbhone.experiment.execution.recorder import RunRecorder, StepReport, StepReporter, telling
from dbhone.experiment.execution.subject_record import (
    describe,
    is_same_binary,
    profile_note,
    profile_warnings,
)
from dbhone.experiment.execution.verifying import answers_compared, test_harness
from dbhone.experiment.plan.data_costs import copying_seconds
from dbhone.experiment.plan.estimates import BuildEstimator
from dbhone.experiment.plan.events import Listener
from dbhone.experiment.plan.plan import (
    Calibrate,
    CheckMachine,
    CheckSubjects,
    Compile,
    Fetch,
    Measure,
    Plan,
    PlanStep,
    PostLink,
    TakeReadyMade,
    Train,
    Verify,
)
from dbhone.experiment.plan.planning import make_plan
from dbhone.experiment.target.target import (
    Answers,
    BuildResult,
    Schedule,
    ServerState,
    Target,
)
from dbhone.experiment.target.targets import target_class
from dbhone.experiment.target.warnings import (
    MEASURED,
    failed_test_note,
    hybrid_notes,
    measured_notes,
    setup_notes,
    varying_answers_note,
)
from dbhone.measurement.record import Code, Role, Run, RunState, StopReason, Warning
from dbhone.measurement.store import Store
from dbhone.session import Session
from dbhone.units import listed
from dbhone.verification.outcome import Grade
from dbhone.verification.verify import Verification, check_needs

_UNABLE = (BuildError, ProfileError, DriverError, ServerError, SourceError, ToolError)
"""The errors by which a build says that it cannot be made here."""
_UNFIT = (*_UNABLE, UsageError, MachineError)
"""The same, and those that say what its version or this machine lacks."""


class _NotMade(Exception):
    """A source or a build could not be made."""

    def __init__(self, error: HoneError) -> None:
        super().__init__(error)
        self.error = error


class Execution:
    """One session's work on one run. With ``refresh`` it looks whether sources have changed."""

    def __init__(
        self,
        experiment: Experiment,
        run: Run,
        session: Session,
        store: Store,
        listen: Listener,
        *,
        refresh: bool = False,
    ) -> None:
        self._experiment = experiment
        self._run = run
        self._store = store
        self._session = session
        self._service = BuildService(session, listen, refresh=refresh)
        self._estimator = BuildEstimator(session.home)
        self._recorder = RunRecorder(
            run,
            store,
            telling(session, listen),
            experiment.design.budget_seconds,
            waited=lambda: self._service.waited,
        )
        self._subjects = {subject.name: subject for subject in experiment.subjects}
        self._progress = progress_of(run, store)
        measured = self._progress.measured
        self._earlier = EarlierSessions(run, self._subjects, measured)
        self._participants = Participants(experiment, self._recorder, measured)
        self._asked: set[tuple[object, ...]] = set()
        """Whose servers were asked for the settings that they have."""
        self._builds: dict[str, BuildResult] = {}
        self._made_target: Target | None = None
        self._expected: ExpectedAnswers | None = None
        self._schedule: Schedule | None = None
        self._stopped_by: StopReason | None = None
        self._identical = set[str]()
        """The candidates that are byte for byte the base."""

    def execute(self) -> None:
        """Work until the run is done. Raises what stopped it; the run's state says so too."""
        self._store.update_run(self._run.id, state=RunState.RUNNING)
        try:
            self._earlier.check_files(users_files(self._experiment))
            self._walk(self._make_plan())
        except (KeyboardInterrupt, Interrupted):
            self._recorder.close(RunState.INTERRUPTED, "interrupted by the user")
            raise
        except HoneError as error:
            self._recorder.close(RunState.FAILED, error.message)
            raise
        except OSError as error:
            full = disk_full(error, f"run {self._run.id} was executed")
            if full is None:
                raise
            self._recorder.close(RunState.FAILED, full.message)
            raise full from error
        assert self._stopped_by is not None, "every plan ends with measuring"
        self._recorder.complete(self._stopped_by)

    def _make_plan(self) -> Plan:
        progress = self._progress
        for name, reason in progress.broken.items():
            self._recorder.note(f"{name} broke before: {reason}")
        for name, reason in (*progress.broken.items(), *progress.left_out.items()):
            self._participants.remove(name, reason)
        plan = make_plan(self._experiment, self._estimator, progress)
        self._participants.leave_out(
            {name: why for name, why in plan.left_out.items() if self._participants.has(name)}
        )
        return plan

    def _walk(self, plan: Plan) -> None:
        reporter = StepReporter(
            self._recorder.listen,
            plan.steps,
            clock=self._recorder.clock,
            left=self._recorder.left,
        )
        for step in plan.steps:
            if self._participants.admit(step, plan):
                try:
                    with reporter.step(step, self._participants.expected(step)) as report:
                        self._perform(step, plan, report)
                except _NotMade as failed:
                    self._do_without(step, failed.error)
                else:
                    self._participants.performed(step, report)
                self._recorder.tick()

    def _do_without(self, step: PlanStep, error: HoneError) -> None:
        """Leave out the subjects of a source or build that failed.

        Raises the error if one of them is not optional.
        """
        names = self._participants.of(step)
        fetching = isinstance(step, Fetch)
        if not all(self._subjects[name].optional for name in names):
            if isinstance(error, _UNABLE) and not fetching:
                error.subjects = names
            raise error
        failed = "its source could not be fetched" if fetching else "its build failed"
        self._participants.leave_out(dict.fromkeys(names, f"{failed}: {error.text_with_log}"))

    def _make(self, step: PlanStep) -> bool:
        """Make a source or a build; return whether it existed before. Raises _NotMade."""
        try:
            return self._service.perform(step)
        except NoSpaceError:
            raise
        except _UNFIT as error:
            raise _NotMade(error) from error

    def _perform(self, step: PlanStep, plan: Plan, report: StepReport) -> None:
        match step:
            case CheckMachine():
                self._check_machine(step)
            case Fetch():
                self._earlier.take_tree(step, self._service)
                report.reused = self._make(step)
                self._earlier.check_source(step, self._service)
            case Compile() | TakeReadyMade() | PostLink() | Train():
                report.reused = self._make(step)
                report.note = self._describe_built(step, plan)
            case CheckSubjects():
                with self._service.exclusive():
                    self._check_subjects(plan)
            case Verify():
                report.reused = step.cost.done
                if not step.cost.done:
                    self._verify(step.subject, step.grade)
            case Calibrate() | Measure() if self._is_answered():
                report.note = "nothing differs"
                self._stopped_by = StopReason.IDENTICAL
            case Calibrate():
                with self._service.exclusive():
                    self._schedule = self._target.schedule()
            case Measure():
                self._stopped_by = self._measure(self._participants.of(step), plan)
            case _:
                raise TypeError(f"nothing performs {type(step).__name__}")

    def _break(self, name: str, reason: str) -> None:
        self._participants.remove(name, reason)
        self._describe(name, self._builds[name], broken=reason)
        self._recorder.note(f"{name} is broken and takes no part: {reason}")

    def _check_machine(self, step: CheckMachine) -> None:
        check_can_measure(self._experiment, self._session)
        if self._experiment.verification is not None:
            dbms = self._experiment.base.inputs.dbms
            check_needs(dbms, self._experiment.verification, test_harness(self._service))
        absent = {}
        for name in self._participants.of(step):
            error = self._absence(self._subjects[name])
            if error is None:
                continue
            if not self._subjects[name].optional:
                raise type(error)(f"{name}: {error.message}", hint=error.hint)
            absent[name] = error.message
        self._participants.leave_out(absent)

    def _absence(self, subject: SubjectDeclaration) -> HoneError | None:
        error = self._estimator.absence(self._experiment, subject)
        if error is not None or subject.inputs.variant.ready_made:
            return error
        inputs = subject.inputs
        compiler = self._service.compiler(inputs.compiler)
        linker = linker_of(inputs, compiler)
        with self._service.exclusive():
            reason = why_variant_fails(compiler, inputs.variant.name, self._session, linker)
        if reason is not None:
            return ToolError(reason, hint="'hone doctor' says what to do")
        return _memory_shortage(inputs) if inputs.variant.post_link else None

    def _describe_built(self, step: PlanStep, plan: Plan) -> str:
        """Keep what the subjects are whose build a step has made; return a note on its profile."""
        names = [name for name in self._participants.of(step) if plan.builds[name] == step.makes]
        if not names:
            return ""
        result = self._service.build(step.makes)
        for name in names:
            self._earlier.check_build(name, result.build)
            self._recorder.withdraw(Code.LEFT_OUT, name)
            self._describe(name, result)
            self._recorder.warn(*profile_warnings(name, result.build))
        self._check_requested_settings(self._subjects[names[0]], result.build)
        base = self._experiment.base
        if base.name in names and base.settings and base.name not in self._progress.measured:
            with self._service.exclusive():
                target_class(self._experiment.workload).check_start(
                    self._experiment, base, result.build, self._session
                )
        return profile_note(result.build)

    def _check_requested_settings(self, built: SubjectDeclaration, build: Build) -> None:
        """Refuse settings that servers of this source lack, before more of them are built."""
        if _settings_source(built) in self._asked:
            return
        self._asked.add(_settings_source(built))
        check = target_class(self._experiment.workload).check_settings
        for subject in self._experiment.subjects:
            alike = _settings_source(subject) == _settings_source(built)
            if alike and subject.settings and self._participants.has(subject.name):
                # _break_silent tells of a server that does not answer.
                with contextlib.suppress(ServerError), self._service.exclusive():
                    check(self._experiment, subject, build, self._session)

    def _check_subjects(self, plan: Plan) -> None:
        builds = {
            name: self._service.build(plan.builds[name])
            for name in self._subjects
            if name in plan.builds and self._participants.has(name)
        }
        self._builds = builds
        self._note_identical(builds)
        make = target_class(self._experiment.workload)
        self._break_silent(make)
        sound = {name: builds[name] for name in builds if self._participants.has(name)}
        experiment = self._earlier.with_measured_sets(self._experiment)
        self._made_target = make(experiment, sound, self._session, self._recorder)
        sliced = self._store.sliced(self._run.id)
        self._made_target.continue_from(sliced, self._run.slow_sets)
        self._earlier.check_settings(sound, self._target)
        for name, build in sound.items():
            self._describe(name, build)

    def _break_silent(self, make: type[Target]) -> None:
        """Break each subject whose server crashes when it is asked for its settings.

        The base's is asked first: without it nothing can be compared.
        """
        base = self._experiment.base.name
        for name in sorted(self._builds, key=lambda name: name != base):
            subject, build = self._subjects[name], self._builds[name].build
            try:
                make.check_settings(self._experiment, subject, build, self._session)
            except ServerError as error:
                if name == base:
                    raise
                self._break(name, error.text_with_log)

    @property
    def _target(self) -> Target:
        assert self._made_target is not None, "subjects are checked before they are measured"
        return self._made_target

    def _note_identical(self, builds: dict[str, BuildResult]) -> None:
        """Tell of a candidate that is byte for byte the base, or it puzzles the reader.

        One with levers or settings of its own is not expected to be another build.
        """
        base = self._experiment.base
        self._recorder.withdraw(Code.IDENTICAL)
        for name, build in builds.items():
            subject = self._subjects[name]
            alike = subject.role is Role.CANDIDATE and subject.runs_like(base)
            if alike and is_same_binary(build.build, builds[base.name].build):
                text = f"{name} is byte for byte the same as the base"
                self._recorder.warn(Warning(code=Code.IDENTICAL, text=text, subject=name))
                self._identical.add(name)

    def _is_answered(self) -> bool:
        """Return whether a comparison needs no measuring: its candidate is the base."""
        compares, compared = self._experiment.name == COMPARISON, self._experiment.compared
        sound = all(map(self._participants.has, compared))
        return compares and sound and self._identical.issuperset(compared)

    def _verify(self, name: str, grade: Grade | None) -> None:
        try:
            answers = self._answers(name)
        except (DriverError, ServerError) as error:
            self._find_unsound(name, error.text_with_log, error.hint)
            return
        if self._expected is None:  # the base is verified first
            self._expected = ExpectedAnswers(answers, ask_again=self._base_answers)
        reason, hint = self._wrong_answers(self._expected, answers), None
        if reason is None and grade is not None:
            try:
                reason = self._failed_tests(name, grade, self._expected)
            except (DriverError, ServerError) as error:
                reason, hint = error.text_with_log, error.hint
        if reason is not None:
            self._find_unsound(name, reason, hint)

    def _answers(self, name: str) -> Answers:
        with self._service.exclusive():
            return self._target.verify(name)

    def _base_answers(self) -> Answers:
        name = self._experiment.base.name
        try:
            return self._answers(name)
        except (DriverError, ServerError) as error:
            raise _unsound_base(name, error.text_with_log, error.hint) from error

    def _find_unsound(self, name: str, reason: str, hint: str | None) -> None:
        """Break a subject. Raises DriverError if it is the base."""
        if name == self._experiment.base.name:
            raise _unsound_base(name, reason, hint)
        self._break(name, reason)

    def _wrong_answers(self, expected: ExpectedAnswers, answers: Answers) -> str | None:
        """Return what is answered otherwise than by the base, None if nothing."""
        wrong = expected.differing(answers)
        if expected.varying:
            self._recorder.warn(varying_answers_note(expected.varying))
        return f"it answers otherwise than the base: {listed(wrong)}" if wrong else None

    def _failed_tests(self, name: str, grade: Grade, expected: ExpectedAnswers) -> str | None:
        """Return which tests a subject's build fails that the base's passes, None if none.

        A footnote has what the first of them found.
        """
        base = self._experiment.base.name
        verification = Verification(
            candidate=self._builds[name].build, base=self._builds[base].build, grade=grade
        )
        compared = answers_compared(self._experiment.workload.name, expected, {})
        outcome = verification.outcome(test_harness(self._service), (compared,))
        if outcome.failures:
            self._recorder.warn(failed_test_note(name, outcome.failures[0]))
        reason = outcome.reason()
        kept = self._session.home.verifications / self._builds[name].build.digest
        return None if reason is None else f"{reason} (results: {kept})"

    def _measure(self, subjects: tuple[str, ...], plan: Plan) -> StopReason:
        """Measure the subjects that are sound; return why it ended."""
        absent = self._participants.reasons
        if not set(subjects).intersection(self._experiment.compared):
            raise nothing_to_compare(self._experiment, absent)
        schedule = self._schedule or self._target.schedule()
        self._recorder.warn(*setup_notes(self._experiment))
        self._recorder.warn(*hybrid_notes(self._target.usable_cpus(), fastest_cpus()))
        copying = copying_seconds(plan.steps)
        measuring = Measuring(
            self._target,
            subjects,
            schedule,
            self._service,
            self._recorder,
            self._break,
            planned=self._target.block_seconds(self._experiment, len(subjects), copying),
            absent=absent,
        )
        try:
            return measuring.run()
        finally:
            self._warn_of_measuring()

    def _warn_of_measuring(self) -> None:
        """Keep the footnotes on how the run was measured."""
        done, sliced = self._store.done(self._run.id), self._store.sliced(self._run.id)
        for code in MEASURED:
            self._recorder.withdraw(code)
        self._recorder.warn(*measured_notes(done, sliced))
        waited = self._recorder.waited()
        if waited > 1:
            text = f"{waited:.0f} s were spent waiting for another hone"
            self._recorder.warn(Warning(code=Code.WAITED, text=text))

    def _describe(self, name: str, build: BuildResult, broken: str | None = None) -> None:
        """Keep what a subject is, with its settings as soon as they are known."""
        recorded = self._earlier.subject(name)
        state = ServerState()
        if self._made_target is not None:
            state = self._made_target.state(name)
        elif recorded is not None:
            state = ServerState(settings=recorded.settings, defaults=recorded.defaults)
        position = list(self._subjects).index(name)
        described = describe(self._subjects[name], build, state, broken=broken)
        self._recorder.describe(position, described)


def _unsound_base(name: str, reason: str, hint: str | None) -> DriverError:
    """Return the error that nothing can be compared with a base."""
    return DriverError(f"the base {name} is not sound: {reason}", hint=hint)


def _settings_source(subject: SubjectDeclaration) -> tuple[object, ...]:
    """Return what determines the settings that a server has, whatever its compiler does."""
    inputs = subject.inputs
    return inputs.dbms, inputs.source, inputs.options, inputs.fixes


def _memory_shortage(inputs: BuildInputs) -> MachineError | None:
    """Return the error that a post-link optimiser would meet for lack of memory, None if none."""
    try:
        check_memory(load_dbms(inputs.dbms).text_bytes)
    except MachineError as error:
        return error
    return None
