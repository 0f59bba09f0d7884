"""A store that is empty, and a run in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dbhone.measurement.store import Store
from tests.measurement.store_records import begin


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store.db") as store:
        yield store


@pytest.fixture
def run_id(store: Store) -> int:
    return begin(store)
