"""The same option has the same names in every command."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from dbhone import registry
from tests.cli.commands import hone

COMMANDS = registry.load_all("dbhone.cli.commands", click.Command, what="command")


def options(command: str) -> set[str]:
    return {name for parameter in COMMANDS[command].params for name in parameter.opts}


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "apt:sqlite3", "apt:sqlite3#o3"),
        ("tune", "apt:sqlite3"),
        ("history", "mysql"),
    ],
)
def test_a_plan_and_a_file_are_not_wanted_at_once(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = hone(tmp_path / "home", *words, "--plan", "-o", "x.toml")
    assert done.returncode == 2
    assert "--plan and --output do not go together" in done.stderr
    assert not (tmp_path / "x.toml").exists()


@pytest.mark.parametrize("option", ["--sets=main,cte", "--plan", "--output=x.toml", "--mix=a,b"])
def test_what_is_only_shown_once_more_takes_no_options_of_measuring(
    tmp_path: Path, option: str
) -> None:
    done = hone(tmp_path / "home", "crosstrain", "last", option)
    assert done.returncode == 2
    assert f"{option.partition('=')[0]} is for a SOURCE" in done.stderr


@pytest.mark.parametrize("command", ["plan", "run", "try"])
def test_what_says_how_to_measure_can_be_said_to_the_plan_as_to_the_run(command: str) -> None:
    assert {"--budget", "--target", "--seed"} <= options(command)


@pytest.mark.parametrize("command", [name for name in COMMANDS if "--output" in options(name)])
def test_an_output_has_its_short_name_everywhere(command: str) -> None:
    assert "-o" in options(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_options_names_options_of_the_same_command(command: str) -> None:
    helps = [getattr(parameter, "help", None) or "" for parameter in COMMANDS[command].params]
    named = set(re.findall(r"--[a-z][a-z-]+", " ".join(helps)))
    assert named <= options(command)
