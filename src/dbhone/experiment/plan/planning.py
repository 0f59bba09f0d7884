"""Makes plans: which steps an experiment takes, in which order, and for which there is time.

This is pure: an estimator tells what the home folder holds already.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dbhone.compilation.transforms.base import Pass
from dbhone.experiment.declaration.model import Experiment, SubjectDeclaration
from dbhone.experiment.plan.data_costs import copying_seconds, with_data
from dbhone.experiment.plan.estimates import BuildEstimator
from dbhone.experiment.plan.plan import (
    DONE,
    Calibrate,
    CheckMachine,
    CheckSubjects,
    Compile,
    Cost,
    Fetch,
    Measure,
    Plan,
    PlanProgress,
    PlanStep,
    PostLink,
    TakeReadyMade,
    Train,
    Verify,
    checks_of,
)
from dbhone.experiment.target.targets import target_class
from dbhone.measurement.record import Role
from dbhone.units import count_of
from dbhone.verification.verify import expected_seconds

_PROBE_SECONDS = 0.3
_SOURCE_SECONDS = 15.0
_MEASURING_SHARE = 0.25
"""The share of the budget that optional subjects leave for measuring at least."""


def make_plan(
    experiment: Experiment, estimator: BuildEstimator, progress: PlanProgress | None = None
) -> Plan:
    """Return the plan of an experiment, or of the rest of a run of it.

    An optional subject that cannot take part is left out. Whether any other subject can is found
    out by the first step.
    """
    progress = progress or PlanProgress()
    left_out = {**progress.left_out, **progress.broken}
    for subject in experiment.subjects:
        if subject.name not in left_out and subject.optional:
            error = estimator.absence(experiment, subject)
            if error is not None:
                left_out[subject.name] = error.message
    present = tuple(subject for subject in experiment.subjects if subject.name not in left_out)
    build_plan = plan_builds(present, estimator, experiment, progress)
    steps = [*_machine_check(experiment, present), *build_plan.steps]
    certain = tuple(subject for subject in present if subject.name not in build_plan.tentative)
    steps += _verification(experiment, present, build_plan, progress)
    if target_class(experiment.workload).calibrates:
        steps.append(_calibration(experiment))
    steps = list(with_data(steps, experiment, estimator.data))
    steps.append(_measurement(experiment, present, len(certain), steps, progress))
    return Plan(steps=tuple(steps), builds=build_plan.builds, left_out=left_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlan:
    """The steps that make the builds of subjects, from fetching to the last compilation."""

    steps: tuple[PlanStep, ...]
    builds: Mapping[str, str]
    tentative: frozenset[str] = frozenset()


def plan_builds(
    subjects: tuple[SubjectDeclaration, ...],
    estimator: BuildEstimator,
    experiment: Experiment | None = None,
    progress: PlanProgress | None = None,
) -> BuildPlan:
    """Return the steps that make the builds of these subjects; builds alike are made once.

    Within an ``experiment``, an optional subject is tentative if its builds are expected to leave
    too little of the budget; not so those that a run has measured already.
    """
    progress = progress or PlanProgress()
    steps: dict[str, PlanStep] = {}
    for subject in subjects:
        for reference in dict.fromkeys((subject.inputs.source, subject.inputs.trained.source)):
            _add(steps, _fetch(subject, reference, estimator))
    builds: dict[str, str] = {}
    tentative: set[str] = set()
    declared = experiment.subjects if experiment else subjects
    absent = {subject.name for subject in declared} - {subject.name for subject in subjects}
    for subject in subjects:
        own = _build_steps(subject, estimator)
        builds[subject.name] = own[-1].makes
        seconds = sum(step.cost.seconds for step in own if step.makes not in steps)
        if experiment and subject.optional and subject.name not in progress.measured:
            spent = sum(step.cost.seconds for step in steps.values() if not step.tentative)
            left = experiment.design.budget_seconds - progress.seconds - spent
            out = absent | tentative
            if not leaves_time(experiment, subject.name, out, left=left, build=seconds):
                tentative.add(subject.name)
        for step in own:
            _add(steps, dataclasses.replace(step, tentative=subject.name in tentative))
    return BuildPlan(steps=tuple(steps.values()), builds=builds, tentative=frozenset(tentative))


def leaves_time(
    experiment: Experiment, name: str, out: Collection[str], *, left: float, build: float
) -> bool:
    """Return whether an optional subject's build leaves enough of the budget for measuring.

    ``left`` seconds are left of the budget, and the build is expected to take ``build`` seconds.
    A share of the budget is kept for measuring. Where it is known how long a block takes, at least
    the fewest blocks and at most the most blocks are kept. A block has the subjects that are not
    optional, those before this one that are not ``out``, and this one. The first candidate that is
    not out always has time: without any the base would be measured alone.
    """
    design = experiment.design
    names = [subject.name for subject in experiment.subjects]
    before = names[: names.index(name)]
    certain = [
        subject
        for subject in experiment.subjects
        if subject.name not in out and (not subject.optional or subject.name in before)
    ]
    if build == 0 or all(subject.role is not Role.CANDIDATE for subject in certain):
        return True
    block = target_class(experiment.workload).block_seconds(experiment, len(certain) + 1)
    kept = _MEASURING_SHARE * design.budget_seconds
    if block is not None:
        kept = min(max(kept, design.min_blocks * block), design.max_blocks * block)
    return left - build > kept


def _add(steps: dict[str, PlanStep], step: PlanStep) -> None:
    """Add a step, or the step's subjects to the one that makes the same already."""
    known = steps.get(step.makes)
    if known is None:
        steps[step.makes] = step
        return
    steps[step.makes] = dataclasses.replace(
        known,
        subjects=tuple(dict.fromkeys((*known.subjects, *step.subjects))),
        tentative=known.tentative and step.tentative,
    )


