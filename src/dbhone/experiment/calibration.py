"""Runs every set once on the base, unmeasured: what steps there are, how long they take."""

from __future__ import annotations

from functools import partial

from dbhone.experiment.arena import Arena
from dbhone.experiment.builds import BuildService
from dbhone.experiment.events import Stage
from dbhone.experiment.model import Experiment
from dbhone.experiment.recorder import RunRecorder
from dbhone.measurement.record import Step
from dbhone.workload.drivers.base import StepResult
from dbhone.workload.suite import Suite
from dbhone.workload.work import Task

_TIMEOUT = 1800.0


class Calibration:
    """Learns what the measuring needs to know; its figures are thrown away."""

    def __init__(
        self, experiment: Experiment, suite: Suite, workshop: BuildService, arena: Arena
    ) -> None:
        self._experiment = experiment
        self._suite = suite
        self._workshop = workshop
        self._arena = arena

    def run(
        self, subject: str, tasks: tuple[Task, ...], journal: RunRecorder
    ) -> tuple[tuple[Step, ...], dict[str, float]]:
        """Return the steps, and the seconds of each set. Raises DriverError if a set fails."""
        steps: list[Step] = []
        seconds: dict[str, float] = {}
        with self._arena.open((subject,), 0):
            for number, task in enumerate(tasks, 1):
                journal.began(Stage.MEASURE, f"rehearsal of {task.set}", number, len(tasks))
                work = partial(self._arena.slice, subject, task, _TIMEOUT)
                driven = self._workshop.in_turn(work).driven
                steps.extend(self._known(task.set, driven.result().steps, journal))
                seconds[task.set] = driven.seconds
        journal.store.set_steps(journal.run_id, steps)
        return tuple(steps), seconds

    def _known(
        self, name: str, results: tuple[StepResult, ...], journal: RunRecorder
    ) -> list[Step]:
        known = []
        for each in results:
            group = self._suite.sets[name].group_of(each.key)
            if group is None:
                text = f"{name}/{each.key} ({each.title}) has no group in the suite's file"
                journal.warn("step-unknown", f"{text}: left out", step=f"{name}/{each.key}")
                continue
            in_sample = name in self._experiment.trained_sets
            known.append(
                Step(set=name, key=each.key, title=each.title, group=group, in_sample=in_sample)
            )
        return known
