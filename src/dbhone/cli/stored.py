"""The store of the home folder, and how runs are named on the command line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from dbhone.cli.context import Context
from dbhone.errors import UsageError
from dbhone.home import make_root
from dbhone.measurement.record import Run
from dbhone.measurement.store import Store


@contextlib.contextmanager
def open_store(context: Context) -> Iterator[Store]:
    """Open the store of the home folder; make it if there is none."""
    home = context.home
    make_root(home)
    with Store.open(home.database) as store:
        yield store


def find_run(store: Store, selector: str) -> Run:
    """Return the run that ``selector`` names: its number, or ``last``.

    Raises UsageError when there is none such.
    """
    newest = store.last_run_id()
    if newest is None:
        raise UsageError("there are no runs yet", hint="'hone try' makes one")
    if selector == "last":
        return store.run(newest)
    if not selector.isdigit():
        raise UsageError(
            f"'{selector}' is not a run", hint=f"give a number up to {newest}, or last"
        )
    return store.run(int(selector))
