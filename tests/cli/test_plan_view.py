"""How a plan is printed: one row for the verifications of all subjects."""

from __future__ import annotations

import pytest

from dbhone.cli import plan_view
from tests.experiment.test_load import GOOD
from tests.experiment.test_planning import Known, planned
from tests.experiment.test_verification import SMOKE

TOGETHER = "3 subjects: same results as the base, consistent data"


@pytest.mark.parametrize(
    ("text", "row"), [(GOOD, TOGETHER), (SMOKE, f"{TOGETHER}, verified at the grade smoke")]
)
def test_the_row_of_all_verifications_names_their_grade(text: str, row: str) -> None:
    table = plan_view._table(planned(text))
    assert row in list(table.columns[2].cells)


@pytest.mark.parametrize(
    ("source", "expected"),
    [("git:https://example.org/tree@1", "done"), ("dir:.", "done, if the source is unchanged")],
)
def test_a_build_of_a_folder_is_done_only_if_the_folder_is_unchanged(
    source: str, expected: str
) -> None:
    text = f'''title = "t"
base = "rel"
[sources]
tree = "{source}"
[subjects]
rel = {{ dbms = "sqlite", source = "tree", variant = "rel" }}
lto = {{ like = "rel", variant = "lto" }}
[workload]
suite = "speedtest1"
'''
    table = plan_view._table(planned(text, Known(kept={"rel": 1})))
    stages, costs = table.columns[1].cells, table.columns[3].cells
    rows = [cost for stage, cost in zip(stages, costs, strict=True) if stage == "build"]
    assert rows == [expected, "about 10.0 s"]
