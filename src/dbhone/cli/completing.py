"""What a shell completes: runs, builds, suites, sets, variants and the like that exist here.

A shell waits for the answer while its user types: nothing heavy is imported before it is needed,
and whatever goes wrong completes to nothing.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from dbhone.cli.context import find_run
from dbhone.home import Home, locate
from dbhone.measurement.store import Store

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
Offer = tuple[str, str]
"""A word, and what stands beside it where a shell shows that."""
_NEWEST = 50


def _completer(
    offers: Callable[[click.Context], Iterable[Offer]], *, files: bool = False, separator: str = ""
) -> Completer:
    """Make what completes a parameter to the offers, or with ``files`` to files as well.

    With a ``separator`` the parameter is several of them: the last is completed, and none is
    offered twice.
    """

    def complete(
        ctx: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        del parameter
        *before, last = incomplete.split(separator) if separator else [incomplete]
        head = "".join(f"{word}{separator}" for word in before)
        items = []
        with contextlib.suppress(Exception):
            items = [
                CompletionItem(f"{head}{word}", help=text)
                for word, text in offers(ctx)
                if word.startswith(last) and word not in before
            ]
        return [*items, CompletionItem(incomplete, type="file")] if files else items

    return complete


def _runs(ctx: click.Context) -> Iterable[Offer]:
    """Return the newest runs of the chosen home, and ``last``."""
    with Store.open_to_read(_home(ctx).database) as store:
        newest = store.runs()[-_NEWEST:]
    return [("last", "the newest"), *((str(run.id), run.title) for run in reversed(newest))]


def _builds(ctx: click.Context) -> Iterable[Offer]:
    """Return the builds that the chosen home keeps, the newest first."""
    from dbhone.compilation.manifest import all_builds  # noqa: PLC0415 - a shell waits

    manifests = [build.manifest for build in reversed(all_builds(_home(ctx)))]
    return [(each.digest[:12], f"{each.dbms} {each.version} {each.variant}") for each in manifests]


def _builds_and_runs(ctx: click.Context) -> Iterable[Offer]:
    """Return the builds and, where there is a store, the runs."""
    found = list(_builds(ctx))
    with contextlib.suppress(Exception):
        found += _runs(ctx)
    return found


runs = _completer(_runs)
builds = _completer(_builds)
builds_and_runs = _completer(_builds_and_runs)
builds_runs_and_files = _completer(_builds_and_runs, files=True)


def _experiments(_: click.Context) -> Iterable[Offer]:
    """Return the experiments that ship, and files that may hold one."""
    from dbhone.experiment.declaration.load import shipped_names  # noqa: PLC0415

    files = (str(path) for path in sorted(Path().glob("*.toml")))
    return [
        *((name, "ships with hone") for name in shipped_names()),
        *((name, "") for name in files),
    ]


def _runs_and_experiments(ctx: click.Context) -> Iterable[Offer]:
    """Return the experiments and, where there is a store, the runs."""
    found: list[Offer] = []
    with contextlib.suppress(Exception):
        found += _runs(ctx)
    return [*found, *_experiments(ctx)]


experiments = _completer(_experiments, files=True)
runs_and_experiments = _completer(_runs_and_experiments, files=True)


@_completer
def suites(_: click.Context) -> Iterable[Offer]:
    """Return the suites."""
    from dbhone.workload import suite  # noqa: PLC0415

    return [(name, suite.load(name).title) for name in suite.names()]


@_completer
def systems(_: click.Context) -> Iterable[Offer]:
    """Return the DBMSs."""
    from dbhone.dbms.base import load_dbms, system_names  # noqa: PLC0415

    return [(name, load_dbms(name).title) for name in system_names()]


@_completer
def goals(_: click.Context) -> Iterable[Offer]:
    """Return the goals of doctor and setup."""
    from dbhone.experiment.plan.goals import goal_names  # noqa: PLC0415

    return [(name, "") for name in goal_names()]


@_completer
def questions(_: click.Context) -> Iterable[Offer]:
    """Return the questions of init."""
    from dbhone.experiment.plan import starters  # noqa: PLC0415

    return list(starters.questions().items())


@_completer
def configs(_: click.Context) -> Iterable[Offer]:
    """Return the named configs."""
    from dbhone.experiment.declaration.named_configs import config_names, load_config  # noqa: PLC0415

    return [(name, load_config(name).title) for name in config_names()]


def _sets(ctx: click.Context) -> Iterable[Offer]:
    """Return the sets of the suite that the command line names, or of all suites."""
    from dbhone.workload import suite  # noqa: PLC0415

    chosen = ctx.params.get("suite")
    titles: dict[str, str] = {}
    for name in (chosen,) if chosen else suite.names():
        loaded = suite.load(name)
        titles |= {each: loaded.sets[each].title for each in loaded.measurable()}
    return titles.items()


sets = _completer(_sets)
several_sets = _completer(_sets, separator=",")


@functools.partial(_completer, separator=",")
def versions(ctx: click.Context) -> Iterable[Offer]:
    """Return the known versions of the DBMS that the command line names, the newest first."""
    from dbhone.source.known_versions import known_versions  # noqa: PLC0415

    # While an option lacks its value, click leaves the arguments unread.
    named = (ctx.params.get("dbms"), *ctx.args)
    known = reversed(known_versions(_home(ctx)).versions)
    return [(version.name, version.source) for version in known if version.dbms in named]


@functools.partial(_completer, separator="+")
def variants(_: click.Context) -> Iterable[Offer]:
    """Return the transforms of which variants are made."""
    from dbhone import registry  # noqa: PLC0415
    from dbhone.compilation.transforms.base import DRAWER, Transform  # noqa: PLC0415

    transforms = registry.load_all(DRAWER, Transform, what="transform")
    return [(name, transform.summary) for name, transform in transforms.items()]


@_completer
def levers(_: click.Context) -> Iterable[Offer]:
    """Return the levers."""
    from dbhone import registry  # noqa: PLC0415
    from dbhone.instance.levers.base import DRAWER, Lever  # noqa: PLC0415

    loaded = registry.load_all(DRAWER, Lever, what="lever")
    return [(name, lever.summary) for name, lever in loaded.items()]


@_completer
def compilers(_: click.Context) -> Iterable[Offer]:
    """Return the compilers that are installed."""
    from dbhone.compilation.toolchain import installed_names  # noqa: PLC0415

    return [(name, "") for name in installed_names()]


@_completer
def published(_: click.Context) -> Iterable[Offer]:
    """Return the published results."""
    from dbhone.report.publication import load_publication, publication_names  # noqa: PLC0415

    return [(name, load_publication(name).title) for name in publication_names()]


@_completer
def subjects(ctx: click.Context) -> Iterable[Offer]:
    """Return the subjects of the run that the command line names."""
    with Store.open_to_read(_home(ctx).database) as store:
        run = find_run(store, str(ctx.params.get("run") or "last"))
    return [(subject.name, subject.variant) for subject in run.subjects]


def _home(ctx: click.Context) -> Home:
    return locate(ctx.find_root().params.get("home"))
