"""How a plan is printed: one row for the verifications of all subjects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dbhone.cli import plan_view
from dbhone.home import Home
from tests.cli.finished_run import invoke
from tests.experiment.experiment_files import GOOD, SMOKE
from tests.experiment.planned import planned

TOGETHER = "3 subjects: same results as the base, consistent data"


@pytest.mark.parametrize(
    ("text", "row"), [(GOOD, TOGETHER), (SMOKE, f"{TOGETHER}, verified at the grade smoke")]
)
def test_the_row_of_all_verifications_names_their_grade(text: str, row: str) -> None:
    table = plan_view._table(planned(text))
    assert row in list(table.columns[2].cells)


SERVERS = """\
title = "t"
base = "rel"
[sources]
pg = "known:postgresql@16.15"
[subjects]
rel = { dbms = "postgresql", source = "pg" }
parted = { like = "rel", levers = ["cpus=0-9999"] }
[workload]
suite = "sysbench:micro"
"""


def test_a_plan_tells_programs_and_people_what_cannot_be_measured_here(tmp_path: Path) -> None:
    file, home = tmp_path / "x.toml", Home(tmp_path / "home")
    file.write_text(SERVERS)
    told = json.loads(invoke(home, "plan", str(file), "--json").stdout)
    assert told["absent"].keys() == {"parted"}
    assert "cpus=0-9999" in told["absent"]["parted"]["reason"]
    assert [each["what"] for each in told["data"]] == ["1 × 100,000 rows"]
    shown = " ".join(invoke(home, "plan", str(file)).stdout.split())
    assert f"parted cannot be measured here: {told['absent']['parted']['reason']}" in shown
    assert "Data: 1 × 100,000 rows" in shown
