"""Verifies builds outside of a run: their bases, and their answers to workloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import Build
from dbhone.compilation.profile import find_used
from dbhone.compilation.variant import USUAL, parse_variant
from dbhone.errors import DriverError, ServerError
from dbhone.experiment.declaration.model import Experiment, SubjectDeclaration, Training
from dbhone.experiment.execution.builds import BuildService
from dbhone.experiment.execution.expected_answers import ExpectedAnswers
from dbhone.experiment.target.target import BuildResult, Notes, Target
from dbhone.experiment.target.targets import target_class
from dbhone.measurement.record import Design, Role
from dbhone.source.tree import require_kept
from dbhone.verification.harness import TestHarness
from dbhone.verification.outcome import Evidence, Failure, ListComparison, Outcome
from dbhone.verification.verify import Verification
from dbhone.workload.workload import Workload

_BASE, _CANDIDATE = "base", "candidate"
_WORKLOAD = "workload"
_DESIGN = Design(seed=1, target=0.02, budget_seconds=480.0, min_blocks=1, max_blocks=1)
"""Nothing is measured."""


def usual_base(build: Build, service: BuildService) -> Build:
    """Return the build of a build's source that is compiled as distributions do it, without fixes.

    A build that is such a one is its own base. Raises SourceError if the tree is no longer kept.
    """
    if build.manifest.is_usual_base:
        return build
    changes = {
        "variant": parse_variant(USUAL),
        "copy_number": 0,
        "fixes": (),
        "profile_source": None,
    }
    return build_like(build, changes, service)


def build_like(
    build: Build,
    changes: Mapping[str, object],
    service: BuildService,
    training: Training | None = None,
) -> Build:
    """Return the build of a build's source tree that has other inputs.

    Raises SourceError if the tree is no longer kept.
    """
    inputs = _inputs_like(build, changes, service)
    subject = SubjectDeclaration(name=_BASE, role=Role.BASE, inputs=inputs, training=training)
    return service.make_builds(subject)[_BASE].build


def built_again(build: Build, service: BuildService) -> Build:
    """Return a second build of the same inputs, the profiles among them.

    Raises SourceError if the tree is no longer kept, ProfileError if a profile is not.
    """
    manifest = build.manifest
    changes = {"copy_number": manifest.inputs.copy_number + 1}
    inputs = _inputs_like(build, changes, service).in_few_layouts
    home = service.session.home
    profile = find_used(home, build, manifest.profile)
    made = service.compile(inputs, manifest.compiling_pass, profile)
    if manifest.post_link is not None:
        after = find_used(home, build, manifest.post_link.profile)
        made = service.optimise(inputs, made, manifest.pass_, after)
    return made.build


def _inputs_like(build: Build, changes: Mapping[str, object], service: BuildService) -> BuildInputs:
    """Return the inputs of a build with changes, of the very tree that it was made of."""
    manifest, inputs, home = build.manifest, build.manifest.inputs, service.session.home
    tree = require_kept(manifest.source_digest, home, manifest.source)
    if inputs.fixes:
        tree = require_kept(tree.origin, home, manifest.source)  # the fixes are applied to it
    service.use_tree(tree.resolved, tree)
    return inputs.model_copy(update={**changes, "source": tree.resolved})


def test_harness(service: BuildService) -> TestHarness:
    """Return the means to verify builds in the session of a service."""
    return TestHarness(
        session=service.session,
        notify=service.detail,
        exclusive=service.exclusive,
    )


def verify_build(
    verification: Verification, service: BuildService, workloads: Sequence[Workload]
) -> Outcome:
    """Return what verifying a build found, the answers to these workloads included.

    Raises SourceError if a source tree is no longer kept that a workload needs.
    """
    builds = {_BASE: verification.base, _CANDIDATE: verification.candidate}
    answers: list[ListComparison] = []
    if workloads:
        results = {name: _as_result(build, service) for name, build in builds.items()}
        for workload in workloads:
            with service.exclusive():
                answers.append(_answers(results, workload, service))
    return verification.outcome(test_harness(service), tuple(answers))


def _as_result(build: Build, service: BuildService) -> BuildResult:
    manifest, home = build.manifest, service.session.home
    tree = require_kept(manifest.source_digest, home, manifest.source)
    return BuildResult(build=build, tree=tree, reused=True)


def _answers(
    results: dict[str, BuildResult], workload: Workload, service: BuildService
) -> ListComparison:
    target = _target(results, workload, service)
    expected = ExpectedAnswers(target.verify(_BASE), partial(target.verify, _BASE))
    try:
        found = target.verify(_CANDIDATE)
    except (DriverError, ServerError) as error:
        differences = dict.fromkeys(expected.questions, error.text_with_log)
    else:
        differences = dict.fromkeys(expected.differing(found), "its answer differs")
    return answers_compared(workload.name, expected, differences)


def _target(results: dict[str, BuildResult], workload: Workload, service: BuildService) -> Target:
    """Return base and candidate as something that can be asked."""
    experiment = Experiment(
        name="verify",
        text="",
        title="verify",
        subjects=tuple(
            SubjectDeclaration(
                name=name,
                role=Role.BASE if name == _BASE else Role.CANDIDATE,
                inputs=result.build.manifest.inputs,
            )
            for name, result in results.items()
        ),
        workload=workload,
        design=_DESIGN,
    )
    make = target_class(experiment.workload)
    return make(experiment, results, service.session, Notes(service.detail))


def answers_compared(
    suite: str, expected: ExpectedAnswers, differences: Mapping[str, str]
) -> ListComparison:
    """Return how a candidate's answers compare with the base's, as a list of tests.

    ``differences`` tells what is wrong with the answers that differ, by their questions. A suite
    that is a file of the user's is called by its name without its folder: the outcome goes into
    packages.
    """
    name = suite.rpartition("/")[2]
    return ListComparison(
        check=_WORKLOAD,
        list=name,
        evidence=Evidence.BYTES,
        tests=len(expected.questions) + len(expected.varying),
        proving=len(expected.questions),
        base_failures=(),
        undecided=expected.varying,
        failures=tuple(
            Failure(check=_WORKLOAD, list=name, test=question, difference=difference)
            for question, difference in differences.items()
        ),
        seconds=0.0,
    )
