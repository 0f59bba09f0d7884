"""Counts what logs hold, besides the transactions themselves."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

_MOST_MOMENTS = 20_000
_FAST = 1_000
"""Some statement of a log that has all of them took less: the beginning of a transaction, say."""
_ENOUGH = 200
"""So many statements that one of them should have been fast."""
LONG = 30_000_000
"""A client may still be in a statement that takes longer when its slice ends."""


@dataclass(slots=True)
class Counted:
    """What was found in the logs, besides the transactions themselves. Times are microseconds."""

    sessions: int = 0
    transactions: int = 0
    statements: int = 0
    first: int | None = None
    last: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    perhaps_cut: int = 0
    """Parameters that end as the server marks those that it cut."""
    databases: Counter[str] = field(default_factory=Counter)
    sampled: int = 1
    """The server logged one of so many statements or sessions."""
    long: int = 0
    """Statements that took longer than ``LONG``."""
    _timed: int = 0
    _shortest: int | None = None
    _width: int = 1_000
    _began: Counter[int] = field(default_factory=Counter)

    def add(self, began: int, statements: int) -> None:
        """Count a transaction."""
        self.first = began if self.first is None else min(self.first, began)
        self.last = max(self.last, began)
        self.transactions += 1
        self.statements += statements
        self._began[began // self._width] += 1
        if len(self._began) > _MOST_MOMENTS:
            self._width *= 2
            moments, self._began = self._began, Counter()
            for moment, count in moments.items():
                self._began[moment // 2] += count

    def took(self, duration: int) -> None:
        """Count the time of a statement."""
        self._timed += 1
        self.long += duration > LONG
        if self._shortest is None or duration < self._shortest:
            self._shortest = duration

    def threshold(self) -> int | None:
        """Return the shortest time if the log seems to have only statements above a threshold."""
        only_slow = self._timed >= _ENOUGH and (self._shortest or 0) >= _FAST
        return self._shortest if only_slow else None

    def middle(self) -> int:
        """Return the moment before which half of the transactions began, about."""
        seen = 0
        for moment in sorted(self._began):
            seen += self._began[moment]
            if seen * 2 >= self.transactions:
                return min((moment + 1) * self._width, self.last)
        return self.last
