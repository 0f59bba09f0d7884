"""What a server counts of itself, and how it is asked: data, as everything of a DBMS is."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

NOTHING = re.compile(r"(?!)")
"""Matches nothing."""
BACKGROUND = "background "
"""What the names of waits begin with that are not a client session's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One counter. A level may rise and fall; any other counter only grows."""

    name: str
    value: float
    level: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterSource:
    """One of a server's own tables of counters.

    ``name`` is what stands before the dot in an experiment; ``counts`` says what there is.
    ``query`` answers with a row for each counter: its name and its value. Those whose whole name
    matches ``levels`` are levels. ``among`` is added to ask for some of them only: ``{names}``
    in it becomes their names, quoted. A value is multiplied by ``factor`` and then has this
    ``unit``; ``1`` is a bare number.

    ``enable`` is a statement that makes the server count ``{name}``, if it has to be told.
    ``settings`` are those without which it counts nothing; ``{prefix}`` in a value becomes what
    the names that are asked for begin with. Of a ``passing`` source the counters come and go:
    each is how many there are at the moment, and one that is not in the answer is nought.
    """

    name: str
    counts: str
    query: str
    levels: re.Pattern[str] = NOTHING
    among: str = ""
    factor: float = 1.0
    unit: str = "1"
    enable: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    passing: bool = False

    def statement(self, names: Sequence[str]) -> str:
        """Return the query for some of the counters."""
        return self.query + self.among.replace("{names}", ", ".join(map(quoted, names)))

    def enabling(self, name: str) -> str:
        """Return the statement that makes the server count it."""
        return self.enable.replace("{name}", name)

    def read(self, rows: Iterable[Sequence[object]]) -> tuple[Reading, ...]:
        """Return what an answer says; what is not a number is left out."""
        readings = (self._reading(row) for row in rows)
        return tuple(reading for reading in readings if reading is not None)

    def _reading(self, row: Sequence[object]) -> Reading | None:
        name, value = str(row[0]), _number(row[1])
        if value is None:
            return None
        level = self.levels.fullmatch(name) is not None
        return Reading(name=name, value=value * self.factor, level=level)


def quoted(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _number(value: object) -> float | None:
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
