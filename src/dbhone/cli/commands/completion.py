"""``hone completion SHELL``: what makes a shell complete hone's words."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command

_VARIABLE = "_HONE_COMPLETE"


@hone_command(
    "completion",
    Task.MANAGE,
    "hone completion bash >>~/.bash_completion",
    "hone completion zsh >~/.zfunc/_hone        # in a folder of your fpath",
    "hone completion fish >~/.config/fish/completions/hone.fish",
)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@pass_context
def command(context: Context, shell: str) -> None:
    """Print the script with which SHELL completes commands, options, runs, experiments and sets.

    The script asks the `hone` of your PATH, so it must be there: install hone, or link the
    clone's `hone` into a folder of the PATH.
    """
    from dbhone.cli.main import hone  # noqa: PLC0415 - the main module loads this one

    maker = get_completion_class(shell)
    assert maker is not None, "click knows these shells"
    context.show_line(maker(hone, {}, "hone", _VARIABLE).source())


PLUGIN = command
