"""How servers are observed while they are measured."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import cast

import pytest

from dbhone.errors import ExperimentError, ServerError
from dbhone.experiment.declaration.observe import ObserveOptions
from dbhone.experiment.target import observer
from dbhone.experiment.target.observer import RunObservation, pace
from dbhone.experiment.target.server_pool import ServerPool, VerifiedServer
from dbhone.experiment.target.server_target import ServerTarget
from dbhone.instance.server import Server
from dbhone.measurement.record import Warning
from dbhone.measurement.series import MEMORY, PACE, Readings, Series
from dbhone.workload.drivers.base import DriverReport, StepResult


class Counters:
    """Takes the place of a connection: lacks what it is told to, and fails when it is."""

    lacks: tuple[str, ...] = ()
    fails = False
    asked = threading.Event()

    def __init__(self, server: Server, wanted: Sequence[str]) -> None:
        self.missing = dict.fromkeys(self.lacks, "did you mean 'x'?")

    def read(self) -> Readings:
        self.asked.set()
        if self.fails:
            raise ServerError("the server rejected the query: gone")
        return {}

    def close(self) -> None:
        pass


class ObservedProcess:
    """Observes this very process in the place of a server."""

    def __init__(self, observe: ObserveOptions) -> None:
        self.warnings: list[Warning] = []
        self.observation = RunObservation(observe, self.warnings.append)
        self.server = cast(Server, SimpleNamespace(pid=os.getpid()))


@pytest.fixture(autouse=True)
def counters(monkeypatch: pytest.MonkeyPatch) -> type[Counters]:
    class Own(Counters):
        asked = threading.Event()

    monkeypatch.setattr(observer, "CounterReader", Own)
    return Own


WANTED = ObserveOptions(counters=("status.a", "status.b"))


class TestRunObservation:
    def test_what_a_server_uses_is_read_while_a_slice_runs(self) -> None:
        process = ObservedProcess(ObserveOptions(every=0.5))
        observer = process.observation.observer("rel", process.server)
        assert observer is not None
        with observer.observing() as sampler:
            pass
        memory = next(each for each in sampler.series() if each.quantity == MEMORY)
        assert memory.values[0] > 1e6
        assert process.warnings == []

    def test_nothing_is_read_if_it_is_switched_off(self) -> None:
        process = ObservedProcess(ObserveOptions(enabled=False))
        assert process.observation.observer("rel", process.server) is None

    def test_a_counter_that_one_version_lacks_is_told_once(self, counters: type[Counters]) -> None:
        process = ObservedProcess(WANTED)
        counters.lacks = ("status.a",)
        process.observation.observer("old", process.server)
        process.observation.observer("old", process.server)
        counters.lacks = ()
        process.observation.observer("new", process.server)
        process.observation.check(("old", "new"))
        (warning,) = process.warnings
        assert (warning.code, warning.subject) == ("counter-missing", "old")
        assert warning.text == "old does not count status.a (did you mean 'x'?)"

    def test_a_counter_that_all_lack_is_an_error(self, counters: type[Counters]) -> None:
        process = ObservedProcess(WANTED)
        counters.lacks = ("status.b",)
        process.observation.observer("old", process.server)
        process.observation.check(("old", "new"))  # the other one was not asked yet
        process.observation.observer("new", process.server)
        with pytest.raises(ExperimentError, match="no server has the counter") as error:
            process.observation.check(("old", "new"))
        assert error.value.hint == "did you mean 'x'?"

    def test_a_counter_that_no_server_has_is_told_before_one_is_measured(
        self, counters: type[Counters]
    ) -> None:
        """Whether the servers are up together or one after the other."""
        process = ObservedProcess(WANTED)
        counters.lacks = ("status.b",)

        def verify(_: object, ask: Callable[[Server], None]) -> VerifiedServer:
            ask(process.server)
            return VerifiedServer(answers={"all": "42"}, refusals=None)

        target = ServerTarget.__new__(ServerTarget)
        target._specs = dict.fromkeys(("old", "new"))  # type: ignore[assignment]
        target._pool = cast(ServerPool, SimpleNamespace(verify=verify))
        target._observation = process.observation
        assert target.verify("old") == {"all": "42"}
        with pytest.raises(ExperimentError, match="no server has the counter"):
            target.verify("new")

    def test_counters_that_cannot_be_read_do_not_stop_what_can(
        self, counters: type[Counters]
    ) -> None:
        counters.fails = True
        process = ObservedProcess(WANTED)
        observer = process.observation.observer("rel", process.server)
        assert observer is not None
        with observer.observing() as sampler:
            assert counters.asked.wait(60)
        assert sampler.trouble == "the server rejected the query: gone"
        assert MEMORY in {each.quantity for each in sampler.series()}


def test_the_drivers_series_begins_when_the_driver_had_connected() -> None:
    step = StepResult(
        key="", title="", seconds=3.0, interval_rates=(7.0, 9.0), intervals_began=101.5
    )
    report = DriverReport(version=None, steps=(step,), verification=None)
    assert pace(report, 100.0) == (Series(quantity=PACE, at=(2.5, 3.5), values=(7.0, 9.0)),)
    part = StepResult(key="part", title="t", seconds=2.0, part=True)
    of_parts = DriverReport(version=None, steps=(step, part, part), verification=None)
    assert pace(of_parts, 100.0) == pace(report, 100.0)
    assert pace(None, 100.0) == ()
    assert pace(DriverReport(version=None, steps=(step, step), verification=None), 100.0) == ()
