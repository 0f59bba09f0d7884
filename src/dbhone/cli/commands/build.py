"""``hone build SOURCE …``: makes builds, or finds them, and shows where their time went."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from dbhone.cli import completing
from dbhone.cli.build_service import build_service
from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import check_output, facts, write_output
from dbhone.cli.listing import listing
from dbhone.cli.options import FILE, force_option, refresh_option, train_option
from dbhone.cli.setting_up import ensure_installed
from dbhone.compilation.inputs import USUAL_COMPILER, BuildInputs, check_profile_source, variant_of
from dbhone.compilation.manifest import Build
from dbhone.compilation.spec import check_targets
from dbhone.compilation.timings import efficiency, timings, trace
from dbhone.compilation.toolchain import check_name
from dbhone.compilation.variant import USUAL, Variant
from dbhone.dbms.base import load_dbms
from dbhone.errors import UsageError
from dbhone.experiment.declaration.comparing import named_reference
from dbhone.experiment.declaration.model import SubjectDeclaration, Training
from dbhone.experiment.execution.builds import BuildService
from dbhone.experiment.execution.subject_record import post_link_facts
from dbhone.experiment.plan.estimates import BuildEstimator
from dbhone.experiment.plan.goals import foresee_dbms, missing_for_build
from dbhone.experiment.target.target import BuildResult
from dbhone.measurement.build_facts import BuildTimings
from dbhone.measurement.record import READY_MADE, Role
from dbhone.source.fixes import check_fix
from dbhone.source.known_versions import known_versions
from dbhone.source.recognise import recognise
from dbhone.units import duration, size
from dbhone.workload import suite as suites
from dbhone.workload.task import Scale
from dbhone.workload.workload import Workload


@hone_command(
    "build",
    Task.MEASURE,
    "hone build apt:sqlite3 --variant lto+pgo --train main",
    "hone build apt:postgresql --timings --trace build.json",
    "hone build apt:postgresql apt:mariadb --timings --targets all --jobs 1",
)
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option(
    "--variant",
    shell_complete=completing.variants,
    help=f"Transforms, such as lto+pgo.  [default: {USUAL}; for ready-made ones {READY_MADE}]",
)
@click.option(
    "--compiler",
    default="gcc",
    show_default=True,
    shell_complete=completing.compilers,
    help="gcc, clang, gcc-12, …",
)
@click.option("--linker", metavar="NAME", help="Linker that the compiler calls: mold, lld, …")
@train_option
@click.option(
    "--suite",
    shell_complete=completing.suites,
    help="Suite whose sets to train on.  [default: speedtest1; for servers sysbench:micro]",
)
@click.option("--size", default="quick", show_default=True, help="Size of training.")
@click.option(
    "--profile-source",
    metavar="SOURCE",
    help="Take the profile of another source, such as the release before.",
)
@click.option(
    "--option",
    "build_options",
    multiple=True,
    metavar="OPTION",
    help="Build option such as -DDISABLE_PSI_MEMORY=ON, or a set such as no-psi; may be repeated.",
)
@click.option(
    "--fix",
    "fixes",
    multiple=True,
    metavar="FIX",
    help="Fix to carry over, or a patch file such as ./mine.patch; may be repeated.",
)
@click.option(
    "--targets",
    type=click.Choice(("server", "all")),
    default="server",
    show_default=True,
    help="Build what is measured and what it needs, or all that the configured tree has.",
)
@click.option(
    "--copy", type=click.IntRange(min=0), default=0, help="Build the same once more: give 1, 2, …"
)
@click.option(
    "--slowest",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="How many slowest files to list.",
)
@refresh_option
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Number of compile commands at once, and of jobs of link-time optimisation."
    "  [default: as cores and memory allow]",
)
@click.option("--timings", is_flag=True, help="Show where the time went, a column for each source.")
@click.option(
    "--trace",
    type=FILE,
    help="Write each compile command's time, for ui.perfetto.dev or chrome://tracing.",
)
@force_option
@pass_context
def command(context: Context, /, sources: tuple[str, ...], **options: Any) -> None:
    """Build each SOURCE (apt:sqlite3, git:URL@REV, dir:PATH, …) or find the same build.

    Prints where the builds are. A build's folder has the manifest of every input, the full
    log, and the time of each compile command.

    The times of a build that was made before are those that it took then: to measure them
    once more, build a copy of it with --copy.
    """
    chosen = _Options(**options)
    check_output(chosen.trace, force=chosen.force)
    known = known_versions(context.home)
    if chosen.profile_source is not None:
        reference = known.meaning(named_reference(chosen.profile_source))
        chosen = dataclasses.replace(chosen, profile_source=reference)
    sources = tuple(known.meaning(named_reference(source)) for source in sources)
    variants = {source: variant_of(source, chosen.variant) for source in sources}
    for variant in variants.values():
        _check(chosen, variant)
    for source in sources:
        if not variants[source].ready_made:
            _prepare(context, source, chosen, variants[source])
    with (
        context.session() as session,
        build_service(context, session, refresh=chosen.refresh, jobs=chosen.jobs) as service,
    ):
        results = [_result(service, source, chosen, variants[source]) for source in sources]
    builds = [result.build for result in results]
    for result in results:
        context.err.print(_facts(result))
        if chosen.slowest and not chosen.timings and result.build.commands():
            context.err.print(_slowest(result.build, chosen.slowest))
    if chosen.timings:
        context.out.print(side_by_side(builds, chosen.slowest))
    if chosen.trace is not None:
        write_output(chosen.trace, trace(builds), force=chosen.force)
        context.tell(f"wrote {chosen.trace}: open it in ui.perfetto.dev")
    for build in builds:
        context.show_line(str(build.folder))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    variant: str | None
    compiler: str
    linker: str | None
    train: tuple[str, ...]
    suite: str | None
    size: str
    profile_source: str | None
    build_options: tuple[str, ...]
    fixes: tuple[str, ...]
    targets: str
    copy: int
    slowest: int
    refresh: bool
    jobs: int | None
    timings: bool
    trace: Path | None
    force: bool


def _check(chosen: _Options, variant: Variant) -> None:
    """Refuse invalid options before anything is fetched."""
    check_name(chosen.compiler)
    for words, option in (
        (chosen.build_options, "--option"),
        (chosen.fixes, "--fix"),
        (chosen.linker, "--linker"),
        (chosen.targets == "all", "--targets"),
        (chosen.compiler != USUAL_COMPILER, "--compiler"),
        (chosen.copy, "--copy"),
        (chosen.jobs, "--jobs"),
    ):
        if variant.ready_made and words:
            raise UsageError(
                f"{option} has no effect: a ready-made server is not compiled",
                hint=f"leave {option} out",
            )
    for word in chosen.fixes:
        check_fix(word)
    for option, value in (("--train", chosen.train), ("--suite", chosen.suite)):
        if value and not variant.profile_guided:
            raise UsageError(
                f"the variant {variant.name} takes no training",
                hint=f"add pgo or bolt, or leave {option} out",
            )
    if chosen.profile_source is not None:
        check_profile_source(variant, chosen.profile_source)
        foresee_dbms(chosen.profile_source)  # It looks at a folder before that is copied.
    if chosen.suite is not None:
        _training(chosen, chosen.suite)


def _prepare(context: Context, source: str, chosen: _Options, variant: Variant) -> None:
    """Look whether a source can be built here, before it is fetched; install what is missing."""
    dbms = foresee_dbms(source)
    if dbms is None:
        return
    subject = _subject(source, dbms, chosen, variant)
    check_targets(subject.inputs)
    suite = subject.training.workload.name if subject.training else None
    lacking = missing_for_build(subject.inputs, BuildEstimator(context.home), suite)
    ensure_installed(context, lacking, f"building {load_dbms(dbms).title}")


def _result(service: BuildService, source: str, chosen: _Options, variant: Variant) -> BuildResult:
    if variant.ready_made:
        return service.ready_made_server(source)
    subject = _subject(source, recognise(service.fetch(source).path, source), chosen, variant)
    check_targets(subject.inputs)
    return service.make_builds(subject)[source]


def _subject(source: str, dbms: str, chosen: _Options, variant: Variant) -> SubjectDeclaration:
    """Return what is built. Raises UsageError for a suite that does not drive the DBMS."""
    suite = chosen.suite or load_dbms(dbms).usual_suite
    if variant.profile_guided and load_dbms(dbms).interface not in suites.load(suite).protocols:
        raise UsageError(f"the suite {suite} does not drive {dbms}", hint="leave --suite out")
    return SubjectDeclaration(
        name=source,
        role=Role.BASE,
        inputs=BuildInputs(
            dbms=dbms,
            source=source,
            variant=variant,
            compiler=chosen.compiler,
            linker=chosen.linker,
            options=chosen.build_options,
            fixes=chosen.fixes,
            targets="all" if chosen.targets == "all" else None,
            copy_number=chosen.copy,
            profile_source=chosen.profile_source,
        ),
        training=_training(chosen, suite) if variant.profile_guided else None,
    )


def _training(chosen: _Options, suite: str) -> Training:
    """Return what to train on. Raises UnknownName for what the suite does not have."""
    loaded = suites.load(suite)
    suites.check_size(loaded, chosen.size)
    sets = chosen.train or loaded.training
    if not sets:
        raise UsageError(
            f"the suite {suite} does not say what profile-guided builds are trained on",
            hint=f"name it: --train SET; 'hone suites {suite}' lists the sets",
        )
    names = suites.full_names(loaded, sets)
    workload = Workload(name=suite, scale=Scale(size=chosen.size), sets=names)
    return Training(workload=workload.for_training(chosen.size))


def _facts(result: BuildResult) -> Table:
    manifest = result.build.manifest
    when = ", made before" if result.reused else ""
    phases = ", ".join(
        f"{name} {duration(seconds)}" for name, seconds in manifest.phase_seconds.items()
    )
    rows = {
        "build": f"{manifest.dbms} {manifest.version}, {result.build.label}",
        "took": duration(manifest.seconds) + when + (f" ({phases})" if phases else ""),
        "source": manifest.source,
        "flags": " ".join(result.build.shown_flags),
    }
    if manifest.profile is not None:
        use = manifest.profile
        rows["profile"] = (
            f"trained {use.training_seconds:.1f} s on {', '.join(use.trained_on)}; reached"
            f" {use.functions_executed} of {use.functions} functions;"
            f" {use.units - use.units_without_profile} of {use.units} files had one"
        )
        if use.functions_changed:
            since = manifest.inputs.profile_source
            rows["profile"] += f"; {use.functions_changed} functions are not as in {since}"
    if manifest.post_link is not None:
        rows["post-link"] = post_link_facts(manifest.post_link)
    for name, kept in manifest.files.items():
        rows[name] = f"{kept.path}, {size(kept.bytes)}"
    return facts((name, value) for name, value in rows.items() if value)


def _slowest(build: Build, count: int) -> Table:
    commands = sorted(build.commands(), key=lambda command: command.seconds, reverse=True)
    table = listing("slowest", f"of {len(commands)} compile commands", right=("slowest",))
    for command in commands[:count]:
        table.add_row(duration(command.seconds), command.output)
    return table


def side_by_side(builds: Sequence[Build], slowest: int) -> Table:
    """Return a table with a column for each build; ``slowest`` is how many to list of each."""
    table = listing("", *map(_heading, builds))
    timings_of = [timings(build, slowest=slowest) for build in builds]
    table.add_row("wall time", *(duration(build.seconds) for build in timings_of))
    for phase in dict.fromkeys(phase for build in timings_of for phase in build.phases):
        seconds = (build.phases.get(phase) for build in timings_of)
        table.add_row(f"  {phase}", *("-" if it is None else duration(it) for it in seconds))
    table.add_row("compilers' CPU time", *(duration(build.cpu_seconds) for build in timings_of))
    table.add_row("most at once", *(str(build.jobs) for build in timings_of))
    table.add_row("parallel efficiency", *(_efficiency(build) for build in timings_of))
    table.add_row("files compiled", *(f"{build.files:,}" for build in timings_of))
    for rank, targets in enumerate(zip_longest(*map(_build_targets, timings_of), fillvalue="")):
        table.add_row("" if rank else "slowest build targets", *targets)
    for rank, files in enumerate(zip_longest(*(build.slowest for build in timings_of))):
        ranked = (f"{duration(file[1])}  {file[0]}" if file else "" for file in files)
        table.add_row("" if rank else "slowest files", *ranked)
    return table


def _heading(build: Build) -> str:
    manifest = build.manifest
    scope = ", all targets" if manifest.inputs.targets else ""
    return f"{manifest.dbms} {manifest.version}{scope}\n{manifest.variant}, {manifest.compiler}"


def _efficiency(timings: BuildTimings) -> str:
    share = efficiency(timings)
    return "-" if share is None else f"{share:.0%}"


def _build_targets(build: BuildTimings) -> Iterator[str]:
    """Yield the CPU time, its share and the name of each build target that is kept."""
    for target in build.build_targets:
        yield f"{duration(target.cpu_seconds)}  {build.share(target):.0%}  {target.name}"


PLUGIN = command
