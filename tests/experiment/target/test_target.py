"""What embedded systems and servers have in common as targets."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.model import Training
from dbhone.experiment.target.embedded_target import EmbeddedTarget
from dbhone.experiment.target.target import training_inputs
from dbhone.instance import page_cache
from dbhone.workload.suite import Regime
from dbhone.workload.task import Scale
from dbhone.workload.workload import Workload
from tests.compilation.plain_build import plain_build
from tests.experiment.experiment_files import EMBEDDED
from tests.experiment.pretended import pretended_build


def test_the_programs_of_a_block_are_read_anew_in_the_layouts_of_its_subjects_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = parse(f"{EMBEDDED}[design]\nlayouts = 6\n", name="x.toml")
    plain = pretended_build(tmp_path).manifest
    build = plain_build(
        tmp_path,
        plain.inputs.model_copy(update={"layouts": 12}),
        version=plain.version,
        source_digest=plain.source_digest,
        files=plain.files,
        primary=plain.primary,
    )
    target = EmbeddedTarget.__new__(EmbeddedTarget)
    target.experiment, target.builds = experiment, {"rel": build, "control": build}
    read_anew: list[Path] = []
    monkeypatch.setattr(page_cache, "evict_programs", read_anew.extend)
    usual = tmp_path / "bin" / "speedtest1"
    for subject, own in (("rel", range(1, 7)), ("control", range(7, 13))):
        read_anew.clear()
        target.reload_programs((subject,))
        layouts = {tmp_path / "layouts" / str(one) / "bin" / "speedtest1" for one in own}
        assert set(read_anew) == {usual, *layouts}


def test_a_training_in_another_regime_or_with_another_cache_is_another_training() -> None:
    scale = Scale(size="smoke", threads=(4,))
    usual = Workload(name="sysbench:micro", scale=scale, sets=("point-query_range=100",))
    changes: tuple[dict[str, Any], ...] = (
        {},
        {"regime": Regime.COLD},
        {"regime": Regime.OS_CACHED},
        {"cache_bytes": 2**30},
    )
    scales = [dataclasses.replace(scale, **changed) for changed in changes]
    workloads = [
        training_inputs(Training(workload=dataclasses.replace(usual, scale=each)))
        for each in scales
    ]
    assert all(workloads.count(each) == 1 for each in workloads)
