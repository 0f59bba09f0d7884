"""What a shell completes: runs, experiments, suites, goals and the like that exist here.

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

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
Offer = tuple[str, str]
"""A word, and what stands beside it where a shell shows that."""
_NEWEST = 50


def _completer(
    offers: Callable[[click.Context], Iterable[Offer]], *, files: bool = False
) -> Completer:
    """Make what completes a parameter to the offers, or with ``files`` to files as well."""

    def complete(
        ctx: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        del parameter
        items = []
        with contextlib.suppress(Exception):
            items = [
                CompletionItem(word, help=text)
                for word, text in offers(ctx)
                if word.startswith(incomplete)
            ]
        return [*items, CompletionItem(incomplete, type="file")] if files else items

    return complete


@_completer
def runs(ctx: click.Context) -> Iterable[Offer]:
    """Return the newest runs of the chosen home, and ``last``."""
    from dbhone.home import locate  # noqa: PLC0415 - a shell waits
    from dbhone.measurement.store import Store  # noqa: PLC0415

    home = locate(_home_option(ctx))
    with Store.open_to_read(home.database) as store:
        newest = store.runs()[-_NEWEST:]
    return [("last", "the newest"), *((str(run.id), run.title) for run in reversed(newest))]


@functools.partial(_completer, files=True)
def experiments(ctx: click.Context) -> Iterable[Offer]:
    """Return the experiments that ship, and files that may hold one."""
    from dbhone.experiment.load import shipped_names  # noqa: PLC0415

    del ctx
    files = (str(path) for path in sorted(Path().glob("*.toml")))
    return [
        *((name, "ships with hone") for name in shipped_names()),
        *((name, "") for name in files),
    ]


@_completer
def suites(ctx: click.Context) -> Iterable[Offer]:
    """Return the suites."""
    from dbhone.workload import suite  # noqa: PLC0415

    del ctx
    return [(name, suite.load(name).title) for name in suite.names()]


@_completer
def systems(ctx: click.Context) -> Iterable[Offer]:
    """Return the DBMSs."""
    from dbhone.dbms.base import load_dbms, system_names  # noqa: PLC0415

    del ctx
    return [(name, load_dbms(name).title) for name in system_names()]


@_completer
def goals(ctx: click.Context) -> Iterable[Offer]:
    """Return the goals of doctor and setup."""
    from dbhone.experiment.goals import goal_names  # noqa: PLC0415

    del ctx
    return [(name, "") for name in goal_names()]


@_completer
def questions(ctx: click.Context) -> Iterable[Offer]:
    """Return the questions of init."""
    from dbhone.experiment import starters  # noqa: PLC0415

    del ctx
    return list(starters.questions().items())


@_completer
def configs(ctx: click.Context) -> Iterable[Offer]:
    """Return the named configs."""
    from dbhone.experiment.named_configs import config_names, load_config  # noqa: PLC0415

    del ctx
    return [(name, load_config(name).title) for name in config_names()]


@_completer
def sets(ctx: click.Context) -> Iterable[Offer]:
    """Return the sets of the suite that the command line names, or of all suites."""
    from dbhone.workload import suite  # noqa: PLC0415

    chosen = ctx.params.get("suite")
    for name in (chosen,) if chosen else suite.names():
        loaded = suite.load(name)
        yield from ((each, loaded.sets[each].title) for each in loaded.measurable())


@_completer
def subjects(ctx: click.Context) -> Iterable[Offer]:
    """Return the subjects of the run that the command line names."""
    from dbhone.cli.context import find_run  # noqa: PLC0415
    from dbhone.home import locate  # noqa: PLC0415
    from dbhone.measurement.store import Store  # noqa: PLC0415

    home = locate(_home_option(ctx))
    with Store.open_to_read(home.database) as store:
        run = find_run(store, str(ctx.params.get("run") or "last"))
    return [(subject.name, subject.variant) for subject in run.subjects]


def _home_option(ctx: click.Context) -> Path | None:
    home: Path | None = ctx.find_root().params.get("home")
    return home
