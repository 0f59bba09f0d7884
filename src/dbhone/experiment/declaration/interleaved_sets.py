"""Which sets are measured in short slices, while the clients of all subjects stay connected."""

from __future__ import annotations

from collections.abc import Mapping

from dbhone.experiment.declaration.model import Experiment, Slices
from dbhone.workload.drivers.base import Driver
from dbhone.workload.task import Task

LEAST_SECONDS = 2.0
"""Of each subject, in a trial. Starting the clients that stay connected takes about as long."""
_MOST_CLIENTS = 512
"""Of all subjects together. Each takes a thread of sysbench, and a thread or process of a server
with its memory, at the same time as all others."""


def interleaved_sets(experiment: Experiment, tasks: Mapping[str, Task]) -> frozenset[str]:
    """Return the sets that are measured in short slices, of these tasks by set.

    Subjects that take no part any more count, too: a run that goes on measures as before.
    """
    if experiment.slices is Slices.FRESH:
        return frozenset()
    driver, one_by_one = experiment.workload.driver, experiment.one_by_one
    return frozenset(
        name
        for name, task in tasks.items()
        if why_not_interleaved(driver, task, one_by_one=one_by_one) is None
        and (experiment.slices is Slices.SHORT or _pays(task, len(experiment.subjects)))
    )


def why_not_interleaved(driver: Driver, task: Task, *, one_by_one: bool = False) -> str | None:
    """Return why a task cannot be measured in short slices, None if it can.

    ``one_by_one`` says that at most one server is up at a time.
    """
    if one_by_one:
        return "short slices alternate between servers, but only one server is up at a time"
    if not driver.can_pause(task):
        return f"{driver.name} cannot be paused while it executes {task.set}"
    return None


def _pays(task: Task, subjects: int) -> bool:
    """Return whether a trial is long enough, and its clients are not too many."""
    assert task.run is not None
    enough = task.run.seconds >= LEAST_SECONDS
    return enough and task.run.threads * subjects <= _MOST_CLIENTS
