"""``hone clean``: what the home folder holds, and how to make room."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import click

from dbhone.cli.context import Context, open_store, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import print_json
from dbhone.cli.listing import listing
from dbhone.cli.options import json_option, yes_option
from dbhone.cli.setting_up import agree
from dbhone.compilation.manifest import read_build
from dbhone.errors import MachineError, UsageError
from dbhone.files import tree_size
from dbhone.home import Home, check_home
from dbhone.host_lock import hold_host_lock, waiting_line
from dbhone.measurement.record import RunState, StopReason, Subject
from dbhone.measurement.store import Store
from dbhone.report.page import build_page
from dbhone.session import guarded, in_use, is_alive
from dbhone.tuner.chain import runs_of_open_searches
from dbhone.units import listed, size
from dbhone.untrusted_files import remove_tree

_DIGEST_DIGITS = 64


@dataclass(frozen=True, slots=True)
class _Part:
    """What one kind of thing takes of the disk, and the folders that may be removed, in bytes."""

    title: str
    bytes: int
    removable: Mapping[Path, int] = field(default_factory=dict)

    @property
    def removable_bytes(self) -> int:
        """What removing these folders frees."""
        return sum(self.removable.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Need:
    """The subjects of a run whose builds and sources stay: all, if it can be ``continued``."""

    run: int
    continued: bool
    subjects: tuple[Subject, ...]


@hone_command("clean", Task.MANAGE, "hone clean", "hone clean --yes", "hone clean --all --json")
@click.option(
    "--all", "everything", is_flag=True, help="Also what runs and builds that are kept still need."
)
@yes_option("Remove without asking.")
@json_option
@pass_context
def command(context: Context, everything: bool, yes: bool, as_json: bool) -> None:
    """Show what takes up the home folder, and remove what can be made again.

    Runs, their measurements and their reports stay: `hone delete` deletes runs. Of builds and
    sources those stay that belong to runs which can still be continued, also to a verdict or by
    `hone tune`, and to the winner and the base of each finished run that has a winner. What was
    removed is fetched, built or loaded again when it is needed.
    """
    home = context.home
    if not home.root.is_dir():
        context.tell(f"There is no home folder {home.root} yet.")
        if as_json:
            print_json(context, [])
        return
    check_home(home)
    folders = _removable(context, everything=everything, tell=context.tell)
    parts = tuple(_parts(home, folders))
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
    agreed = {folder: count for part in parts for folder, count in part.removable.items()}
    removed = _remove(context, agreed, everything=everything)
    context.err.print(f"removed {size(removed)}")


def _removable(
    context: Context, *, everything: bool, tell: Callable[[str], None]
) -> frozenset[Path]:
    """Return the folders that can be made again, and those that dead sessions left."""
    home = context.home
    needed = frozenset() if everything else _needed(context, tell)
    # Beside the trees are caches, without which nothing could be fetched again offline.
    makeable = (_folders(home.builds) | _trees(home)) - needed
    interrupted = {work for work in _folders(home.scratch) if not is_alive(home, work.name)}
    return frozenset(_folders(home.data) | makeable | interrupted)


def _needed(context: Context, tell: Callable[[str], None]) -> frozenset[Path]:
    """Return the builds and sources that stay unless the user wants everything removed.

    They belong to runs that could be continued, which the user is told, and to winners with the
    bases that they are verified against. Where the disk is so full that the store cannot be opened,
    it is all of them.
    """
    home = context.home
    if not home.database.is_file():
        return frozenset()
    try:
        with open_store(context) as store:
            needs = tuple(_needs(store))
    except MachineError as error:
        tell(f"builds and sources stay for now: {error.message}")
        return frozenset(_folders(home.builds) | _trees(home))
    continued = [need for need in needs if need.continued and _places(home, (need,))]
    if continued:
        taken = size(sum(map(_bytes, _places(home, continued))))
        runs = listed([f"run {need.run}" for need in continued])
        tell(
            f"{taken} of builds and sources stay for runs that can be continued ({runs}):"
            " --all removes them, too"
        )
    return _places(home, needs)


def _needs(store: Store) -> Iterator[_Need]:
    """Yield what each run needs; one that ended short of its verdict can be continued, too."""
    runs = store.runs()
    searched = runs_of_open_searches(runs)
    for summary in runs:
        run = store.run(summary.id)
        if run.state is not RunState.DONE or run.id in searched:
            yield _Need(run=run.id, continued=True, subjects=run.subjects)
            continue
        page = build_page(run, store.samples(run.id))
        if run.stopped_by == StopReason.BUDGET and page.needs.verdict_blocks:
            yield _Need(run=run.id, continued=True, subjects=run.subjects)
        elif page.winner is not None and run.base is not None:
            yield _Need(run=run.id, continued=False, subjects=(page.winner, run.base))


def _places(home: Home, needs: Iterable[_Need]) -> frozenset[Path]:
    """Return the sources and the whole builds that the home has of what is needed."""
    subjects = [subject for need in needs for subject in need.subjects]
    trees = {home.sources / subject.source_digest for subject in subjects} & _trees(home)
    builds = {home.builds / subject.build_digest for subject in subjects}
    return frozenset(trees | {build for build in builds if read_build(build) is not None})


def _parts(home: Home, removable: frozenset[Path]) -> Iterator[_Part]:
    """Yield what the home holds, the kinds of which something can be removed first."""
    for title, place in (
        ("loaded data", home.data),
        ("builds", home.builds),
        ("sources", home.sources),
        ("work in progress", home.scratch),
    ):
        folders = sorted(folder for folder in removable if folder.parent == place)
        yield _Part(
            title=title,
            bytes=_bytes(place),
            removable={folder: _bytes(folder) for folder in folders},
        )
    others = (home.runs, home.verifications, home.logs)
    yield _Part(title="profiles", bytes=_bytes(home.profiles))
    yield _Part(title="reports, test results and logs", bytes=sum(map(_bytes, others)))
    store = home.root.glob(f"{home.database.name}*")
    yield _Part(title="measurements", bytes=sum(map(_bytes, store)))


def _bytes(place: Path) -> int:
    return place.stat().st_size if place.is_file() else tree_size(place)


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


def _remove(context: Context, agreed: Mapping[Path, int], *, everything: bool) -> int:
    """Remove the folders that the user agreed to; return how many bytes these took.

    What another hone has come to need since it was shown stays. A hone that starts meanwhile waits.
    There is no session for this, for which a full disk may have no room. Raises UsageError while
    another hone uses the home.
    """
    _check_unused(context.home)
    waiting = hold_host_lock(context.home, lambda other: context.tell(waiting_line(other)))
    with waiting, guarded(context.home):
        _check_unused(context.home)
        still = _removable(context, everything=everything, tell=lambda _: None)
        folders = [folder for folder in agreed if folder in still]
        for folder in folders:
            remove_tree(folder)
    return sum(agreed[folder] for folder in folders)


def _check_unused(home: Home) -> None:
    if in_use(home):
        raise UsageError(
            f"another hone works in {home.root}",
            hint="wait until it has finished, or end it with Ctrl-C",
        )


PLUGIN = command
