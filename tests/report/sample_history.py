"""Builds runs of versions, with changes by design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dbhone.measurement.metric import FIGURES
from dbhone.measurement.record import READY_MADE, Group, Role, Run, Subject
from dbhone.measurement.sample_array import SampleArray
from dbhone.report.page import Page, build_page
from tests.analysis.columns import samples_of
from tests.report.sample_servers import SUBJECTS, a_server_run

VERSIONS = ("5.6.14", "5.7.22", "8.0.12", "8.0.33")
TRUTH: Mapping[tuple[str, str], float] = {
    ("8.0.12", "update-index_range=100"): 0.55,
    ("8.0.33", "update-index_range=100"): 0.93,
    ("5.7.22", "scan_range=100"): 1.4,
    ("8.0.12", "scan_range=100"): 1.4,
    ("8.0.33", "scan_range=100"): 1.4,
}
"""The true ratios to the oldest version, where they are not 1."""
EXPERIMENT = """\
title = "MySQL 5.6.14 to 8.0.33"
base = "5.6.14"

[history]
order = ["5.6.14", "5.7.22", "8.0.12", "8.0.33"]
"""


def a_version(name: str, role: Role = Role.CANDIDATE) -> Subject:
    """Return a ready-made server."""
    version = name if role is not Role.CONTROL else VERSIONS[0]
    return replace(
        SUBJECTS[0],
        name=name,
        role=role,
        dbms="mysql",
        version=version,
        source=f"maven:example:mysql:{version}@jar",
        variant=READY_MADE,
        compiler=READY_MADE,
        flags=(),
        build_path=f"/var/lib/dbhone/builds/{version}/bin/mysqld",
        timings=None,
        settings={},
    )


def a_history(**changes: object) -> Run:
    """Return a finished run of four versions and a control, changed as asked."""
    subjects = (
        a_version(VERSIONS[0], Role.BASE),
        a_version("control", Role.CONTROL),
        # Not in order: the order is declared.
        *(a_version(name) for name in reversed(VERSIONS[1:])),
    )
    run = a_server_run(subjects=subjects, warnings=())
    run = replace(
        run,
        title="MySQL 5.6.14 to 8.0.33",
        experiment=EXPERIMENT,
        experiment_name="mysql-history",
        steps=tuple(replace(step, in_sample=False) for step in run.steps),
    )
    return replace(run, **changes)  # type: ignore[arg-type]


def history_samples(
    run: Run, *, blocks: int = 12, truth: Mapping[tuple[str, str], float] = TRUTH
) -> SampleArray:
    """Return throughputs of all subjects, steps and blocks; the other figures are missing."""
    rng = np.random.default_rng(4)
    names = [each.name for each in run.subjects]
    steps = [each.name for each in run.steps]
    shape = (len(names), len(steps), blocks)
    logs = rng.normal(0, 0.03, shape) + rng.normal(0, 0.05, (1, 1, blocks))
    for (version, step), ratio in truth.items():
        if version in names and step in steps:
            logs[names.index(version), steps.index(step)] += np.log(ratio)
    places = (axis.ravel() for axis in np.indices(shape))
    values = {metric.name: np.full(logs.size, np.nan) for metric in FIGURES}
    values["throughput"] = 1000 * np.exp(logs.ravel())
    return samples_of(names, steps, places, values)


def history_page(
    run: Run, *, blocks: int = 12, truth: Mapping[tuple[str, str], float] = TRUTH
) -> Page:
    """Return the page of a history with such measurements."""
    return build_page(run, history_samples(run, blocks=blocks, truth=truth))


def of_group(run: Run, group: Group) -> tuple[str, ...]:
    """Return the names of the steps of a group."""
    return tuple(step.name for step in run.steps if step.group is group)
