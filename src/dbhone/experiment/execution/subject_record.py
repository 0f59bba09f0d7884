"""What is kept of a subject with the run: how it was built, how it runs, and what to know of it."""

from __future__ import annotations

from collections.abc import Iterator

from dbhone.compilation.manifest import Build, PostLinkRecord, TrainedProfile
from dbhone.compilation.timings import timings
from dbhone.experiment.declaration.model import SubjectDeclaration
from dbhone.experiment.target.target import BuildResult, ServerState
from dbhone.measurement.build_facts import CodeLayout
from dbhone.measurement.record import Code, Subject, Warning
from dbhone.units import size

_LOW_COVERAGE = 0.02


def describe(
    subject: SubjectDeclaration,
    result: BuildResult,
    state: ServerState,
    *,
    broken: str | None = None,
) -> Subject:
    """Return the record of a subject with its build; ``broken`` says why it takes no part."""
    build, manifest = result.build, result.build.manifest
    trained = manifest.trained
    return Subject(
        name=subject.name,
        role=subject.role,
        dbms=subject.inputs.dbms,
        version=manifest.version,
        source=result.tree.label,
        source_digest=manifest.source_digest,
        variant=manifest.variant,
        compiler=build.shown_compiler,
        flags=build.shown_flags,
        build_digest=manifest.digest,
        build_path=str(build.path(manifest.primary)),
        build_seconds=manifest.seconds,
        binary_bytes=build.binary_bytes,
        trained_on=tuple(dict.fromkeys(name for use in trained for name in use.trained_on)),
        training_seconds=sum(use.training_seconds for use in trained) if trained else None,
        profile_coverage=trained[0].coverage if trained else None,
        broken=broken,
        settings=dict(state.settings),
        defaults=dict(state.defaults),
        levers=subject.levers,
        inputs=subject.inputs.chosen(),
        layout=_layout(manifest.post_link),
        timings=None if manifest.family is None else timings(build),
    )


def _layout(record: PostLinkRecord | None) -> CodeLayout | None:
    if record is None:
        return None
    return CodeLayout(
        **record.model_dump(include=set(CodeLayout.__dataclass_fields__)),
    )


def is_same_binary(build: Build, other: Build) -> bool:
    """Return whether all files of two builds are the same byte for byte."""
    first, second = (
        {name: file.sha256 for name, file in record.manifest.files.items()}
        for record in (build, other)
    )
    return first == second


def profile_note(build: Build) -> str:
    """Return how a build was trained and what came of it, for people; empty if it was not."""
    post_link = build.manifest.post_link
    if post_link is not None:
        return post_link_facts(post_link)
    use = build.manifest.profile
    return "" if use is None else _training_facts(use)


def post_link_facts(record: PostLinkRecord) -> str:
    """Return what a post-link optimiser did, for people."""
    if record.profile is None:
        return f"{record.tool} counts in {record.functions:,} functions"
    left = [f"{record.unmovable:,} could not be moved"] if record.unmovable else []
    if record.skipped:
        left.append(f"{', '.join(record.skipped)} left alone")
    taken = record.taken_after / record.taken_before - 1 if record.taken_before else 0.0
    parts = (
        f"{record.tool}: {_training_facts(record.profile)}",
        f"{record.moved:,} of {record.profiled:,} functions rearranged",
        *left,
        f"taken branches {taken:+.0%}",
        f"{size(record.hot_bytes)} of {size(record.text_bytes)} of code is hot",
    )
    return "; ".join(parts)


def _training_facts(use: TrainedProfile) -> str:
    often = f" in {use.training_rounds} iterations" if use.training_rounds > 1 else ""
    reached = f"{use.functions_executed} of {use.functions} functions"
    return f"trained {use.training_seconds:.1f} s{often}, reached {reached}"


def profile_warnings(name: str, build: Build) -> Iterator[Warning]:
    """Yield a warning for each weakness of the profile of a subject's build."""
    use = build.manifest.profile
    if use is None:
        return
    if use.coverage < _LOW_COVERAGE:
        reached = f"{use.functions_executed} of {use.functions} functions"
        text = f"{name}: the training reached only {reached}"
        yield Warning(code=Code.LOW_COVERAGE, text=text, subject=name)
    if use.functions_changed:
        foreign = build.manifest.inputs.profile_source
        yield Warning(
            code=Code.FUNCTIONS_CHANGED,
            text=f"{name}: {use.functions_changed} functions are not as in {foreign}, of which"
            " its profile is: they were compiled without it",
            subject=name,
        )
    if use.units_without_profile:
        yield Warning(
            code=Code.UNITS_WITHOUT_PROFILE,
            text=f"{name}: {use.units_without_profile} of {use.units} files that were compiled"
            " had no profile, because the training never entered them",
            subject=name,
        )
