"""Adds to a plan's steps what loading and copying the servers' data costs.

Data is loaded once, by the first step that starts a server with it, and copied for each start.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from dbhone.compilation.inputs import BuildInputs
from dbhone.dbms.base_settings import RequestedSetting
from dbhone.experiment.model import Experiment, SubjectDeclaration, Training
from dbhone.experiment.plan import Cost, DataCost, PlanStep, Train, Verify
from dbhone.workload import suite as suites
from dbhone.workload import suite_tasks
from dbhone.workload.suite import Suite
from dbhone.workload.task import Scale


class DataKnowledge(Protocol):
    """What is known of servers' data before work begins."""

    def data(
        self,
        inputs: BuildInputs,
        settings: Sequence[RequestedSetting],
        suite: Suite,
        scale: Scale,
    ) -> DataCost | None:
        """Return what a server's loaded data costs, None of an embedded DBMS."""


def with_data(
    steps: Iterable[PlanStep], experiment: Experiment, known: DataKnowledge
) -> Iterator[PlanStep]:
    """Yield the steps, those that are still to be done with what their servers' data costs."""
    subjects = {subject.name: subject for subject in experiment.subjects}
    loaded: set[str] = set()
    for step in steps:
        cost = None if step.cost.done else _data_of(step, experiment, subjects, known)
        if cost is None or not isinstance(step, Train | Verify):
            yield step
            continue
        seconds = cost.copy_seconds + (0.0 if cost.name in loaded else cost.load.seconds)
        if not step.tentative:
            loaded.add(cost.name)
        whole = Cost(seconds=step.cost.seconds + seconds, guessed=step.cost.guessed)
        yield dataclasses.replace(step, cost=whole, data=cost)


def copying_seconds(steps: Iterable[PlanStep]) -> float:
    """Return how long it takes to copy the data that is measured, the largest where it differs."""
    data = (step.data for step in steps if isinstance(step, Verify))
    return max((cost.copy_seconds for cost in data if cost is not None), default=0.0)


def _data_of(
    step: PlanStep,
    experiment: Experiment,
    subjects: Mapping[str, SubjectDeclaration],
    known: DataKnowledge,
) -> DataCost | None:
    match step:
        case Train(inputs=inputs, training=training):
            return _of_training(inputs, training, known)
        case Verify(subject=name):
            subject = subjects[name]
            suite = suites.load(experiment.suite)
            return known.data(subject.inputs, subject.settings, suite, experiment.scale)
    return None


def _of_training(inputs: BuildInputs, training: Training, known: DataKnowledge) -> DataCost | None:
    suite = suites.load(training.suite)
    scale = suite_tasks.training_scale(suite, training.scale, training.size)
    return known.data(inputs, training.settings, suite, scale)
