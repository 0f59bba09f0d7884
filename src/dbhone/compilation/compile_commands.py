"""The record of a build's compile commands: each call of the compiler, as our wrapper saw it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from dbhone.errors import BuildError
from dbhone.untrusted_files import open_untrusted

COMMANDS = "commands.jsonl"
"""The file of the record, in a build's folder."""
_LONGEST_RECORD = 1 << 27
"""Bytes of the file of compile commands; those of MySQL 8.0 take 5 MB."""
_ASSEMBLY = (".S", ".s")
_TARGET_FOLDER = re.compile(r"CMakeFiles/([^/]+)\.dir/")
"""Where CMake puts the objects of one target."""

_Seconds: TypeAlias = Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False)]
"""Since the epoch, too. A build can write to the record: no sum of these overflows."""


class CompileCommand(BaseModel):
    """One call of the compiler; times in seconds, memory in bytes.

    ``program`` is the name of the compiler. ``folder`` is where it was called, relative to the
    build's folder.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    phase: str
    began: _Seconds
    seconds: _Seconds
    cpu: _Seconds
    memory: int
    status: int
    program: str
    folder: str = "."
    argv: tuple[str, ...]

    @property
    def compiles(self) -> bool:
        """Whether it turned a source file into an object, rather than linked.

        Assembly is not compiled: there is nothing in it to optimise.
        """
        assembles = any(word.endswith(_ASSEMBLY) for word in self.argv)
        return "-c" in self.argv and self.status == 0 and not assembles

    @property
    def links(self) -> bool:
        """Whether it linked objects to the file that it names."""
        return "-c" not in self.argv and "-o" in self.argv[:-1] and self.status == 0

    @property
    def tells_missing_profile(self) -> bool:
        """Whether the compiler would say that it found no profile for the file."""
        warnings = [word for word in self.argv if word.endswith("missing-profile")]
        return not warnings or warnings[-1] == "-Wmissing-profile"

    @property
    def output(self) -> str:
        """The file that it made, or what it was about if it does not say, in the build's folder."""
        if "-o" in self.argv[:-1]:
            name = self.argv[self.argv.index("-o") + 1]
        else:
            name = next((word for word in reversed(self.argv) if not word.startswith("-")), "?")
        return normpath(join(self.folder, name))

    @property
    def build_target(self) -> str:
        """The target of CMake that it belongs to; else the folder of its output.

        A link makes the target whose objects it is given first.
        """
        words = (word for word in self.argv if not word.startswith("-"))
        named = filter(None, map(_TARGET_FOLDER.search, (self.output, *words)))
        own = next(named, None)
        return own[1] if own else dirname(self.output) or "."


def read_commands(path: Path) -> tuple[CompileCommand, ...]:
    """Return the records of a file of compile commands; an absent file has none.

    Raises BuildError for a file to which the build itself wrote.
    """
    lines = _record(path).decode("utf-8", "replace").splitlines()
    try:
        return tuple(CompileCommand.model_validate(json.loads(line)) for line in lines)
    except (ValueError, RecursionError):
        raise _forged() from None


def count_commands(path: Path) -> int:
    """Return how many compile commands a file has records of. Raises as ``read_commands`` does."""
    return _record(path).count(b"\n")


def _record(path: Path) -> bytes:
    """Return the bytes of a file of compile commands, to which the build could write."""
    try:
        with open_untrusted(path) as file:
            content = file.read(_LONGEST_RECORD + 1)
    except FileNotFoundError:
        return b""
    if len(content) > _LONGEST_RECORD:
        raise _forged()
    return content


def _forged() -> BuildError:
    return BuildError(
        "the build wrote to hone's record of its compile commands: do not trust its source"
    )
