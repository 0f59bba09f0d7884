"""Workload files that a test writes, without a log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from dbhone.workload.workload_file import Header, StatementKind, Template, Unread, written

Asked = tuple[StatementKind, str, Sequence[str | None]]


def workload_of(
    folder: Path,
    protocol: str,
    transactions: Sequence[Sequence[Asked]],
    databases: Mapping[str, int] = MappingProxyType({}),
) -> Path:
    """Write a workload of two equal halves, each of these transactions."""
    asked = [one for transaction in transactions for one in transaction]
    texts = {text: at for at, text in enumerate(dict.fromkeys(text for _, text, _ in asked))}
    kinds = {text: kind for kind, text, _ in asked}
    path = folder / "a.workload"
    with written(path) as writer:
        for began in (1, 3):
            for statements in transactions:
                line = [[texts[text], 1, 0, list(values)] for _, text, values in statements]
                writer.line(json.dumps([[0, began, line]]) + "\n")
        writer.header = Header(
            protocol=protocol,
            anonymised=False,
            began="2026-01-01",
            first=1,
            last=3,
            cut=2,
            timed=True,
            sessions=1,
            transactions=2 * len(transactions),
            statements=2 * len(asked),
            databases=dict(databases),
            left_out={},
            unread=Unread(),
            templates=tuple(
                Template(
                    pieces=(text,),
                    kind=kinds[text],
                    executions=2,
                    microseconds=2,
                    errors=0,
                    inexact=False,
                )
                for text in texts
            ),
        )
    return path
