"""Says where in an experiment file something stands, and what is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TypeVar

from pydantic_core import ErrorDetails

from dbhone.errors import ExperimentError, UsageError, nearest
from dbhone.experiment.schema import SECTIONS

T = TypeVar("T")
W = TypeVar("W")


class Locator:
    """Says where in a file something stands."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text

    def at(self, *keys: str) -> str:
        """Return ``FILE:LINE: key.path``; the line only when the key stands on just one."""
        word = re.escape(keys[-1])
        pattern = re.compile(rf"^\s*\[.*\b{word}\s*\]|(?:^|[{{,])\s*\"?{word}\"?\s*=", re.MULTILINE)
        found = [match.end() for match in pattern.finditer(self.text)]
        line = f":{self.text.count(chr(10), 0, found[0]) + 1}" if len(found) == 1 else ""
        return f"{self.name}{line}: {'.'.join(keys)}"

    def meant(self, parse: Callable[[W], T], text: W, *keys: str) -> T:
        """Parse a word, or words; say where in the file a complaint belongs."""
        try:
            return parse(text)
        except UsageError as error:
            message = f"{self.at(*keys)}: {error.message}"
            raise ExperimentError(message, hint=error.hint) from None

    def refusal(self, error: ErrorDetails) -> ExperimentError:
        """Return one of pydantic's findings in our words."""
        keys = tuple(str(part) for part in error["loc"])
        where = self.at(*keys) if keys else self.name
        if error["type"] == "extra_forbidden":
            known = _known_keys(keys)
            return ExperimentError(f"{where}: there is no such key", hint=nearest(keys[-1], known))
        if error["type"] == "missing":
            return ExperimentError(f"{self.name}: '{'.'.join(keys)}' is missing")
        if error["type"] in ("tuple_type", "list_type"):
            return ExperimentError(f"{where}: give a list, such as [{_written(error)}]")
        message = error["msg"].removeprefix("Value error, ")
        return ExperimentError(f"{where}: {message[0].lower()}{message[1:]}")


def _written(error: ErrorDetails) -> str:
    """Return the value that was given, as it stands in a file."""
    return json.dumps(error["input"], default=str)


def _known_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    sections = [part for part in keys[:-1] if part in SECTIONS]
    return tuple(SECTIONS[sections[-1] if sections else ""].model_fields)
