"""What embedded systems and servers have in common as targets."""

from __future__ import annotations

import dataclasses
from typing import Any

from dbhone.experiment.model import Training
from dbhone.experiment.target import training_workload
from dbhone.workload.suite import Regime
from dbhone.workload.task import Scale


def test_a_training_in_another_regime_or_with_another_cache_is_another_training() -> None:
    scale = Scale(size="smoke")
    usual = Training(
        suite="sysbench:micro", scale=scale, sets=("point-query_range=100",), size="smoke"
    )
    changes: tuple[dict[str, Any], ...] = (
        {},
        {"regime": Regime.COLD},
        {"regime": Regime.OS_CACHED},
        {"cache_bytes": 2**30},
    )
    workloads = [
        training_workload(dataclasses.replace(usual, scale=dataclasses.replace(scale, **changed)))
        for changed in changes
    ]
    assert all(workloads.count(each) == 1 for each in workloads)


def test_what_is_usual_of_a_training_is_not_told_so_that_kept_profiles_are_found() -> None:
    usual = Training(
        suite="sysbench:micro",
        scale=Scale(size="quick", cache_bytes=2**30),
        sets=("point-query_range=100",),
        size="smoke",
    )
    told = training_workload(usual)
    assert isinstance(told, dict)
    assert told.keys() == {"tasks", "settings", "command", "scripts"}
