"""The plan of an experiment: typed steps, with what they need, what they make and what they cost.

The plan that ``hone plan`` prints is the one that ``execute.py`` walks; ``planning.py`` makes it. A
new kind of work is a new kind of step here, one function there, and one that performs it in
``execute.py`` or ``builds.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.transforms.base import Pass
from dbhone.experiment.declaration.model import Training
from dbhone.experiment.plan.events import Stage
from dbhone.verification.outcome import Grade

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """About how many seconds a step takes, 0 if it is done already.

    ``guessed`` says that nothing like it was done here before, which would have told its seconds.
    """

    seconds: float
    done: bool = False
    guessed: bool = False


DONE = Cost(seconds=0.0, done=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataCost:
    """What a server's loaded data costs: to load it, and in seconds to copy it for a start.

    ``name`` is the same for servers that share it, ``size`` about how many bytes of disk it takes.
    """

    label: str
    name: str
    load: Cost
    size: int
    copy_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    """One thing that an experiment does, for some of its subjects.

    ``needs`` and ``makes`` name results: a step makes one, of those that earlier steps have made.
    A ``tentative`` step is done if enough of the budget is left when it is reached.
    """

    stage: ClassVar[Stage]
    label: str
    subjects: tuple[str, ...]
    makes: str
    cost: Cost
    needs: tuple[str, ...] = ()
    tentative: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckMachine(PlanStep):
    """See whether this machine has the compilers, the levers and what else the subjects need."""

    stage = Stage.CHECK


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch(PlanStep):
    """Make a source reference a tree."""

    stage = Stage.SOURCE
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeReadyMade(PlanStep):
    """Take the programs of a server that somebody else has built."""

    stage = Stage.BUILD
    inputs: BuildInputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Compile(PlanStep):
    """Make one pass of a build. A pass that takes a profile has it as its last need."""

    stage = Stage.BUILD
    inputs: BuildInputs
    pass_: Pass


@dataclass(frozen=True, slots=True, kw_only=True)
class PostLink(PlanStep):
    """Change what was linked. The build is the first need, a profile the last, if it takes one."""

    stage = Stage.BUILD
    inputs: BuildInputs
    pass_: Pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Train(PlanStep):
    """Run an instrumented build, its first need, and make a profile.

    An earlier profile, which the build was compiled with, becomes a part of it. ``data`` is that of
    a server.
    """

    stage = Stage.TRAIN
    inputs: BuildInputs
    training: Training
    data: DataCost | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSubjects(PlanStep):
    """Choose what all builds can be asked: sets, settings, and whether the memory is enough."""

    stage = Stage.CHECK


def checks_of(grade: Grade | None) -> str:
    """Return in words what a subject is verified for."""
    tests = "" if grade is None else f", verified at the grade {grade.value}"
    return f"same results as the base, consistent data{tests}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verify(PlanStep):
    """Test that a subject answers what the base answers, and that its data is consistent.

    With a ``grade`` its build is put to the checks of that grade, too. ``data`` is that of a
    server: the first one that has it loads it.
    """

    stage = Stage.VERIFY
    grade: Grade | None = None
    data: DataCost | None = None

    @property
    def subject(self) -> str:
        """The subject that is verified."""
        return self.subjects[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrate(PlanStep):
    """Run every set once on the base, to learn its steps and how long they take."""

    stage = Stage.CALIBRATE


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure(PlanStep):
    """Measure blocks until the design's target is reached or its budget is spent.

    ``block_seconds`` is about how long a block takes, None where only calibration tells. It takes
    ``least_block_seconds`` in any case.
    """

    stage = Stage.MEASURE
    block_seconds: float | None
    least_block_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All steps in their order.

    ``builds`` has, for each subject, the name of the result that is its build. ``left_out`` has the
    reason for each subject that takes no part.
    """

    steps: tuple[PlanStep, ...]
    builds: Mapping[str, str]
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def measure(self) -> Measure:
        """The last step."""
        last = self.steps[-1]
        assert isinstance(last, Measure)
        return last

    @property
    def tentative(self) -> tuple[str, ...]:
        """The optional subjects for which there is probably no time."""
        tentative = {step.makes for step in self.steps if step.tentative}
        return tuple(name for name, build in self.builds.items() if build in tentative)

    @property
    def preparing(self) -> float:
        """The seconds that all steps before the measuring are expected to take."""
        return sum(step.cost.seconds for step in self.steps[:-1] if not step.tentative)

    @property
    def data(self) -> tuple[DataCost, ...]:
        """The loaded data of servers in the steps that are still to be done, each once."""
        found: dict[str, DataCost] = {}
        for step in self.steps:
            if isinstance(step, Train | Verify) and step.data is not None and not step.tentative:
                found.setdefault(step.data.name, step.data)
        return tuple(found.values())

    @property
    def blocks(self) -> int | None:
        """How many blocks there will be, None where only calibration tells."""
        seconds = self.measure.block_seconds
        return None if seconds is None else int(self.measure.cost.seconds / seconds + _ROUNDING)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanProgress:
    """How far a run is that is planned again: the subjects measured, and those left out so far.

    ``seconds`` of its budget are used. It has so many whole ``blocks``, each of which took about
    ``block_seconds``, None if that is not known.
    """

    seconds: float = 0.0
    blocks: int = 0
    block_seconds: float | None = None
    measured: frozenset[str] = frozenset()
    left_out: Mapping[str, str] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