def _machine_check(
    experiment: Experiment, subjects: tuple[SubjectDeclaration, ...]
) -> Iterator[CheckMachine]:
    probes = {
        (subject.inputs.compiler, subject.inputs.variant.name)
        for subject in subjects
        if not subject.inputs.variant.ready_made
    }
    compilers = dict.fromkeys(
        subject.inputs.compiler for subject in subjects if not subject.inputs.variant.ready_made
    )
    levers = dict.fromkeys(lever for subject in subjects for lever in subject.levers)
    what = [*compilers, *levers]
    if experiment.awake:
        what.append("CPUs that stay awake")
    if experiment.workload.cold:
        what.append("files that can leave the page cache")
    if experiment.verification is not None:
        what.append(f"what the grade {experiment.verification.value} needs")
    if what:
        yield CheckMachine(
            label=", ".join(what),
            subjects=tuple(subject.name for subject in subjects),
            makes="machine",
            cost=Cost(seconds=_PROBE_SECONDS * len(probes)),
        )


def _fetch(subject: SubjectDeclaration, reference: str, estimator: BuildEstimator) -> Fetch:
    kept = estimator.is_kept(reference)
    return Fetch(
        label=reference,
        subjects=(subject.name,),
        makes=_source(reference),
        cost=DONE if kept else Cost(seconds=_SOURCE_SECONDS),
        reference=reference,
    )


def _build_steps(subject: SubjectDeclaration, estimator: BuildEstimator) -> tuple[PlanStep, ...]:
    """Return the steps of a subject's build; those whose results are here cost nothing."""
    steps = tuple(_making_steps(subject, estimator))
    kept = estimator.kept(steps)
    return (*(dataclasses.replace(step, cost=DONE) for step in steps[:kept]), *steps[kept:])


def _making_steps(subject: SubjectDeclaration, estimator: BuildEstimator) -> Iterator[PlanStep]:
    """Yield the steps that make a subject's build, as if nothing of it were here.

    One compiles. A profile-guided build has two or three, with training after each but the last.
    A post-link optimiser adds counters to their result, and rearranges it after another training.
    """
    inputs = subject.inputs
    if inputs.variant.ready_made:
        yield TakeReadyMade(
            label=subject.label,
            subjects=(subject.name,),
            needs=(_source(inputs.source),),
            makes=estimator.identity(inputs, Pass.PLAIN),
            cost=estimator.cost(inputs, Pass.PLAIN),
            inputs=inputs,
        )
        return
    profile: tuple[str, ...] = ()
    linked = ""
    for pass_ in subject.inputs.variant.passes():
        inputs = subject.inputs.trained if pass_.trains else subject.inputs
        source = _source(inputs.source)
        kind = PostLink if pass_.post_link else Compile
        needs = (linked if pass_.post_link else source, *(profile if pass_.takes_profile else ()))
        label = dataclasses.replace(subject, inputs=inputs).label
        step = kind(
            label=", ".join(filter(None, (label, inputs.variant.note(pass_)))),
            subjects=(subject.name,),
            needs=needs,
            makes=" ".join((estimator.identity(inputs, pass_), *needs)),
            cost=estimator.cost(inputs, pass_),
            inputs=inputs,
            pass_=pass_,
        )
        yield step
        if pass_.trains:
            train = _train(subject, step, profile if pass_.takes_profile else ())
            yield train
            profile = (train.makes,)
        else:
            linked = step.makes


