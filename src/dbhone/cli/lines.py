"""What the command line reads and writes: lines with a head, tables, lists of words, and files.

Our consoles take no markup: titles, paths and messages come from outside, and a bracket in them is
a bracket.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from rich.table import Table
from rich.text import Text

from dbhone.cli.context import Context
from dbhone.errors import UsageError, disk_full
from dbhone.files import write_whole

_HEAD = 9
"""The length of the longest head, ``calibrate``."""


def headed(head: str, text: str, style: str = "bold") -> Text:
    """Return a line with its head in a style."""
    return Text.assemble((head, style), "  ", text)


def labelled(head: str, text: str, style: str = "bold") -> Text:
    """Return one of the lines that tell how far hone is: their heads end below each other."""
    return headed(f"{head:>{_HEAD}}", text, style)


def words(text: str | None) -> tuple[str, ...]:
    """Return the words of ``A,B``; none for None. Raises UsageError for a text without any."""
    parts = _split(text)
    if text is not None and not parts:
        raise UsageError(f"'{text}' names nothing", hint="write A,B, or leave the option out")
    return parts


def numbers(text: str | None) -> tuple[int, ...]:
    """Return the numbers of clients of ``1,4,16``; none for None. Raises UsageError."""
    parts = _split(text)
    if text is not None and not (parts and all(word.isdecimal() for word in parts)):
        raise UsageError(
            f"'{text}' is not a list of numbers of clients", hint="write them as 1,4,16"
        )
    return tuple(int(word) for word in parts)


def _split(text: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def facts(values: Iterable[tuple[str, str]]) -> Table:
    """Return names with what is said of each, a line for each."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in values:
        table.add_row(name, value)
    return table


def in_command(path: Path) -> str:
    """Return a path as a word of a command that a sentence has in single quotes.

    Double quotes hold what needs any, so that the whole can be copied.
    """
    word = shlex.quote(str(path))
    return word if word == str(path) or set(str(path)) & set('"$`\\!') else f'"{path}"'


def print_json(context: Context, value: object) -> None:
    """Print a value as JSON, for programs."""
    context.show_line(json.dumps(value, indent=2, ensure_ascii=False))


_HYPHEN = Path("-")


def check_output(path: Path | None, *, force: bool) -> None:
    """Raise UsageError if a file exists and may not be overwritten, or has no folder to be in.

    Anything but a regular file, such as /dev/stdout, may be written to. A hyphen is refused.
    """
    if path == _HYPHEN:
        raise UsageError(
            "'-' (standard output) is not supported", hint="name a file, or /dev/stdout"
        )
    if path is None:
        return
    try:
        exists, has_folder = path.is_file(), path.parent.exists()
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {os.strerror(error.errno or 0)}", hint="name another file"
        ) from error
    if exists and not force:
        raise UsageError(
            f"{path} exists already", hint="name another file, or overwrite it with --force"
        )
    if not has_folder:
        raise UsageError(
            f"cannot write {path}: there is no folder {path.parent}", hint="name another file"
        )


def write_output(path: Path, content: str | bytes, *, force: bool) -> None:
    """Write a file where the user wants it.

    Raises UsageError where that cannot be, and for a file that exists and may not be overwritten.
    A link stays, and so does what is no regular file: what it leads to is written.
    """
    check_output(path, force=force)
    try:
        _write(path, content)
    except OSError as error:
        if disk_full(error, "writing") is not None:
            raise
        raise UsageError(
            f"cannot write {path}: {error.strerror}", hint="name another file"
        ) from error


def _write(path: Path, content: str | bytes) -> None:
    if path.exists() and not path.is_file():
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    else:
        write_whole(Path(os.path.realpath(path)), content)
