"""Slices to rows, and rows to slices."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from dbhone.measurement.record import Slice, Sliced


def slice_values(invocation_id: int, one: Slice) -> dict[str, Any]:
    """Return the row of a slice, with its times in microseconds."""
    return {
        "invocation_id": invocation_id,
        "round_number": one.round,
        "position": one.position,
        "began": round(one.began, 6),
        "seconds": round(one.seconds, 6),
        "operations": one.operations,
        "errors": one.errors,
        "counted": one.counted,
    }


def sliced_of(rows: Sequence[sa.RowMapping]) -> Iterator[Sliced]:
    """Yield what rows of ``slices``, joined with their invocations and in their order, are."""
    for _, each in itertools.groupby(rows, lambda row: row["id"]):
        own = list(each)
        yield Sliced(
            block=own[0]["block"],
            set=own[0]["set_name"],
            subject=own[0]["name"],
            slices=tuple(_slice_of(row) for row in own),
        )


def _slice_of(row: sa.RowMapping) -> Slice:
    return Slice(
        round=row["round_number"],
        position=row["position"],
        began=row["began"],
        seconds=row["seconds"],
        operations=row["operations"],
        errors=row["errors"],
        counted=row["counted"],
    )
