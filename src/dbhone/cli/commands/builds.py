"""``hone builds``: the builds that there are, and making room."""

from __future__ import annotations

import click

from dbhone.cli.context import Context, open_store, pass_context
from dbhone.cli.help import HoneCommand, Task
from dbhone.cli.lines import json_option, listing, print_json
from dbhone.compilation.manifest import Build, all_builds, prune
from dbhone.host_lock import hold_host_lock
from dbhone.measurement.record import RunState
from dbhone.measurement.store import Store
from dbhone.report.page import build_page
from dbhone.units import count_of, duration, size


@click.command(
    "builds",
    cls=HoneCommand,
    task=Task.MANAGE,
    examples=(
        "hone builds",
        "hone builds --prune",
    ),
)
@click.option("--prune", "remove", is_flag=True, help="Remove builds that nothing needs any more.")
@click.option("--all", "everything", is_flag=True, help="With --prune: remove all builds.")
@json_option
@pass_context
def command(context: Context, remove: bool, everything: bool, as_json: bool) -> None:
    """List the builds, oldest first.

    With --prune, builds are removed except those of runs that can still be continued and the
    best build of each finished run. A removed build is made again when it is needed.
    """
    if everything and not remove:
        raise click.UsageError("--all goes with --prune")
    if remove:
        _prune(context, everything=everything)
        return
    builds = all_builds(context.home)
    if as_json:
        print_json(context, [_object(build) for build in builds])
        return
    if not builds:
        context.err.print("There are no builds yet: 'hone try' or 'hone build' makes some.")
        return
    figures = ("took", "binary")
    table = listing(
        *("digest", "DBMS", "variant", "compiler", "built", *figures),
        right=figures,
        whole=("digest", "built"),
    )
    for build in builds:
        manifest = build.manifest
        note = f" ({manifest.note})" if manifest.note else ""
        copy = f" (copy {manifest.inputs.copy_number})" if manifest.inputs.copy_number else ""
        table.add_row(
            manifest.digest[:12],
            f"{manifest.dbms} {manifest.version}",
            manifest.variant + note + copy,
            build.shown_compiler,
            f"{manifest.built_at.astimezone():%Y-%m-%d %H:%M}",
            duration(manifest.seconds),
            size(build.binary_bytes),
        )
    context.out.print(table)


def _object(build: Build) -> dict[str, object]:
    manifest = build.manifest
    return {
        "digest": manifest.digest,
        "folder": str(build.folder),
        "dbms": manifest.dbms,
        "version": manifest.version,
        "variant": manifest.variant,
        "pass": manifest.pass_.value,
        "compiler": build.shown_compiler,
        "source": manifest.source,
        "built": manifest.built_at.isoformat(),
        "seconds": manifest.seconds,
        "binary_bytes": build.binary_bytes,
    }


def _prune(context: Context, *, everything: bool) -> None:
    if not context.home.root.is_dir():
        context.err.print("There are no builds yet.")
        return
    with context.session() as session, open_store(context) as store:
        keep = frozenset() if everything else _needed(store)
        with hold_host_lock(lambda other: context.err.print(f"waiting for {other} to finish")):
            pruned = prune(session.home, keep)
    context.out.print(f"removed {count_of(pruned.folders, 'build')}, freed {size(pruned.bytes)}")


def _needed(store: Store) -> frozenset[str]:
    """Return the builds of runs that could be continued, and the winners of those that are done."""
    needed: set[str] = set()
    for summary in store.runs():
        run = store.run(summary.id)
        if run.state is not RunState.DONE:
            needed.update(subject.build_digest for subject in run.subjects)
            continue
        winner = build_page(run, store.samples(run.id)).winner
        if winner is not None:
            needed.add(winner.build_digest)
    return frozenset(needed)


PLUGIN = command
