"""A slowdown of a known size: the patch that makes it, and what is told of a run with it."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.planted import cost_of, experiments, patch, told
from dbhone.errors import SourceError
from dbhone.experiment.declaration.load import parse
from dbhone.measurement.record import Role
from dbhone.report.findings import findings_of
from dbhone.source.tree import SourceTree
from tests.report.sample_run import Shape, a_run, samples, subject

DEST = "typedef int CommandDest;\n\nvoid\nReadyForQuery(CommandDest dest)\n{\n\t(void) dest;\n}\n"


def a_tree(root: Path) -> SourceTree:
    return SourceTree(
        reference="dir:/here",
        resolved="dir:/here",
        digest="0" * 64,
        path=root,
        fetched_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("stall", "cost", "period"),
    [
        (None, "now + (planted ? 0.082474227 : 0.05) * worked", "worked >= 0.000000000"),
        (1.25, "nanosleep(&(struct timespec){ 1, 250000000 }, NULL)", "worked >= 40.416666667"),
    ],
)
def test_the_patch_applies_and_compiles(
    stall: float | None, cost: str, period: str, tmp_path: Path
) -> None:
    file = tmp_path / "src" / "backend" / "tcop" / "dest.c"
    file.parent.mkdir(parents=True)
    file.write_text(DEST)
    (tmp_path / "planted.patch").write_text(patch(a_tree(tmp_path), cost_of(0.97, stall)))
    for words in (
        ("git", "apply", "planted.patch"),
        ("gcc", "-std=gnu99", "-Wall", "-Werror", "-c", str(file), "-o", "dest.o"),
    ):
        subprocess.run(words, cwd=tmp_path, check=True)
    assert cost in file.read_text()
    assert period in file.read_text()
    assert 'strcmp(cluster_name, "planted")' in file.read_text()
    assert "{\n\tplanted_cost();\n\t(void) dest;" in file.read_text()


def test_one_build_is_measured_by_one_client() -> None:
    texts = experiments("apt:postgresql", Path("/there/planted.patch"), 0.97, 1200.0)
    reads, writes = (parse(each, name="planted") for each in texts)
    assert reads.workload.scale.threads == writes.workload.scale.threads == (1,)
    assert (reads.design.budget_seconds, writes.design.budget_seconds) == (1200.0, 600.0)
    for each in (reads, writes):
        base = each.base
        (planted,) = (one for one in each.subjects if one.role is Role.CANDIDATE)
        assert base.inputs.fixes == planted.inputs.fixes == ("/there/planted.patch",)
        names = [subject.settings[0].value for subject in (base, planted)]
        assert names == ["without", "planted"]
        assert len(set(map(len, names))) == 1


def test_another_tree_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no ReadyForQuery"):
        patch(a_tree(tmp_path), "")


@pytest.mark.parametrize(("true", "holds"), [(0.94, True), (1.2, False)])
def test_each_interval_is_held_against_the_truth(true: float, *, holds: bool) -> None:
    subjects = (subject("rel", role=Role.BASE, variant="rel"), subject("planted"))
    run = a_run(id=1, subjects=subjects)
    shape = Shape(effects={"planted": (0.94, 0.94)}, blocks=14, seed=1)
    first, *each, last = told(findings_of(run, samples(run, shape)), true)
    assert first.startswith("run 1: 14 blocks; control not measured")
    assert each[0].startswith("  all steps: 0.9")
    assert each[0].endswith("(slower)") is holds
    held = sum("does not hold" not in line for line in each)
    assert last == f"truly {true:.3f}: held by {held} of {len(each)} intervals"
