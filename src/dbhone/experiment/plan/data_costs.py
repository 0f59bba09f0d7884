"""What the loaded data of servers costs: how long it takes to load and to copy, and its bytes.

What kept data took here before tells what it takes; where nothing like it was loaded, a guess does,
which plans name as one.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

from dbhone.compilation.inputs import BuildInputs
from dbhone.dbms.base_server import load_server_dbms
from dbhone.dbms.base_settings import RequestedSetting
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.plan.plan import DONE, Cost, DataCost, PlanStep, Train, Verify
from dbhone.experiment.target.server_pool import data_name, identity_of
from dbhone.home import Home
from dbhone.instance import data
from dbhone.instance.data_facts import KeptFacts, disk_size, kept_facts
from dbhone.workload.suite import Regime
from dbhone.workload.workload import Workload

_LOADED, _COPIED = 10e6, 200e6
"""Bytes that are loaded and copied in a second: guesses."""
_PART_OF_CACHE = 0.25
"""How large a size's own data is, as a part of the cache in which all of it lies: a guess."""
_EMPTY = 200 * 1024**2
"""Bytes of a data directory with its logs and nothing loaded."""
_FAR = 10.0
"""Data that is so many times as large as what was loaded before is guessed: of small data most of
the time is not for its rows."""
CostOfData: TypeAlias = Callable[
    [BuildInputs, Sequence[RequestedSetting], Workload], DataCost | None
]
"""Tells what a server's data costs, None of an embedded DBMS."""


class DataEstimator:
    """Tells what loaded data costs, by what the home folder holds."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def cost(
        self,
        dbms: str,
        version: str,
        settings: Sequence[RequestedSetting],
        workload: Workload,
        *,
        source: str,
    ) -> DataCost:
        """Return what the data of a server costs; the ``version`` is empty if it is not known.

        The ``source`` is the digest of its tree, or its reference where there is no tree yet.
        """
        server = load_server_dbms(dbms)
        content = workload.data
        identity = identity_of(workload.server_driver, content)
        name = data_name(server, version, settings, identity, seed=content.seed, source=source)
        kept = data.find(self._home, name) if version else None
        if kept is not None:
            load, size = DONE, disk_size(kept)
        else:
            load, size = self._expected(dbms, workload)
        return DataCost(
            label=content.label,
            name=name,
            load=load,
            size=size,
            copy_seconds=size / self._copied_in_a_second(),
        )

    def _expected(self, dbms: str, workload: Workload) -> tuple[Cost, int]:
        """Return what loading is expected to take, and the bytes, by data like it or by a guess."""
        driver, volume = workload.server_driver.name, workload.data.volume
        like = [
            it
            for it in self._facts
            if (it.facts.dbms, it.facts.driver) == (dbms, driver)
            and it.facts.volume * _FAR >= volume
        ]
        if not like:
            size = _guessed_size(workload)
            return Cost(seconds=size / _LOADED, guessed=True), size
        shares = [(it, volume / it.facts.volume) for it in like]
        seconds = statistics.median(it.facts.load_seconds * share for it, share in shares)
        return Cost(seconds=seconds), int(
            statistics.median(it.size * share for it, share in shares)
        )

    def _copied_in_a_second(self) -> float:
        return statistics.median([*self._rates()] or [_COPIED])

    def _rates(self) -> Iterator[float]:
        for it in self._facts:
            if it.facts.copy_seconds:
                yield it.size / it.facts.copy_seconds

    @cached_property
    def _facts(self) -> tuple[KeptFacts, ...]:
        """What is known of all data of the home."""
        return tuple(kept_facts(self._home))


def _guessed_size(workload: Workload) -> int:
    cached = workload.suite.server_sizes[workload.scale.size].cache[Regime.CACHED]
    guess = int(_EMPTY + _PART_OF_CACHE * cached * workload.growth)
    return max(guess, workload.data.least_bytes)


def with_data(
    steps: Iterable[PlanStep], experiment: Experiment, cost_of: CostOfData
) -> Iterator[PlanStep]:
    """Yield the steps, those that are still to be done with what their servers' data costs.

    Data is loaded once, by the first step that starts a server with it, and copied for each start.
    """
    loaded: set[str] = set()
    for step in steps:
        cost = None if step.cost.done else _data_of(step, experiment, cost_of)
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


def _data_of(step: PlanStep, experiment: Experiment, cost_of: CostOfData) -> DataCost | None:
    match step:
        case Train(inputs=inputs, training=training):
            return cost_of(inputs, training.settings, training.workload)
        case Verify(subject=name):
            subject = experiment.subject(name)
            return cost_of(subject.inputs, subject.settings, experiment.workload)
    return None
