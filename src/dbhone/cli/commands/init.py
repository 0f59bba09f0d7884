"""``hone init [DBMS] [QUESTION]``: writes an experiment file to begin with."""

from __future__ import annotations

import inspect
from pathlib import Path

import click

from dbhone.cli import completing
from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import in_command, write_output
from dbhone.cli.options import force_option, output_option
from dbhone.experiment.plan.starters import questions, starter_text
from dbhone.source.known_versions import known_versions


@hone_command(
    "init",
    Task.START,
    "hone init",
    "hone init postgresql builds",
    "hone init postgresql queries",
    "hone init mysql versions --output mine.toml",
)
@click.argument("dbms", default="sqlite", shell_complete=completing.systems)
@click.argument("question", default="builds", shell_complete=completing.questions)
@output_option("File to write.  [default: DBMS-QUESTION.toml]")
@force_option
@pass_context
def command(context: Context, dbms: str, question: str, output: Path | None, force: bool) -> None:
    """Write an experiment file with comments that asks QUESTION of DBMS.

    Without QUESTION it asks which build is fastest.
    """
    text = starter_text(dbms, question, known_versions(context.home))
    path = output or Path(f"{dbms}-{question}.toml")
    write_output(path, text, force=force)
    name = in_command(path)
    context.tell(
        f"wrote {path}: 'hone plan {name}' shows what it would do and what it lacks,"
        f" 'hone run {name}' does it"
    )


_WIDTH = max(map(len, questions()))
_LINES = "\n".join(f"  {name:<{_WIDTH}}  {words}" for name, words in questions().items())
command.help = f"{inspect.cleandoc(command.help or '')}\n\n\b\nQuestions:\n{_LINES}"

PLUGIN = command
