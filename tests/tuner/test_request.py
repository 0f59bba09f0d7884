"""What is checked before a search begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.errors import MachineError
from dbhone.experiment.planning import make_plan
from dbhone.home import Home
from dbhone.tuner.request import check_room
from dbhone.tuner.stages import rung
from tests.experiment.test_planning import Known
from tests.tuner.test_search import request


def test_builds_that_are_here_already_need_no_more_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        free = 1

    monkeypatch.setattr("dbhone.experiment.room.shutil.disk_usage", lambda folder: Full)
    asked, home = request(), Home(tmp_path)
    first = rung(asked, asked.candidates, 0, 3600.0).experiment()
    with pytest.raises(MachineError, match="the builds of 4 candidates need about"):
        check_room(asked, make_plan(first, Known()), home)
    variants = {subject.inputs.variant.name: 9 for subject in first.subjects}
    check_room(asked, make_plan(first, Known(kept=variants)), home)
