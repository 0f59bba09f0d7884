"""``hone clean``: what the home folder holds, and how to make room."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from dbhone.cli.context import Context, open_store, pass_context
from dbhone.cli.help import HoneCommand, Task
from dbhone.cli.lines import json_option, listing, print_json
from dbhone.cli.setting_up import agree
from dbhone.compilation.manifest import read_build
from dbhone.errors import MachineError, UsageError
from dbhone.files import tree_size
from dbhone.home import Home, in_use, is_alive
from dbhone.host_lock import hold_host_lock
from dbhone.measurement.record import RunState, Subject
from dbhone.measurement.store import Store
from dbhone.report.page import build_page
from dbhone.units import size
from dbhone.untrusted_files import remove_tree

_DIGEST_DIGITS = 64


@dataclass(frozen=True, slots=True)
class _Part:
    """What one kind of thing takes of the disk, in bytes, and the folders that may be removed."""

    title: str
    bytes: int
    removable: tuple[Path, ...] = ()
    removable_bytes: int = 0


@click.command(
    "clean",
    cls=HoneCommand,
    task=Task.MANAGE,
    examples=("hone clean", "hone clean --yes", "hone clean --all --json"),
)
@click.option(
    "--all", "everything", is_flag=True, help="Also what runs and builds that are kept still need."
)
@click.option("--yes", "-y", is_flag=True, help="Remove without asking.")
@json_option
@pass_context
def command(context: Context, everything: bool, yes: bool, as_json: bool) -> None:
    """Show what takes up the home folder, and remove what can be made again.

    Runs, their measurements and their reports stay: `hone delete` deletes runs. Of builds and
    sources those stay that belong to runs which can still be continued, and to the winner and the
    base of each finished run that has a winner. What was removed is fetched, built or loaded again
    when it is needed.
    """
    home = context.home
    if not home.root.is_dir():
        context.err.print(f"There is no home folder {home.root} yet.", soft_wrap=True)
        return
    parts = tuple(_parts(home, frozenset() if everything else _needed(context)))
    if as_json:
        print_json(context, [_object(part) for part in parts])
    else:
        _print(context, parts)
    removable = sum(part.removable_bytes for part in parts)
    if not any(part.removable for part in parts):
        context.err.print("There is nothing to remove.")
        return
    if not yes and (as_json or not sys.stdin.isatty()):
        context.err.print(f"'hone clean --yes' removes {size(removable)}")
        return
    agree(f"remove {size(removable)}", yes=yes)
    _remove(context, parts)
    context.err.print(f"removed {size(removable)}")


def _needed(context: Context) -> frozenset[Path]:
    """Return the builds and sources that stay unless the user wants everything removed.

    They belong to runs that could be continued, and to winners with the bases that they are
    verified against. Where the disk is so full that the store cannot be opened, it is all of them.
    """
    home = context.home
    if not home.database.is_file():
        return frozenset()
    try:
        with open_store(context) as store:
            subjects = tuple(_needed_subjects(store))
    except MachineError as error:
        context.err.print(f"builds and sources stay for now: {error.message}", soft_wrap=True)
        return frozenset(_folders(home.builds) | _trees(home))
    trees = {home.sources / subject.source_digest for subject in subjects}
    builds = {home.builds / subject.build_digest for subject in subjects}
    return frozenset(trees | {build for build in builds if read_build(build) is not None})


def _needed_subjects(store: Store) -> Iterator[Subject]:
    for summary in store.runs():
        run = store.run(summary.id)
        if run.state is not RunState.DONE:
            yield from run.subjects
            continue
        winner = build_page(run, store.samples(run.id)).winner
        if winner is not None and run.base is not None:
            yield from (winner, run.base)


def _parts(home: Home, needed: frozenset[Path]) -> Iterator[_Part]:
    """Yield what the home holds, the kinds of which something can be removed first."""
    yield _part("loaded data", home.data, remove=_folders(home.data))
    yield _part("builds", home.builds, remove=_folders(home.builds) - needed)
    # Beside the trees are caches, without which nothing could be fetched again offline.
    yield _part("sources", home.sources, remove=_trees(home) - needed)
    interrupted = {work for work in _folders(home.scratch) if not is_alive(home, work.name)}
    yield _part("work in progress", home.scratch, remove=interrupted)
    yield _part("profiles", home.profiles)
    yield _part("reports, test results and logs", home.runs, home.verifications, home.logs)
    yield _part("measurements", *home.root.glob(f"{home.database.name}*"))


def _part(title: str, *places: Path, remove: Collection[Path] = ()) -> _Part:
    return _Part(
        title=title,
        bytes=sum(map(_bytes, places)),
        removable=tuple(sorted(remove)),
        removable_bytes=sum(map(_bytes, remove)),
    )


def _bytes(place: Path) -> int:
    return tree_size(place) if place.is_dir() else place.stat().st_size


def _trees(home: Home) -> set[Path]:
    return {path for path in _folders(home.sources) if len(path.name) == _DIGEST_DIGITS}


def _folders(folder: Path) -> set[Path]:
    return {path for path in folder.glob("*") if path.is_dir()}


def _print(context: Context, parts: tuple[_Part, ...]) -> None:
    figures = ("on disk", "can be removed")
    table = listing("what", *figures, right=figures, whole=("what", *figures))
    for part in parts:
        table.add_row(
            part.title, size(part.bytes), size(part.removable_bytes) if part.removable else "–"
        )
    context.out.print(table)


def _object(part: _Part) -> dict[str, object]:
    return {
        "what": part.title,
        "bytes": part.bytes,
        "removable_bytes": part.removable_bytes,
        "removable": [str(folder) for folder in part.removable],
    }


def _remove(context: Context, parts: tuple[_Part, ...]) -> None:
    """Remove what may be removed. Raises UsageError while another hone uses the home.

    It makes no session of its own, for which a full disk may have no room.
    """
    if in_use(context.home):
        raise UsageError(
            f"another hone works in {context.home.root}",
            hint="wait until it has finished, or end it with Ctrl-C",
        )
    with hold_host_lock(lambda other: context.err.print(f"waiting for {other} to finish")):
        for part in parts:
            for folder in part.removable:
                remove_tree(folder)


PLUGIN = command
