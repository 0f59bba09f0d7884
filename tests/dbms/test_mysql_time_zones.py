"""What is written into a server's tables of time zones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from dbhone.dbms._mysql_time_zones import time_zone_statements

ROW = re.compile(r"\(([^()]*)\)")


def rows(table: str) -> Iterator[list[str]]:
    """Yield the values of each row that is put into a table."""
    for statement in time_zone_statements():
        head, _, values = statement.partition(" VALUES ")
        if head == f"INSERT INTO mysql.{table}":
            yield from (
                [each.strip("' ") for each in row.split(",")] for row in ROW.findall(values)
            )


def offset_in(name: str, moment: datetime) -> int:
    """Return the seconds east of UTC, read from the rows as a server reads its tables."""
    (zone,) = (number for named, number in rows("time_zone_name") if named == name)
    offsets = {kind: int(offset) for at, kind, offset, *_ in rows(KINDS) if at == zone}
    changes = [(int(at), kind) for of, at, kind in rows("time_zone_transition") if of == zone]
    began = [kind for at, kind in changes if at <= moment.timestamp()]
    return offsets[began[-1] if began else "0"]


KINDS = "time_zone_transition_type"


@pytest.mark.parametrize(
    ("name", "moment", "hours"),
    [
        ("Europe/Berlin", (2024, 3, 31, 0, 59), 1),
        ("Europe/Berlin", (2024, 3, 31, 1, 0), 2),
        ("Europe/Berlin", (2037, 10, 25, 1, 0), 1),
        ("America/New_York", (1974, 1, 6, 7, 0), -4),
        ("Asia/Kolkata", (2000, 1, 1, 0, 0), 5.5),
        # Summer time pauses from 10 March to 14 April 2024.
        ("Africa/Casablanca", (2024, 3, 9, 12, 0), 1),
        ("Africa/Casablanca", (2024, 3, 20, 12, 0), 0),
        ("Africa/Casablanca", (2024, 4, 20, 12, 0), 1),
        ("UTC", (2024, 1, 1, 0, 0), 0),
    ],
)
def test_a_zone_has_its_offset_at_each_moment(
    name: str, moment: tuple[int, ...], hours: float
) -> None:
    year, month, day, hour, minute = moment
    at = datetime(year, month, day, hour, minute, tzinfo=UTC)
    assert offset_in(name, at) == hours * 3600


def test_a_server_that_makes_its_tables_can_read_each_statement() -> None:
    assert max(map(len, time_zone_statements())) < 20_000
    assert not any("\n" in statement for statement in time_zone_statements())


def test_each_zone_is_numbered_once() -> None:
    zones = [number for number, _ in rows("time_zone")]
    assert len(zones) == len(set(zones)) > 300
    assert zones == [number for _, number in rows("time_zone_name")]
