"""``hone package BUILD|RUN``: a build as something to deploy, with its proof."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path

import click

from dbhone import registry
from dbhone.cli.context import Context, open_store, pass_context
from dbhone.cli.help import HoneCommand, Task
from dbhone.cli.lines import check_output, force_option, headed, labelled, write_output
from dbhone.cli.progress import shown
from dbhone.cli.running import execute_new
from dbhone.cli.selecting import ChosenBuild, choose
from dbhone.compilation.manifest import Build
from dbhone.errors import UsageError
from dbhone.experiment.builds import BuildService
from dbhone.experiment.load import parse
from dbhone.experiment.packaged import packaged_build, repeated_text, training_of
from dbhone.experiment.verifying import built_again
from dbhone.package.checking import Checked, check_package
from dbhone.package.forms.base import DRAWER, Form, ImageForm
from dbhone.package.image import Image
from dbhone.package.packing import (
    Draft,
    EnclosedMeasurement,
    Package,
    make_package,
    passed_outcome,
)
from dbhone.package.proof import read_public_key, read_signing_key
from dbhone.package.repetition import Gain, gains, why_private
from dbhone.units import count_of, listed, percent, size

_MOST_BYTES = 4 << 30


@click.command(
    "package",
    cls=HoneCommand,
    task=Task.MANAGE,
    examples=(
        "hone package last --key my-key.pem",
        "hone package last --form deb",
        "hone package --check postgresql-15.18-rel+lto+pgo-1f0c2a7b.tar.zst --key my-key.pub",
        "hone package --check postgresql-15.18-rel+lto+pgo-1f0c2a7b.tar.zst --again",
    ),
)
@click.argument("what", metavar="BUILD|RUN|FILE", default="last")
@click.option(
    "--form",
    default="tar",
    show_default=True,
    help="What kind of file: tar, deb for the distribution's own packages, rebuilt, or oci for an"
    " image that podman and docker load.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="The file to write.  [default: in this folder, named after the build]",
)
@click.option(
    "--key",
    type=click.Path(path_type=Path, dir_okay=False),
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
    if check:
        if output is not None or rebuild:
            raise click.UsageError("--output and --rebuild do not go with --check")
        checked = _check(context, Path(what), key)
        return _repeat(context, checked) if again else None
    if again:
        raise click.UsageError("--again goes with --check")
    check_output(output, force=force)
    kind = registry.load(DRAWER, form, Form, what="form")
    signer = None if key is None else read_signing_key(key)
    chosen = choose(context, what)
    build = chosen.build if kind.packaging is None else _by_rules(context, kind.packaging, chosen)
    make_image = partial(_image, context, kind) if isinstance(kind, ImageForm) else None
    measurement = _measurement(context, chosen)
    second = _built_again(context, build) if rebuild else None
    package = make_package(build, context.home, measurement, signer, make_image, second)
    path = output or Path(f"{package.name}{kind.suffix}")
    file = kind.render(package)
    write_output(path, file, force=force)
    _tell(context, package, chosen, signed=signer is not None)
    context.err.print(labelled("package", size(len(file))))
    context.out.print(str(path), soft_wrap=True)
    return None


def _by_rules(context: Context, packaging: str, chosen: ChosenBuild) -> Build:
    grade = passed_outcome(chosen.build, context.home).grade
    with context.session() as session, shown(context.err, verbose=context.verbose) as listen:
        service = BuildService(session, listen)
        training = None
        if chosen.run is not None and chosen.subject is not None:
            training = training_of(chosen.run, chosen.subject, service)
        return packaged_build(chosen.build, packaging, training, grade, service)


def _built_again(context: Context, build: Build) -> Build:
    context.err.print("building it a second time")
    with context.session() as session, shown(context.err, verbose=context.verbose) as listen:
        return built_again(build, BuildService(session, listen))


def _image(context: Context, form: ImageForm, draft: Draft) -> Image:
    context.err.print("making the image's base from the distribution's packages")
    with context.session() as session:
        return form.image(draft, session)


def _measurement(context: Context, chosen: ChosenBuild) -> EnclosedMeasurement | None:
    if chosen.run is None or chosen.subject is None:
        return None
    with open_store(context) as store:
        samples = store.samples(chosen.run.id)
    return EnclosedMeasurement(run=chosen.run, samples=samples, subject=chosen.subject)


def _tell(context: Context, package: Package, chosen: ChosenBuild, *, signed: bool) -> None:
    err = context.err
    err.print(labelled("files", f"{count_of(len(package.entries), 'file')} of {package.name}"))
    if chosen.run is None:
        text = "none: name a run instead of a build, and its samples are included"
        err.print(labelled("measured", text, "bold yellow"), soft_wrap=True)
    err.print(labelled("twice", _twice(package.differing)), soft_wrap=True)
    if package.content.lacks:
        text = f"what a distribution's has: {'; '.join(package.content.lacks)}"
        err.print(labelled("lacks", text, "bold yellow"), soft_wrap=True)
    if package.content.masked:
        text = f"in {count_of(package.content.masked, 'file')} this home's path was replaced"
        err.print(labelled("note", f"{text} by one of equal length"), soft_wrap=True)
    if not signed:
        text = "not signed: anybody could have made it; --key signs it"
        err.print(labelled("note", text, "bold yellow"), soft_wrap=True)
    err.print(labelled("licence", package.content.licence.duty), soft_wrap=True)


def _check(context: Context, path: Path, key: Path | None) -> Checked:
    data = read_package(path)
    trusted = None if key is None else read_public_key(key)
    checked = check_package(data, trusted)
    show_checked(context, checked, trusted=trusted is not None)
    return checked


def read_package(path: Path) -> bytes:
    """Return a package file. Raises UsageError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror}", hint="'hone package' makes packages"
        ) from error


