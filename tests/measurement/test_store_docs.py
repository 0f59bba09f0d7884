"""What docs/store.md says is so."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from dbhone.measurement.conditions import Condition
from dbhone.measurement.metric import FIGURES
from dbhone.measurement.series import WRITTEN, Series
from dbhone.measurement.store import Store
from dbhone.measurement.tables import METADATA
from tests.measurement.store_records import a_slice, begin, invocation

TEXT = (Path(__file__).parents[2] / "docs/store.md").read_text()
EXAMPLES = re.findall(r"```sql\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_of_sql_answer(example: str, tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        written = Series(quantity=WRITTEN, at=(1.0, 2.0), values=(0.0, 4096.0))
        run_id = begin(store)
        for name in ("rel", "pgo"):
            kept = replace(invocation(1, name), series=(written,), slices=(a_slice(0),))
            store.record(run_id, kept)
    connection = sqlite3.connect(tmp_path / "store.db")
    answer = connection.execute(example).fetchall()
    connection.close()
    assert answer


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 4


def test_every_table_every_figure_and_every_condition_is_told() -> None:
    figures = (metric.name for metric in FIGURES)
    names = {*METADATA.tables, *figures, *(str(each) for each in Condition)}
    assert {name for name in names if f"`{name}`" not in TEXT} == set()
