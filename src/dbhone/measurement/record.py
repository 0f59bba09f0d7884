"""The records that a run leaves: typed values, and what follows from them; no database.

Times are seconds, sizes bytes, moments timezone-aware UTC datetimes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from dbhone.measurement.build_facts import BuildTimings, CodeLayout
from dbhone.measurement.declared import Declared, read_declared
from dbhone.measurement.series import Series
from dbhone.units import exact_duration

READY_MADE = "ready-made"
"""The variant of a server that somebody else has built."""


class Group(StrEnum):
    """What a step mostly does."""

    POINT = "point"
    RANGE = "range"
    AGGREGATE = "aggregate"
    """Reads ranges and sums, sorts, counts or filters what it reads."""
    WRITE = "write"


class RunState(StrEnum):
    """Where a run is in its life."""

    RUNNING = "running"
    """Being executed; recorded of a run that was cut off, too."""
    CUT_OFF = "cut off"
    """Recorded as running, but its session is not alive. It is never stored."""
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    DONE = "done"


class StopReason(StrEnum):
    """Why measuring ended."""

    TARGET = "target"
    CLEAR = "clear"
    BUDGET = "budget"
    BLOCKS = "blocks"
    IDENTICAL = "identical"
    """It had no need to begin: the candidate is byte for byte the base."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One named thing that subjects are asked to do, and that is timed.

    ``set`` is what the driver runs at once: one of speedtest1's test sets, or one step of a
    server's suite, with ``@THREADS`` when a run has several numbers of threads. ``key`` names
    the step in its set, empty where a set is one step. A step is in-sample when the
    experiment trains on its set. ``threads`` is the number of clients, None for an embedded
    DBMS.
    """

    set: str
    key: str
    title: str
    group: Group
    in_sample: bool
    threads: int | None = None

    @property
    def name(self) -> str:
        """The step's name, unique in a run: ``SET/KEY``, or ``SET``."""
        return f"{self.set}/{self.key}" if self.key else self.set

    @property
    def suite_set(self) -> str:
        """The set as its suite names it: without the number of threads."""
        return self.set.partition("@")[0]


