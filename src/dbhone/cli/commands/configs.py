"""``hone configs [NAME]``: the named configs, and what stands in one."""

from __future__ import annotations

import click
from rich.table import Table

from dbhone.cli import completing
from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import facts, headed, print_json
from dbhone.cli.listing import listing
from dbhone.cli.options import json_option
from dbhone.experiment.declaration.named_configs import NamedConfig, config_names, load_config


@hone_command(
    "configs",
    Task.MANAGE,
    "hone configs",
    "hone configs kinoshita",
    "hone configs kinoshita --json",
)
@click.argument("name", required=False, shell_complete=completing.configs)
@json_option
@pass_context
def command(context: Context, name: str | None, as_json: bool) -> None:
    """List the named configs, or show what NAME sets, and why.

    An experiment uses one by `use = "NAME"` in its [config].
    """
    if as_json:
        chosen = config_names() if name is None else (name,)
        configs = ((each, load_config(each).model_dump(mode="json")) for each in chosen)
        print_json(context, [{"name": each, **config} for each, config in configs])
    elif name is None:
        context.out.print(_list())
    else:
        _show(context, name, load_config(name))


def _show(context: Context, name: str, config: NamedConfig) -> None:
    context.out.print(headed(name, config.title))
    context.out.print(_facts(config))
    context.out.print(_settings(config))
    if config.left_out:
        context.out.print("Left out of the author's settings:")
        context.out.print(_left_out(config))


def _list() -> Table:
    table = listing("config", "title", "DBMS")
    for name in config_names():
        config = load_config(name)
        table.add_row(name, config.title, ", ".join(config.dbms))
    return table


def _facts(config: NamedConfig) -> Table:
    return facts(
        (
            ("author", config.author),
            ("source", config.source),
            ("author's machine", config.machine),
            ("for", ", ".join(config.dbms)),
            ("versions", config.versions),
        )
    )


def _settings(config: NamedConfig) -> Table:
    table = listing("setting", "value", "why")
    for name, setting in config.settings.items():
        table.add_row(name, setting.value, setting.why)
    return table


def _left_out(config: NamedConfig) -> Table:
    table = listing("setting", "why")
    for name, why in config.left_out.items():
        table.add_row(name, why)
    return table


PLUGIN = command
