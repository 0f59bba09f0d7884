"""``hone crosstrain SOURCE|RUN``: what is a training on one workload worth on another?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import click
from click.core import ParameterSource
from rich.table import Table

from dbhone.analysis.cross_training import CrossTraining, cross_training
from dbhone.analysis.precision import half_width
from dbhone.analysis.verdict import Summary
from dbhone.cli import completing
from dbhone.cli.context import Context, find_run, open_store, pass_context
from dbhone.cli.generated import GeneratedOptions, generated_options, write_or_execute
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import words
from dbhone.cli.listing import listing
from dbhone.cli.options import PERCENT, dbms_option
from dbhone.cli.running import dbms_of_tree
from dbhone.cli.selecting import RUN
from dbhone.errors import DriverError, UsageError
from dbhone.experiment.declaration.comparing import named_reference
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.declaration.templates import OPTIONS
from dbhone.measurement.record import Run
from dbhone.measurement.sample_array import SampleArray
from dbhone.source.known_versions import known_versions
from dbhone.tuner.cross_training import cross_training_text
from dbhone.tuner.request import find_source
from dbhone.units import duration, listed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options(GeneratedOptions):
    dbms: str | None
    variant: str
    mixes: tuple[str, ...]
    earlier: str | None
    training_sizes: tuple[str, ...]
    tolerance: float


@hone_command(
    "crosstrain",
    Task.MEASURE,
    "hone crosstrain apt:sqlite3 --sets main,cte,rtree,orm",
    "hone crosstrain apt:postgresql --sets point-query,update-index,scan --variant lto+pgo",
    "hone crosstrain last --tolerance 1%",
)
@click.argument("what", metavar="SOURCE|RUN")
@dbms_option("the source")
@click.option(
    "--variant",
    default="pgo",
    show_default=True,
    shell_complete=completing.variants,
    help="The profile-guided variant to train.",
)
@click.option(
    "--mix", "mixes", multiple=True, metavar="A,B,…", help="Train on these together, too."
)
@click.option(
    "--earlier",
    metavar="SOURCE",
    help="Test what the profile of another source, such as the release before, is worth, too.",
)
@click.option(
    "--training-size",
    "training_sizes",
    multiple=True,
    metavar="SIZE",
    help="Test what training on all at another size is worth, too; may be repeated.",
)
@click.option(
    "--tolerance",
    type=PERCENT,
    default="2%",
    show_default=True,
    help="What a training may lose against a set's own.",
)
@generated_options
@pass_context
def command(context: Context, /, what: str, **options: Any) -> None:
    """Train on each of several sets, test on all, and find the smallest training that suffices.

    The sets are a suite's, or those of a captured workload. A build is trained on each alone, one
    on all, and one on each --mix. The table shows each build's speed on each set, as a ratio to the
    plain build. For a RUN of this kind the table is shown once more.
    """
    chosen = _Options(**options)
    if RUN.fullmatch(what) is not None:
        _check_only_shown()
    else:
        page = write_or_execute(context, _experiment(context, what, chosen), chosen)
        if page is None:
            return
        what = str(page.run.id)
        context.out.print()
    with open_store(context) as store:
        run = find_run(store, what)
        samples = store.samples(run.id)
    _tell(context, run, _cross_training(run, samples), chosen.tolerance)


def _check_only_shown() -> None:
    """Raise UsageError if an option is given that says how to measure."""
    context = click.get_current_context()
    for parameter in context.command.params:
        usual = context.get_parameter_source(parameter.name or "") is ParameterSource.DEFAULT
        if not usual and parameter.name not in ("what", "tolerance"):
            raise UsageError(
                f"{parameter.opts[0]} is for a SOURCE: what a RUN has measured is only shown"
            )


def _experiment(context: Context, source: str, options: _Options) -> Experiment:
    ask_tree = partial(dbms_of_tree, context)
    known = known_versions(context.home)
    reference, dbms = find_source(source, options.dbms, known, ask_tree)
    text = cross_training_text(
        dbms,
        reference,
        options.variant,
        options.workload,
        options.design,
        mixes=tuple(words(mix) for mix in options.mixes),
        earlier=options.earlier and known.meaning(named_reference(options.earlier)),
        sizes=options.training_sizes,
    )
    return parse(text, name="crosstrain", options=OPTIONS)


def _cross_training(run: Run, samples: SampleArray) -> CrossTraining:
    """Return what a run shows of its trainings.

    Raises UsageError if it has not two of them, DriverError if others broke.
    """
    trained = {
        subject.name: frozenset(subject.trained_on)
        for subject in run.subjects
        if subject.trained_on and subject.broken is None and subject.name in samples.subjects
    }
    broken = [each.name for each in run.subjects if each.trained_on and each.broken is not None]
    if len(trained) < 2 and broken:
        raise DriverError(
            f"too few trained builds of run {run.id} are left to compare: {listed(broken)} broke",
            hint=f"'hone show {run.id}' says why",
        )
    if len(trained) < 2 or run.base is None:
        raise UsageError(
            f"run {run.id} has no two builds with trainings of their own",
            hint="'hone crosstrain SOURCE' makes such a run",
        )
    return cross_training(
        samples,
        run.steps,
        trained,
        base=run.base.name,
        controls=run.controls,
    )


def _tell(context: Context, run: Run, found: CrossTraining, tolerance: float) -> None:
    out = context.out
    out.print(
        "Tested on (rows) by what was trained on (columns), as ratios to the base", style="bold"
    )
    out.print(_table(found))
    for text in _alternatives(run, found):
        context.show_line(f"\n{text}")
    smallest, most = found.smallest(tolerance), f"{tolerance * 100:g}%"
    if smallest is None:
        context.show_line(
            f"\nNo training here loses at most {most} on every set. Try a mix: --mix A,B"
        )
        return
    tested, worst = found.worst(smallest) or ("", None)
    assert worst is not None
    context.show_line(
        f"\nThe smallest training that loses at most {most} on every set is on"
        f" {listed(sorted(found.trained[smallest]))}: against a training of its own,"
        f" {tested} runs {_ratio(worst)} times as fast."
    )


def _alternatives(run: Run, found: CrossTraining) -> Iterator[str]:
    """Yield what each other way to train on the same sets is worth."""
    subjects = {subject.name: subject for subject in run.subjects}
    for name, (other, worth) in found.alternatives.items():
        foreign = subjects[name].inputs.get("profile_source")
        seconds = (subjects[one].training_seconds or 0.0 for one in (name, other))
        own, usual = map(duration, seconds)
        how = f"has the profile of {foreign}" if foreign else f"was trained for {own}, not {usual}"
        yield f"{name} {how}: it runs {_ratio(worth)} times as fast as {other}."


def _table(found: CrossTraining) -> Table:
    table = listing("tested on", *found.trained, right=tuple(found.trained))
    for tested, gains in found.gains.items():
        cells = (_ratio(gains[name]) if name in gains else "-" for name in found.trained)
        table.add_row(tested, *cells)
    worst = (found.worst(name) for name in found.trained)
    table.add_row("worst against its own", *(_ratio(one[1]) if one else "-" for one in worst))
    return table


def _ratio(summary: Summary) -> str:
    half = half_width(summary)
    return f"{summary.ratio:.3f}" if half is None else f"{summary.ratio:.3f} ±{half:.1%}"


PLUGIN = command
