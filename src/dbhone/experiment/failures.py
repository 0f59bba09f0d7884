"""How often subjects failed in a row, and from when on they are broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dbhone.measurement.store import Done

_MOST = 1
"""One failure may be chance: the machine was short of something, or the client gave up."""


class ConsecutiveFailures:
    """The failures in a row of each subject, and those of each of its sets.

    A set comes once in a block. So a subject that fails on the same set in every block succeeds on
    others in between, and hardly ever fails twice in a row on whatever comes next. ``done`` are the
    invocations of earlier sessions, in their order.
    """

    def __init__(self, done: Iterable[Done]) -> None:
        self._in_a_row: Counter[tuple[str, str | None]] = Counter()
        for invocation in done:
            failed = invocation.failure is not None
            self.count(invocation.subject, invocation.set, failed=failed)

    def count(self, subject: str, set_name: str, *, failed: bool) -> bool:
        """Count an invocation; return whether its subject has failed too often by now."""
        keys = ((subject, None), (subject, set_name))
        for key in keys:
            self._in_a_row[key] = self._in_a_row[key] + 1 if failed else 0
        return any(self._in_a_row[key] > _MOST for key in keys)
