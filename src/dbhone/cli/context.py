"""What every command shares: the home folder and where to print.

It imports nothing heavy: `hone --help` does not wait for a database library.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

from dbhone.home import Home, Session, locate, open_session


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The command line's general options, and where to print: results and messages."""

    home_option: Path | None
    debug: bool
    out: Console
    err: Console

    @property
    def home(self) -> Home:
        """The home folder that was chosen."""
        return locate(self.home_option)

    @contextlib.contextmanager
    def session(self) -> Iterator[Session]:
        """Be a session in the home folder."""
        with open_session(self.home) as session:
            yield session


pass_context = click.make_pass_decorator(Context)
