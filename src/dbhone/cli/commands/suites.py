"""``hone suites [NAME]``: the suites, and what is in one."""

from __future__ import annotations

import click
from rich.table import Table

from dbhone.cli import completing
from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import headed, print_json
from dbhone.cli.listing import listing
from dbhone.cli.options import json_option
from dbhone.files import absolute_path
from dbhone.workload import suite as suites
from dbhone.workload.suite import NumberedSet, Suite
from dbhone.workload.workload import load_checked


@hone_command(
    "suites",
    Task.MANAGE,
    "hone suites",
    "hone suites sysbench:micro",
    "hone suites speedtest1 --json",
)
@click.argument("name", required=False, shell_complete=completing.suites)
@json_option
@pass_context
def command(context: Context, name: str | None, as_json: bool) -> None:
    """List the suites of workloads, or the sets and sizes of the suite NAME.

    NAME may be the path of a suite's file of your own.
    """
    if name is not None and suites.is_users_file(name):
        name = str(absolute_path(name))
    chosen = suites.names() if name is None else (name,)
    if as_json:
        print_json(context, [_object(suite, load_checked(suite)) for suite in chosen])
    elif name is None:
        context.out.print(_list())
    else:
        suite = load_checked(name)
        context.out.print(headed(name, suite.title))
        context.out.print(f"sizes: {', '.join(suite.sizes())}; driver: {suite.driver}")
        if suite.training:
            context.out.print(f"trained on by default: {', '.join(suite.training)}")
        context.out.print(_sets(suite))
        on_request = [each for each in suite.measurable() if suite.is_on_request(each)]
        if on_request:
            context.show_line(f"sets on request: {', '.join(on_request)}")


def _list() -> Table:
    table = listing("suite", "title", "for", "sizes", "sets", right=("sets",))
    for name in suites.names():
        suite = suites.load(name)
        sizes, protocols = ", ".join(suite.sizes()), ", ".join(suite.protocols)
        table.add_row(name, suite.title, protocols, sizes, str(len(suite.measured())))
    return table


def _sets(suite: Suite) -> Table:
    table = listing("set", "title", "steps")
    for name in suite.measured():
        declared = suite.sets[name]
        steps = len(declared.keys()) if isinstance(declared, NumberedSet) else declared.group.value
        table.add_row(name, declared.title, str(steps))
        for key in declared.parts:
            table.add_row(
                f"{name}/{key}", declared.title_of(key), f"part: {declared.group_of(key)}"
            )
    return table


def _object(name: str, suite: Suite) -> dict[str, object]:
    return {
        "name": name,
        "title": suite.title,
        "driver": suite.driver,
        "protocols": suite.protocols,
        "sizes": suite.sizes(),
        "sets": {set_: suite.sets[set_].title for set_ in suite.measured()},
        "on_request": [set_ for set_ in suite.measurable() if suite.is_on_request(set_)],
    }


PLUGIN = command