def _train(
    subject: SubjectDeclaration, instrumented: Compile | PostLink, earlier: tuple[str, ...]
) -> Train:
    training = subject.training
    assert training is not None, "a profile-guided subject has a training"
    seconds = target_class(training.workload).training_seconds(training)
    return Train(
        label=f"{subject.name}: on {training.label}",
        subjects=(subject.name,),
        needs=(instrumented.makes, *earlier),
        makes=f"profile of {instrumented.makes} by {training}",
        cost=Cost(seconds=seconds),
        inputs=subject.inputs,
        training=training,
    )


def _verification(
    experiment: Experiment,
    subjects: tuple[SubjectDeclaration, ...],
    build_plan: BuildPlan,
    progress: PlanProgress,
) -> Iterator[PlanStep]:
    """Yield the check of all subjects together, and the verification of each, the base first.

    A subject that a run has measured was verified before. The base's answers are needed for as
    long as one subject has not been.
    """
    names = tuple(subject.name for subject in subjects)
    yield CheckSubjects(
        label=f"{experiment.suite_label} for {count_of(len(names), 'subject')}",
        subjects=names,
        needs=tuple(dict.fromkeys(build_plan.builds.values())),
        makes="subjects",
        cost=Cost(seconds=0.0),
    )
    base = experiment.base.name
    grade, dbms = experiment.verification, experiment.base.inputs.dbms
    seconds = target_class(experiment.workload).verification_seconds
    tests_of: set[str] = set()
    all_verified = set(names) <= progress.measured
    for name in sorted(names, key=lambda name: name != base):
        verified = all_verified or (name in progress.measured and name != base)
        build = build_plan.builds[name]
        testing = 0.0
        if grade is not None and build not in tests_of:
            before = expected_seconds(dbms, grade, len(tests_of))
            tests_of.add(build)
            testing = expected_seconds(dbms, grade, len(tests_of)) - before
        yield Verify(
            label=f"{name}: {checks_of(grade)}",
            subjects=(name,),
            needs=("subjects", build),
            makes=f"verification of {name}",
            cost=DONE if verified else Cost(seconds=seconds + testing),
            tentative=name in build_plan.tentative,
            grade=grade,
        )


def _calibration(experiment: Experiment) -> Calibrate:
    base = experiment.base.name
    return Calibrate(
        label=f"{experiment.suite_label} on {base}",
        subjects=(base,),
        needs=(f"verification of {base}",),
        makes="steps",
        cost=Cost(seconds=0.0),
    )


def _measurement(
    experiment: Experiment,
    subjects: tuple[SubjectDeclaration, ...],
    certain: int,
    steps: Sequence[PlanStep],
    progress: PlanProgress,
) -> Measure:
    design = experiment.design
    spent = progress.seconds + sum(step.cost.seconds for step in steps if not step.tentative)
    left = max(0.0, design.budget_seconds - spent)
    target = target_class(experiment.workload)
    expected = target.block_seconds(experiment, certain, copying_seconds(steps))
    block = max(filter(None, (expected, progress.block_seconds)), default=None)
    most = max(0, design.max_blocks - progress.blocks)
    seconds = left if block is None else min(left, most * block)
    return Measure(
        label=f"{experiment.suite_label} ({experiment.size})",
        subjects=tuple(subject.name for subject in subjects),
        needs=tuple(f"verification of {subject.name}" for subject in subjects),
        makes="measurements",
        cost=Cost(seconds=seconds),
        block_seconds=block,
        least_block_seconds=target.least_block_seconds(experiment, certain),
    )


def _source(reference: str) -> str:
    return f"source {reference}"
