"""The tables of time zones: without them a server of MySQL's kind knows no zone by its name.

``CONVERT_TZ`` is NULL then, and a ``default_time_zone`` with a name ends the start. A server whose
users rely on names has its tables from its machine, by ``mysql_tzinfo_to_sql``.
"""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from zoneinfo import ZoneInfo

_Rule = tuple[int, bool, str]
"""Seconds east of UTC, whether that is summer time, and its abbreviation."""
_Change = tuple[int, _Rule]
"""A moment, in seconds since 1970, from which on another rule holds."""
_END = 2**31 - 1
"""The last moment of the tables."""
_STEP = 27 * 86400
"""Seconds in which a rule changes once at most: for a month of fasting summer time pauses."""
_ROWS = 200
"""Of a statement: a server that makes its tables reads 20,000 letters at once."""


@cache
def time_zone_statements() -> tuple[str, ...]:
    """Return what fills the empty tables with this machine's time zones.

    It is nothing on a machine without a database of time zones.
    """
    names, kinds, changes = list[str](), list[str](), list[str]()
    for zone, name in enumerate(sorted(zoneinfo.available_timezones()), start=1):
        usual, later = _changes(ZoneInfo(name))
        rules = list(dict.fromkeys((usual, *(rule for _, rule in later))))
        names.append(f"'{name}', {zone}")
        kinds += (
            f"{zone}, {number}, {offset}, {int(is_summer)}, '{abbreviation}'"
            for number, (offset, is_summer, abbreviation) in enumerate(rules)
        )
        changes += (f"{zone}, {moment}, {rules.index(rule)}" for moment, rule in later)
    zones = [f"{zone}, 'N'" for zone in range(1, len(names) + 1)]
    return (
        *_inserted("time_zone", zones),
        *_inserted("time_zone_name", names),
        *_inserted("time_zone_transition_type", kinds),
        *_inserted("time_zone_transition", changes),
    )


def _inserted(table: str, rows: Sequence[str]) -> Iterator[str]:
    for first in range(0, len(rows), _ROWS):
        values = ", ".join(f"({row})" for row in rows[first : first + _ROWS])
        yield f"INSERT INTO mysql.{table} VALUES {values}"


def _changes(zone: ZoneInfo) -> tuple[_Rule, list[_Change]]:
    """Return the rule that held in 1970, and each change since."""
    usual = before = _rule(zone, 0)
    changes = list[_Change]()
    for moment in (*range(_STEP, _END, _STEP), _END):
        rule = _rule(zone, moment)
        if rule != before:
            changes.append((_first_moment(zone, before, moment - _STEP, moment), rule))
            before = rule
    return usual, changes


def _first_moment(zone: ZoneInfo, before: _Rule, low: int, high: int) -> int:
    """Return when the rule changed: it was the one ``before`` at ``low``, and not at ``high``."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _rule(zone, middle) == before else (low, middle)
    return high


def _rule(zone: ZoneInfo, moment: int) -> _Rule:
    at = datetime.fromtimestamp(moment, UTC).astimezone(zone)
    offset = at.utcoffset()
    assert offset is not None
    return int(offset.total_seconds()), bool(at.dst()), at.tzname() or ""
