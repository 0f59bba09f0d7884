"""What was observed to rows, and rows to what was observed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from dbhone.measurement.series import Kind, Observation, Quantity, Series


def series_values(invocation_id: int, series: Series) -> dict[str, Any]:
    """Return the row of a series: milliseconds, and no more digits than a reading deserves."""
    return {
        "invocation_id": invocation_id,
        "quantity": series.quantity.name,
        "unit": series.quantity.unit,
        "kind": series.quantity.kind,
        "seconds": [round(each, 3) for each in series.at],
        "readings": [_short(each) for each in series.values],
    }


def _short(value: float) -> float:
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded.is_integer() else rounded


def observation_of(rows: Sequence[sa.RowMapping]) -> Observation:
    """Return what the rows of ``series`` of one invocation, joined with it, are."""
    return Observation(
        block=rows[0]["block"],
        set=rows[0]["set_name"],
        subject=rows[0]["name"],
        series=tuple(_series_of(row) for row in rows),
    )


def _series_of(row: sa.RowMapping) -> Series:
    return Series(
        quantity=Quantity(name=row["quantity"], unit=row["unit"], kind=Kind(row["kind"])),
        at=tuple(row["seconds"]),
        values=tuple(float(each) for each in row["readings"]),
    )
