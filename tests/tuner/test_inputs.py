"""What tells one search from another besides the words that a user says."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dbhone.capture.capture import CaptureOptions, capture
from dbhone.dbms.base import load_dbms
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.declaration.templates import WorkloadOptions
from dbhone.measurement.machine import read_machine
from dbhone.source.tree import SourceTree
from dbhone.tuner.experiments import rung
from dbhone.tuner.inputs import inputs_of
from tests.tuner.searches import request

LOG = Path(__file__).parents[1] / "golden" / "capture" / "postgresql-15-csvlog.csv"


def tree(digest: str = "1" * 64) -> SourceTree:
    return SourceTree(
        reference="dir:tree",
        resolved="dir:tree",
        digest=digest,
        path=Path("tree"),
        fetched_at=datetime(2026, 11, 24, tzinfo=UTC),
    )


def first_run(suite: Path | None, data: Path | None = None, train: str = "main") -> Experiment:
    """Return the first run of a search for a workload."""
    workload = WorkloadOptions(
        suite=None if suite is None else str(suite),
        size="smoke",
        data=None if data is None else str(data),
    )
    dbms = load_dbms("sqlite" if suite is None else "postgresql")
    asked = request(dbms=dbms, source=dbms.reference, workload=workload, train=(train,))
    return rung(asked, asked.candidates, 0, 600.0)


def test_another_source_tree_makes_another_search() -> None:
    experiment = first_run(None)
    assert inputs_of(experiment, tree()) == inputs_of(experiment, tree())
    assert inputs_of(experiment, tree()) != inputs_of(experiment, tree("2" * 64))


def test_another_kernel_makes_another_search(monkeypatch: pytest.MonkeyPatch) -> None:
    experiment, machine = first_run(None), read_machine()
    before = inputs_of(experiment, tree())
    assert before.machine == machine.fingerprint
    updated = replace(machine, fingerprint="another")
    monkeypatch.setattr("dbhone.tuner.inputs.read_machine", lambda: updated)
    assert inputs_of(experiment, tree()) == replace(before, machine="another")


@pytest.mark.parametrize("changed", ["shop.workload", "shop.dump"])
def test_another_workload_or_dump_at_the_same_place_makes_another_search(
    changed: str, tmp_path: Path
) -> None:
    workload, dump = tmp_path / "shop.workload", tmp_path / "shop.dump"
    capture((LOG,), workload, CaptureOptions())
    dump.write_text("a dump")
    before = inputs_of(first_run(workload, dump, "earlier"), tree())
    assert inputs_of(first_run(workload, dump, "earlier"), tree()) == before
    status = (tmp_path / changed).stat()
    os.utime(tmp_path / changed, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert inputs_of(first_run(workload, dump, "earlier"), tree()) != before


def test_another_text_of_a_users_script_makes_another_search(tmp_path: Path) -> None:
    script = tmp_path / "mine.pgbench"
    script.write_text("SELECT 1;\n")
    before = inputs_of(first_run(script, train="mine"), tree())
    status = script.stat()
    script.write_text("SELECT 2;\n")
    os.utime(script, ns=(status.st_atime_ns, status.st_mtime_ns))
    changed = inputs_of(first_run(script, train="mine"), tree())
    assert changed != before
    script.write_text("SELECT 1;\n")
    assert inputs_of(first_run(script, train="mine"), tree()) == before
