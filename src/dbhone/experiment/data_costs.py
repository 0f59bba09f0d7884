"""Adds to a plan's steps what loading and copying the servers' data costs.

Data is loaded once, by the first step that starts a server with it, and copied for each start.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from dbhone.experiment.estimates import BuildEstimator
from dbhone.experiment.model import Experiment
from dbhone.experiment.plan import Cost, DataCost, PlanStep, Train, Verify
from dbhone.workload import suite as suites


def with_data(
    steps: Iterable[PlanStep], experiment: Experiment, estimator: BuildEstimator
) -> Iterator[PlanStep]:
    """Yield the steps, those that are still to be done with what their servers' data costs."""
    loaded: set[str] = set()
    for step in steps:
        cost = None if step.cost.done else _data_of(step, experiment, estimator)
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


def _data_of(step: PlanStep, experiment: Experiment, estimator: BuildEstimator) -> DataCost | None:
    match step:
        case Train(inputs=inputs, training=training):
            suite = suites.load(training.suite)
            return estimator.data(inputs, training.settings, suite, training.scale)
        case Verify(subject=name):
            subject = experiment.subject(name)
            suite = suites.load(experiment.suite)
            return estimator.data(subject.inputs, subject.settings, suite, experiment.scale)
    return None
