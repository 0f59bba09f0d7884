"""How help is laid out: commands by task, whole summaries, and examples that can be copied."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

import click


class Task(StrEnum):
    """What a user wants from a command; help lists the commands of each together."""

    START = "Start"
    MEASURE = "Measure"
    LOOK = "Look at results"
    MANAGE = "Manage"


class HoneCommand(click.Command):
    """A command with the task that it is for, and examples of its use."""

    def __init__(self, *args: Any, task: Task, examples: tuple[str, ...], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.task = task
        self.examples = examples

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, each on a line of its own, whatever its length."""
        del ctx
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{' ' * formatter.current_indent}{example}\n")


def hone_command(
    name: str, task: Task, *examples: str
) -> Callable[[Callable[..., Any]], HoneCommand]:
    """Return the decorator that makes a function the command of this name, with its examples."""
    return click.command(name, cls=HoneCommand, task=task, examples=examples)


def write_commands(formatter: click.HelpFormatter, commands: Mapping[str, click.Command]) -> None:
    """Write the list of commands by task. A long summary continues below itself."""
    width = max(len(name) for name in commands)
    room = max(20, formatter.width - width - 6)
    for task in Task:
        with formatter.section(task.value):
            for name, command in commands.items():
                if getattr(command, "task", Task.MANAGE) is task:
                    first, *others = textwrap.wrap(summary_of(command), room)
                    formatter.write(f"  {name:<{width}}  {first}\n")
                    for line in others:
                        formatter.write(f"  {'':<{width}}  {line}\n")


def summary_of(command: click.Command) -> str:
    """Return the first sentence of a command's help, whole."""
    return command.get_short_help_str(limit=10_000)
