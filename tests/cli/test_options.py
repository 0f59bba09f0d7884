"""The same option has the same names in every command."""

from __future__ import annotations

import click
import pytest

from dbhone import registry

COMMANDS = registry.load_all("dbhone.cli.commands", click.Command, what="command")


def options(command: str) -> set[str]:
    return {name for parameter in COMMANDS[command].params for name in parameter.opts}


@pytest.mark.parametrize("command", ["plan", "run", "try"])
def test_what_says_how_to_measure_can_be_said_to_the_plan_as_to_the_run(command: str) -> None:
    assert {"--budget", "--target", "--seed"} <= options(command)


@pytest.mark.parametrize("command", [name for name in COMMANDS if "--output" in options(name)])
def test_an_output_has_its_short_name_everywhere(command: str) -> None:
    assert "-o" in options(command)