def wholes(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps without those that are a part of another: summaries are of these alone.

    A part is one kind of statement in the operations of its set, which is a step as a whole.
    """
    every = tuple(steps)
    sets = {step.set for step in every if not step.key}
    return tuple(step for step in every if not step.key or step.set not in sets)


class Role(StrEnum):
    """What a subject is compared as."""

    BASE = "base"
    CONTROL = "control"
    """The base once more: whatever is measured for it is noise."""
    CANDIDATE = "candidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningServer:
    """What a subject's server says once it runs: its values of the ``settings`` that it was given.

    Its process may have ``open_files`` open, None where that could not be read.
    """

    settings: dict[str, str]
    open_files: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What was compared: a build and how it came to be.

    ``broken`` says why the subject took no further part, None if it did not break.
    ``trained_on`` lists the sets that its profile was trained on; ``training_seconds`` and
    ``profile_coverage`` (share of the functions in the profile that were executed) are None
    for a subject without a profile. ``build_seconds`` is the build's own time, an
    instrumented build's not included. ``settings`` are those of the server's settings file
    that do not depend on where the instance is, ``defaults`` the server's own values of others,
    empty in old runs; ``levers`` are what was done to it when it was
    started, as words of an experiment file. ``timings`` is None in old runs, and where
    nothing was built. ``inputs`` are those of the build that the user decided, as the experiment
    names them, without those that are at their defaults; empty in old runs. ``layout`` is None
    where no post-link optimiser took part, ``running`` in old runs and until a server has started.
    """

    name: str
    role: Role
    dbms: str
    version: str
    source: str
    source_digest: str
    variant: str
    compiler: str
    flags: tuple[str, ...]
    build_digest: str
    build_path: str
    build_seconds: float
    binary_bytes: int
    trained_on: tuple[str, ...]
    training_seconds: float | None
    profile_coverage: float | None
    broken: str | None
    settings: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)
    timings: BuildTimings | None = None
    levers: tuple[str, ...] = ()
    inputs: dict[str, Any] = field(default_factory=dict)
    layout: CodeLayout | None = None
    running: RunningServer | None = None

    @property
    def layouts(self) -> int:
        """In how many random orders of its functions its build was linked, for all who share it."""
        return int(self.inputs.get("layouts", 0))

    @property
    def ready_made(self) -> bool:
        """Whether it is a server that somebody else has built."""
        return self.variant == READY_MADE


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The host of a run. ``fingerprint`` digests what makes two hosts comparable."""

    fingerprint: str
    cpu_model: str
    cores: int
    memory_bytes: int
    kernel: str
    distribution: str
    virtualisation: str
    governor: str
    details: dict[str, str]

    def changes(self, later: Machine) -> Iterator[str]:
        """Yield in words what else changed on one host: ``governor powersave, then performance``.

        A detail that was read only once is none.
        """
        if self.governor != later.governor:
            yield f"governor {self.governor}, then {later.governor}"
        for name, value in self.details.items():
            if later.details.get(name, value) != value:
                yield f"{name} {value}, then {later.details[name]}"


class Code(StrEnum):
    """What a warning tells, the gravest first; ``docs/statistics.md`` describes each."""

    # Figures may be untrue, or are not enough for a verdict.
    CONTROL_DIFFERS = "control-differs"
    """The base differs from itself."""
    CONTROL_NOISY = "control-noisy"
    """The control is known less well than the winner is better."""
    MANY_REFUSED = "many-refused"
    """A server refused so much that ratios are of something else."""
    REFUSED_TRANSACTIONS = "refused-transactions"
    REFUSED_STATEMENTS = "refused-statements"
    """What a server refused of a captured workload, and why."""
    REJECTED = "rejected"
    """A search rejected a candidate, though it may be faster."""
    FAILED_TEST = "failed-test"
    SUBJECT_BROKEN = "subject-broken"
    FAILED_INVOCATIONS = "failed-invocations"
    """A subject's server or driver failed in some blocks."""
    RUN_NOT_FINISHED = "run-not-finished"
    SETTING_NOT_TAKEN = "setting-not-taken"
    NOT_ENCLOSED = "not-enclosed"
    CHANGED_MEANWHILE = "changed-meanwhile"
    """A run was continued by another hone, or under other settings of the machine."""
    BASE_DRIFT = "base-drift"
    TOO_FEW_BLOCKS = "too-few-blocks"
    NOT_ENOUGH_DATA = "not-enough-data"
    NO_CONTROL = "no-control"
    COMPILERS_DIFFER = "compilers-differ"
    """Ready-made servers were built by different compilers."""
    CLIENT_HEAVY = "client-heavy"

    # Figures are imprecise.
    TARGET_NOT_MET = "target-not-met"
    STOPPED_EARLY = "stopped-early"
    STEAL = "steal"
    OTHER_LOAD = "other-load"
    MEMORY_PRESSURE = "memory-pressure"
    THROTTLED = "throttled"
    HOT = "hot"
    HYBRID_CPU = "hybrid-cpu"
    STALLS = "stalls"
    TWO_HUMPED = "two-humped"
    OUTLIERS = "outliers"
    SHORT_STEPS = "short-steps"

    # Something was left out.
    LEFT_OUT = "left-out"
    """A subject takes no part."""
    SETS_MISSING = "sets-missing"
    STEPS_LEFT_OUT = "steps-left-out"
    VARYING_ANSWERS = "varying-answers"
    STEP_UNKNOWN = "step-unknown"
    UNUSABLE_VALUES = "unusable-values"
    NOT_OBSERVED = "not-observed"
    COUNTER_MISSING = "counter-missing"

    # What was measured, and how.
    IDENTICAL = "identical"
    """A candidate is byte for byte the base, and runs as it does."""
    LOW_COVERAGE = "low-coverage"
    FUNCTIONS_CHANGED = "functions-changed"
    UNITS_WITHOUT_PROFILE = "units-without-profile"
    ASYNCHRONOUS_COMMITS = "asynchronous-commits"
    COLD = "cold"
    """Servers were measured cold."""
    ONE_SERVER = "one-server"
    """One server was up at a time."""
    SETTINGS_DIFFER = "settings-differ"
    SETTING_DROPPED = "setting-dropped"
    SETTING_TRANSLATED = "setting-translated"
    SETTING_IGNORED = "setting-ignored"
    OBSERVED_SETTINGS = "observed-settings"
    AWAKE = "awake"
    CPUS_APART = "cpus-apart"
    """Clients and servers had cores of their own."""
    SLOW_OPERATIONS = "slow-operations"
    """Fresh clients measured a set, though others had short slices."""
    STALLED_TRIAL = "stalled-trial"
    """Fresh clients measured one trial of a set, and no other."""
    ONE_BY_ONE = "one-by-one"
    """Drivers of a set took no turns, since they would not fit."""
    SUITE_NOTE = "suite-note"
    OTHER_LOCALE = "other-locale"
    JOINED = "joined"
    SHORT_SLICES = "short-slices"
    """Sets were measured in short slices."""
    INTERLEAVED_STEPS = "interleaved-steps"
    """Embedded drivers took turns, step by step."""
    UNSETTLED = "unsettled"
    WAITED = "waited"
    NOT_MEASURED = "not-measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Warning:
    """Something a reader should know of a run.

    ``code`` is a ``Code``, or another hone's: stable, for programs.
    """

    code: str
    text: str
    subject: str | None = None
    step: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One subject, one step, one block.

    ``throughput`` is in operations per second: an operation is a step of an embedded DBMS, a
    transaction of a server, a row of a batch. ``cpu_seconds`` and ``instructions`` are what one
    operation takes the measured program, ``peak_memory_bytes`` is the most that it held until
    the step's end.
    The rest is known of servers: percentiles of the latency in seconds; and, for one
    operation, the part of the server's CPU time in the kernel, the client's CPU time, the
    server's context switches and the bytes that the server read from and wrote to files'
    disks. ``refused_share`` is the share of the transactions that the server refused. What cannot
    be measured is None.
    """

    step: str
    throughput: float
    cpu_seconds: float | None
    instructions: float | None
    peak_memory_bytes: float | None
    latency_p50: float | None = None
    latency_p95: float | None = None
    latency_p99: float | None = None
    system_seconds: float | None = None
    client_cpu_seconds: float | None = None
    context_switches: float | None = None
    bytes_read: float | None = None
    bytes_written: float | None = None
    refused_share: float | None = None


LEAST_OPERATIONS = 0.5
"""What a slice counts for in which no operation ended: a stall is slow, not missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A short stretch of an invocation, in which its subject alone was asked.

    A round has one slice of each subject, in random order: ``position`` is the place in it.
    ``began`` is in seconds since the trial began. A slice is not ``counted`` if its round came
    before the servers had settled, or was tried at another length.
    """

    round: int
    position: int
    began: float
    seconds: float
    operations: int
    errors: int
    counted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sliced:
    """The slices of one subject on one set in one block."""

    block: int
    set: str
    subject: str
    slices: tuple[Slice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One start of the driver: one subject, one set, one block, and all that it printed.

    ``measurements`` is empty when ``failure`` says why there are none. ``conditions`` holds
    what the machine did meanwhile, such as steal and the load by others, as numbers. ``series``
    is what was observed of a server. ``slices`` are those that the measurements were computed
    from, none if the driver measured by itself.
    """

    block: int
    set: str
    subject: str
    position: int
    started_at: datetime
    seconds: float
    command: tuple[str, ...]
    raw_output: bytes
    failure: str | None
    conditions: dict[str, float]
    measurements: tuple[Measurement, ...]
    series: tuple[Series, ...] = ()
    slices: tuple[Slice, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """How a run decides what to measure. ``target`` is the half-width wanted, as a fraction."""

    seed: int
    target: float
    budget_seconds: float
    min_blocks: int
    max_blocks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One execution of an experiment, with everything but the measurements.

    ``experiment`` is the text of the experiment file; ``session`` the session that executes
    it or last did; ``stopped_by`` is a ``StopReason``, None while measuring has not ended.
    ``seconds`` is the time that hone worked on it, ``waited_seconds`` the time that its sessions
    waited for other hones.
    """

    id: int
    title: str
    experiment: str
    experiment_name: str
    state: RunState
    session: str
    created_at: datetime
    finished_at: datetime | None
    seconds: float
    suite: str
    size: str
    design: Design
    machine: Machine
    hone_version: str
    stopped_by: str | None
    error: str | None
    subjects: tuple[Subject, ...]
    steps: tuple[Step, ...]
    warnings: tuple[Warning, ...]
    waited_seconds: float = 0.0

    @property
    def unfinished(self) -> str:
        """Why it is not done, as the end of a sentence; empty if it is done."""
        match self.state:
            case RunState.DONE:
                return ""
            case RunState.RUNNING | RunState.CUT_OFF:
                return "the run is not over, or was cut off"
            case RunState.INTERRUPTED:
                return "the run was interrupted by the user"
            case RunState.FAILED:
                return f"the run failed ({self.error})" if self.error else "the run failed"

    @property
    def suite_name(self) -> str:
        """The suite as a sentence names it: of a file only its name."""
        return self.suite.rpartition("/")[2]

    @property
    def declared(self) -> Declared:
        """What its experiment's file declares."""
        return read_declared(self.experiment)

    @property
    def design_otherwise(self) -> Mapping[str, str | int]:
        """How it was measured otherwise than its file's ``[design]`` says, in the words of that."""
        used, declared = self.design, self.declared.design
        otherwise: dict[str, str | int] = {}
        if used.budget_seconds != declared.budget_seconds:
            otherwise["budget"] = exact_duration(used.budget_seconds)
        if used.target != declared.target:
            otherwise["target"] = f"{used.target * 100:.12g}%"
        if used.seed != declared.seed:
            otherwise["seed"] = used.seed
        return otherwise

    @property
    def layouts(self) -> int:
        """In how many layouts its subjects were measured, those that have several; 0 if none."""
        several = any(subject.layouts for subject in self.subjects)
        return self.declared.layouts if several else 0

    @property
    def in_short_slices(self) -> bool:
        """Whether sets were measured in short slices."""
        return self._carries(Code.SHORT_SLICES) or self._carries(Code.INTERLEAVED_STEPS)

    @property
    def slow_sets(self) -> frozenset[str]:
        """The sets that fresh clients measured, since they are no sets for short slices.

        Some blocks of such a set may have been measured in short slices before.
        """
        codes = (Code.SLOW_OPERATIONS, Code.ONE_BY_ONE)
        slow = (warning.step for warning in self.warnings if warning.code in codes)
        return frozenset(name for name in slow if name is not None)

    @property
    def one_server(self) -> bool:
        """Whether one server was up at a time."""
        return self._carries(Code.ONE_SERVER)

    @property
    def cpus_awake(self) -> bool:
        """Whether no CPU slept while something was measured."""
        return self._carries(Code.AWAKE)

    @property
    def cpus_apart(self) -> bool:
        """Whether clients and servers had cores of their own."""
        return self._carries(Code.CPUS_APART)

    def _carries(self, code: str) -> bool:
        return any(warning.code == code for warning in self.warnings)

    @property
    def version_order(self) -> tuple[str, ...]:
        """The versions of a history in their order, none if the run is not a history."""
        known = {subject.name for subject in self.subjects}
        return tuple(name for name in self.declared.history if name in known)

    @property
    def base(self) -> Subject | None:
        """The subject that the others are compared with, None before it was built."""
        return next(iter(self.of_role(Role.BASE)), None)

    @property
    def rejected(self) -> Mapping[str, str]:
        """Why a search rejected candidates, by their names: these are no winners of the run."""
        return {
            warning.subject: warning.text
            for warning in self.warnings
            if warning.code == Code.REJECTED and warning.subject is not None
        }

    @property
    def controls(self) -> tuple[str, ...]:
        """The names of the subjects that are the base over again."""
        return tuple(subject.name for subject in self.of_role(Role.CONTROL))

    @property
    def broken_subjects(self) -> tuple[str, ...]:
        """The names of the subjects that broke."""
        return tuple(subject.name for subject in self.subjects if subject.broken is not None)

    def of_role(self, role: Role) -> tuple[Subject, ...]:
        """Return the subjects that are compared as this."""
        return tuple(subject for subject in self.subjects if subject.role is role)
