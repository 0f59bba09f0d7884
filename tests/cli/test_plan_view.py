"""How a plan is printed: one row for the verifications of all subjects."""

from __future__ import annotations

import pytest

from dbhone.cli import plan_view
from tests.experiment.experiment_files import GOOD, SMOKE
from tests.experiment.planned import planned

TOGETHER = "3 subjects: same results as the base, consistent data"


@pytest.mark.parametrize(
    ("text", "row"), [(GOOD, TOGETHER), (SMOKE, f"{TOGETHER}, verified at the grade smoke")]
)
def test_the_row_of_all_verifications_names_their_grade(text: str, row: str) -> None:
    table = plan_view._table(planned(text))
    assert row in list(table.columns[2].cells)
