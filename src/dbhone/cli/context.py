"""What every command shares: the home folder, its store, and where to print.

It imports nothing heavy: `hone --help` does not wait for a database library.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from dbhone.errors import UsageError
from dbhone.home import ROOTS_HOME, Home, check_access, has_roots_runs, locate
from dbhone.measurement.record import Run
from dbhone.measurement.store import Store
from dbhone.session import Session, open_session, open_traceless_session


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The command line's general options, and where to print: results and messages."""

    home_option: Path | None
    debug: bool
    verbose: bool = False
    out: Console
    err: Console

    @property
    def home(self) -> Home:
        """The home folder that was chosen. Raises MachineError for that of another user."""
        home = locate(self.home_option)
        check_access(home)
        return home

    def tell(self, message: str | Text) -> None:
        """Print a message as one line, however long it is."""
        self.err.print(message, soft_wrap=True)

    def insist(self, message: str) -> None:
        """Print a message as one line, even if messages are not wanted."""
        quiet, self.err.quiet = self.err.quiet, False
        self.tell(message)
        self.err.quiet = quiet

    def show_line(self, result: str | Text) -> None:
        """Print a result as one line, however long it is."""
        self.out.print(result, soft_wrap=True)

    @contextlib.contextmanager
    def session(self) -> Iterator[Session]:
        """Be a session in the home folder, which is made if it does not exist."""
        if not self.home.root.exists():
            self.tell(f"making the home folder {self.home.root}")
        with open_session(self.home) as session:
            yield session

    def traceless_session(self) -> contextlib.AbstractContextManager[Session]:
        """Return a session in the home folder; a temporary one stands for a home that is not there.

        It is for commands that make nothing in it: those that only look, and `uninstall`.
        """
        return open_traceless_session(self.home)


pass_context = click.make_pass_decorator(Context)


@contextlib.contextmanager
def open_store(context: Context) -> Iterator[Store]:
    """Open the store of the home folder. Raises UsageError if there is none."""
    home = context.home
    if not home.database.is_file():
        raise UsageError(
            f"there are no runs yet in the home folder {home.root}",
            hint=f"'hone try' makes one; --home or DBHONE_HOME names another folder{roots_runs()}",
        )
    with Store.open(home.database) as store:
        yield store


def roots_runs() -> str:
    """Return where root's runs are, to end a hint for who has none; empty if root has none."""
    if not has_roots_runs():
        return ""
    return f"; root's runs are in {ROOTS_HOME}: 'sudo hone runs' lists them"


def find_run(store: Store, selector: str) -> Run:
    """Return the run that ``selector`` names: its number, or ``last``.

    Raises UsageError when there is none such.
    """
    newest = store.last_run_id()
    if newest is None:
        raise UsageError("there are no runs yet", hint=f"'hone try' makes one{roots_runs()}")
    if selector == "last":
        return store.run(newest)
    digits = selector.lstrip("0")
    if not (selector.isascii() and selector.isdecimal()):
        raise UsageError(
            f"'{selector}' is not a run", hint=f"give a number up to {newest}, or last"
        )
    if len(digits) > len(str(newest)):
        raise UsageError(f"there is no run {selector}", hint=f"the newest is run {newest}")
    return store.run(int(digits or "0"))
