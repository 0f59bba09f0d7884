"""``hone build SOURCE``: makes one build, or finds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click
from rich.table import Table

from dbhone.build.manifest import Build
from dbhone.build.variant import Variant, parse_variant
from dbhone.cli.context import Context, pass_context
from dbhone.cli.progress import shown
from dbhone.errors import UsageError
from dbhone.experiment.model import Training
from dbhone.experiment.production import Goal, Product, Workshop, recognise
from dbhone.units import duration, size
from dbhone.workload import suite as suites


@click.command("build")
@click.argument("source")
@click.option("--variant", default="rel", show_default=True, help="Transforms, such as lto+pgo.")
@click.option("--compiler", default="gcc", show_default=True, help="gcc, clang, gcc-12, …")
@click.option("--train", multiple=True, metavar="SET", help="Set to train on; may be repeated.")
@click.option("--suite", default="speedtest1", show_default=True)
@click.option("--size", default="quick", show_default=True, help="Size of training.")
@click.option("--copy", default=0, help="Build the same once more: give 1, 2, …")
@click.option("--slowest", default=5, show_default=True, help="How many compile commands to list.")
@click.option("--refresh", is_flag=True, help="Look whether there is a newer source.")
@pass_context
def command(context: Context, /, source: str, **options: Any) -> None:
    """Build SOURCE (apt:sqlite3, git:URL@REV, dir:PATH, …) or find the same build made before.

    Prints where the build is. Its folder has the manifest of every input, the full log, and
    the time of each compile command.
    """
    chosen = _Options(**options)
    wanted = parse_variant(chosen.variant)
    training = _training(chosen, wanted)
    with context.session() as session, shown(context.err) as listen:
        workshop = Workshop(session, listen, refresh=chosen.refresh)
        goal = Goal(
            dbms=recognise(workshop.tree(source).path),
            source=source,
            variant=wanted,
            compiler=chosen.compiler,
            training=training,
            suite=chosen.suite,
            copy_number=chosen.copy,
        )
        product = workshop.produce(goal)
    context.err.print(_facts(product))
    if chosen.slowest:
        context.err.print(_slowest(product.build, chosen.slowest))
    context.out.print(str(product.build.folder), soft_wrap=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    variant: str
    compiler: str
    train: tuple[str, ...]
    suite: str
    size: str
    copy: int
    slowest: int
    refresh: bool


def _training(chosen: _Options, wanted: Variant) -> Training | None:
    if not wanted.profile_guided:
        if chosen.train:
            raise UsageError(
                f"the variant {wanted.name} takes no training", hint="add pgo, or leave --train out"
            )
        return None
    if not chosen.train:
        raise UsageError(
            f"the variant {wanted.name} is profile-guided and must be trained",
            hint="add --train main",
        )
    suites.check(chosen.suite, chosen.train, chosen.size)
    return Training(sets=chosen.train, size=chosen.size)


def _facts(product: Product) -> Table:
    manifest = product.build.manifest
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(overflow="fold")
    made = "found, made before in" if product.reused else "made in"
    phases = ", ".join(f"{name} {duration(each)}" for name, each in manifest.phase_seconds.items())
    rows = {
        "build": f"{manifest.dbms} {manifest.version}, {manifest.variant}, {manifest.compiler}",
        "took": f"{made} {duration(manifest.seconds)} ({phases})",
        "source": manifest.source,
        "flags": " ".join((*manifest.compile_flags, *manifest.link_flags)),
    }
    if manifest.profile is not None:
        use = manifest.profile
        rows["profile"] = (
            f"trained {use.training_seconds:.1f} s on {', '.join(use.trained_on)}; reached"
            f" {use.functions_executed} of {use.functions} functions;"
            f" {use.units - use.units_without_profile} of {use.units} files had one"
        )
    for name, kept in manifest.files.items():
        rows[name] = f"{kept.path}, {size(kept.bytes)}"
    for name, value in rows.items():
        table.add_row(f"[bold]{name}[/]", value)
    return table


def _slowest(build: Build, count: int) -> Table:
    commands = sorted(build.commands(), key=lambda each: each.seconds, reverse=True)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("slowest", justify="right")
    table.add_column(f"of {len(commands)} compile commands")
    for each in commands[:count]:
        table.add_row(duration(each.seconds), each.target)
    return table


PLUGIN = command
