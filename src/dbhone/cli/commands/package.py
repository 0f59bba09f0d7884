"""``hone package BUILD|RUN``: a build as something to deploy, with its proof."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path

import click

from dbhone import registry
from dbhone.cli import completing
from dbhone.cli.build_service import build_service
from dbhone.cli.context import Context, open_store, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import check_output, headed, labelled, write_output
from dbhone.cli.options import DURATION, FILE, force_option, output_option
from dbhone.cli.package_view import check_and_show, gain_in_words, second_build_in_words
from dbhone.cli.running import execute_new, with_design
from dbhone.cli.selecting import ChosenBuild, choose
from dbhone.compilation.manifest import Build
from dbhone.errors import UsageError
from dbhone.experiment.declaration.load import experiment_of, parse
from dbhone.experiment.execution.packaged import packaged_build, repeated_text
from dbhone.experiment.execution.verifying import built_again
from dbhone.package.checking import Checked
from dbhone.package.forms.base import DRAWER, Form, ImageForm
from dbhone.package.image import Image
from dbhone.package.packing import (
    Draft,
    EnclosedMeasurement,
    Package,
    make_package,
    package_name,
    passed_outcome,
)
from dbhone.package.proof import read_signing_key
from dbhone.package.repetition import Gain, gains, why_private
from dbhone.units import count_of, size

_USUAL_FORM = "tar"


@hone_command(
    "package",
    Task.MANAGE,
    "hone package last --key my-key.pem",
    "hone package last --form deb",
    "hone package --check postgresql-15.18-rel+lto+pgo-1f0c2a7b.tar.zst --key my-key.pub",
    "hone package --check postgresql-15.18-rel+lto+pgo-1f0c2a7b.tar.zst --again",
)
@click.argument(
    "what",
    metavar="BUILD|RUN|FILE",
    default="last",
    shell_complete=completing.builds_runs_and_files,
)
@click.option(
    "--form",
    default=_USUAL_FORM,
    show_default=True,
    help="What kind of file: tar, deb for the distribution's own packages, rebuilt, or oci for an"
    " image that podman and docker load.",
)
@output_option("The file to write.  [default: in this folder, named after the build]")
@click.option(
    "--key",
    type=FILE,
    help="Sign with this private Ed25519 key (PEM); with --check, the public key that must have"
    " signed.",
)
@click.option(
    "--rebuild",
    is_flag=True,
    help="Build it a second time from the same inputs, and state which files differ.",
)
@click.option("--check", is_flag=True, help="Check the package FILE.")
@click.option(
    "--again",
    is_flag=True,
    help="With --check, execute its experiment on this machine, and compare.",
)
@click.option(
    "--budget",
    type=DURATION,
    help="With --again: time for everything.  [default: what the package's run had]",
)
@force_option
@pass_context
def command(
    context: Context,
    what: str,
    form: str,
    output: Path | None,
    key: Path | None,
    rebuild: bool,
    check: bool,
    again: bool,
    budget: float | None,
    force: bool,
) -> int | None:
    """Pack a build, or the winner of RUN, with the proof of what it is.

    Only a build that passed a grade of `hone verify` is packed. With --check, verify that FILE is
    what it claims: its files, its signature, and the verdict, recomputed from the samples in it.
    With --again the experiment is executed here, from the sources: exit code 0 means that this
    machine confirms what the package claims.

    With --form deb the distribution's own source package is built again by its rules, with the
    build's flags, and with a profile that is trained on these packages' own configuration.
    """
    if again and not check:
        raise click.UsageError("--again goes with --check")
    if budget is not None and not again:
        raise click.UsageError("--budget goes with --again")
    if check:
        if output is not None or rebuild or form != _USUAL_FORM:
            raise click.UsageError("--output, --rebuild and --form do not go with --check")
        _, checked = check_and_show(context, Path(what), key)
        return _repeat(context, checked, budget, force=force) if again else None
    check_output(output, force=force)
    kind = registry.load(DRAWER, form, Form, what="form")
    signer = None if key is None else read_signing_key(key)
    chosen = choose(context, what)
    build = chosen.build if kind.packaging is None else _by_rules(context, kind.packaging, chosen)
    path = output or Path(f"{package_name(build)}{kind.suffix}")
    check_output(path, force=force)
    make_image = partial(_image, context, kind) if isinstance(kind, ImageForm) else None
    measurement = _measurement(context, chosen)
    build_again = partial(_built_again, context, build) if rebuild else None
    package = make_package(build, context.home, measurement, signer, make_image, build_again)
    file = kind.render(package)
    write_output(path, file, force=force)
    _tell(context, package, chosen, signed=signer is not None)
    context.err.print(labelled("package", size(len(file))))
    context.show_line(str(path))
    return None


def _by_rules(context: Context, packaging: str, chosen: ChosenBuild) -> Build:
    grade = passed_outcome(chosen.build, context.home).grade
    with context.session() as session, build_service(context, session) as service:
        training = None
        if chosen.run is not None and chosen.subject is not None:
            experiment = experiment_of(chosen.run, context.home)
            training = experiment.subject(chosen.subject.name).training
        return packaged_build(chosen.build, packaging, training, grade, service)


def _built_again(context: Context, build: Build) -> Build:
    context.err.print("building it a second time")
    with context.session() as session, build_service(context, session) as service:
        return built_again(build, service)


def _image(context: Context, form: ImageForm, draft: Draft) -> Image:
    context.err.print("making the image's base from the distribution's packages")
    with context.session() as session:
        return form.image(draft, session)


def _measurement(context: Context, chosen: ChosenBuild) -> EnclosedMeasurement | None:
    if chosen.run is None or chosen.subject is None:
        return None
    with open_store(context) as store:
        samples, done = store.samples(chosen.run.id), store.done(chosen.run.id)
    began = min(each.started_at for each in done if each.subject == chosen.subject.name)
    return EnclosedMeasurement(run=chosen.run, samples=samples, subject=chosen.subject, began=began)


def _tell(context: Context, package: Package, chosen: ChosenBuild, *, signed: bool) -> None:
    files = f"{count_of(len(package.entries), 'file')} of {package.name}"
    context.err.print(labelled("files", files))
    if chosen.run is None:
        text = "none: name a run instead of a build, and its samples are included"
        context.tell(labelled("measured", text, "bold yellow"))
    context.tell(labelled("twice", second_build_in_words(package.differing)))
    if package.content.lacks:
        text = f"what a distribution's has: {'; '.join(package.content.lacks)}"
        context.tell(labelled("lacks", text, "bold yellow"))
    for lever in package.levers:
        text = f"it was measured with {lever}"
        context.tell(labelled("levers", text, "bold yellow"))
    if package.content.masked:
        text = f"in {count_of(package.content.masked, 'file')} paths of this machine were replaced"
        context.tell(labelled("note", f"{text} by others of equal length"))
    if not signed:
        text = "not signed: anybody could have made it; --key signs it"
        context.tell(labelled("note", text, "bold yellow"))
    context.tell(labelled("licence", package.content.licence.duty))


def _repeat(context: Context, checked: Checked, budget: float | None, *, force: bool) -> int:
    """Execute a package's experiment here; return whether its gain is found, as an exit code."""
    declared = checked.experiment.public
    reason = checked.experiment.private if declared is None else why_private(declared)
    if declared is None or reason is not None:
        raise UsageError(f"this measurement cannot be repeated: {reason}")
    experiment = parse(repeated_text(declared, checked.name), name="package")
    context.out.print()
    page = execute_new(context, with_design(experiment, budget=budget), refresh=False, force=force)
    found = gains(map(dataclasses.asdict, page.analysis.summaries), checked.subject)
    here = {gain.in_sample: gain for gain in found}
    agreed = [_compare(context, gain, here.get(gain.in_sample)) for gain in checked.gains]
    return 0 if agreed and all(agreed) else 1


def _compare(context: Context, said: Gain, here: Gain | None) -> bool:
    """Print whether a gain was found here, too, and return that."""
    text = f"{said.steps}: the package says {gain_in_words(said)}; "
    agrees = here is not None and here.agrees_with(said)
    if here is None:
        text += "too little was measured here"
    else:
        text += f"here it is {gain_in_words(here)}: {'they agree' if agrees else 'they differ'}"
    context.show_line(headed("again    ", text))
    return agrees


PLUGIN = command
