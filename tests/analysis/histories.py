"""Runs that are histories of versions."""

from __future__ import annotations

from dataclasses import replace

from dbhone.measurement.record import Role, Run
from tests.report.sample_history import a_version
from tests.report.sample_servers import a_server_run

STEPS = 6


def a_run(number: int, *versions: str, workload: str = "rows = 1000", **changes: object) -> Run:
    """Return a history of these versions, with its control."""
    order = ", ".join(f'"{each}"' for each in versions)
    run = a_server_run(warnings=())
    base, *others = versions
    subjects = (
        replace(a_version(base, Role.BASE), version=base),
        replace(a_version("control", Role.CONTROL), version=base),
        *(replace(a_version(each), version=each) for each in others),
    )
    experiment = f"[history]\norder = [{order}]\n[workload]\n{workload}\n"
    run = replace(run, id=number, experiment=experiment, subjects=subjects, steps=run.steps[:STEPS])
    return replace(run, **changes)  # type: ignore[arg-type]
