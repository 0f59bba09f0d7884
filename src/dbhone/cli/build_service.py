"""What makes builds for a command, and shows meanwhile what it does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from dbhone.cli.context import Context
from dbhone.cli.progress import shown
from dbhone.experiment.execution.builds import BuildService
from dbhone.session import Session


@contextlib.contextmanager
def build_service(
    context: Context, session: Session, *, refresh: bool = False, jobs: int | None = None
) -> Iterator[BuildService]:
    """Yield what makes builds in a session, and show what it does while the context lasts."""
    with shown(context.err, verbose=context.verbose) as listen:
        yield BuildService(session, listen, refresh=refresh, jobs=jobs)