def show_checked(context: Context, checked: Checked, *, trusted: bool) -> None:
    """Print what a package says."""
    out = context.out
    out.print(headed("package  ", f"{checked.name}, {count_of(checked.files, 'file')}, all intact"))
    out.print(headed("signature", _signature(checked, trusted=trusted)), soft_wrap=True)
    out.print(headed("build    ", checked.build), soft_wrap=True)
    out.print(headed("twice    ", _twice(checked.differing)), soft_wrap=True)
    if checked.lacks:
        out.print(headed("lacks    ", "; ".join(checked.lacks), "bold yellow"), soft_wrap=True)
    out.print(headed("verified ", _verified(checked)), soft_wrap=True)
    out.print(headed("measured ", _measured(checked)), soft_wrap=True)
    if checked.found is not None and not checked.measured:
        text = "hone's own build of this source and variant was measured, not these packages"
        out.print(headed("note     ", text, "bold yellow"), soft_wrap=True)
    if checked.why_not_here is not None:
        out.print(headed("note     ", checked.why_not_here, "bold yellow"), soft_wrap=True)


def _signature(checked: Checked, *, trusted: bool) -> str:
    if checked.key is None:
        return "none: the package is unsigned"
    if trusted:
        return f"by the key that you named, {checked.key[:16]}"
    return f"by the key {checked.key[:16]}, which --key compares with one that you know"


def _twice(differing: tuple[str, ...] | None) -> str:
    if differing is None:
        return "reproducibility was not checked"
    if not differing:
        return "a second build of the same inputs has the same files, byte for byte"
    return f"a second build of the same inputs differs in: {listed(differing)}"


def _verified(checked: Checked) -> str:
    lists = ", ".join(f"{name} ({proving} of {tests})" for name, proving, tests in checked.lists)
    return f"grade {checked.grade}: passes what its base passes of {lists}"


def _measured(checked: Checked) -> str:
    if checked.found is None:
        return "nothing: the package has no samples"
    texts = [f"{gain.steps} {_gain(gain)}, {gain.verdict}" for gain in checked.gains]
    blocks = count_of(checked.found["blocks"], "block")
    said = "; ".join(texts) or "too few blocks for an interval"
    return f"{checked.subject} over its base, recomputed from {blocks}: {said}"


def _gain(gain: Gain) -> str:
    low, high = percent(gain.low - 1), percent(gain.high - 1)
    return f"{percent(gain.ratio - 1)} ({low} to {high})"


def _repeat(context: Context, checked: Checked) -> int:
    """Execute a package's experiment here; return whether its gain is found, as an exit code."""
    declared = checked.experiment
    reason = checked.private if declared is None else why_private(declared)
    if declared is None or reason is not None:
        raise UsageError(f"this measurement cannot be repeated: {reason}")
    experiment = parse(repeated_text(declared, checked.name), name="package")
    context.out.print()
    page = execute_new(context, experiment, refresh=False, force=False)
    found = gains(map(dataclasses.asdict, page.analysis.summaries), checked.subject)
    here = {gain.in_sample: gain for gain in found}
    agreed = [_compare(context, gain, here.get(gain.in_sample)) for gain in checked.gains]
    return 0 if agreed and all(agreed) else 1


def _compare(context: Context, said: Gain, here: Gain | None) -> bool:
    """Print whether a gain was found here, too, and return that."""
    text = f"{said.steps}: the package says {_gain(said)}; "
    agrees = here is not None and here.agrees_with(said)
    if here is None:
        text += "too little was measured here"
    else:
        text += f"here it is {_gain(here)}: {'they agree' if agrees else 'they differ'}"
    context.out.print(headed("again    ", text), soft_wrap=True)
    return agrees


PLUGIN = command
