"""Trials in short slices, with real sysbench processes that sleep instead of asking a server."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import psutil
import pytest

from dbhone.errors import DriverError, ServerError
from dbhone.experiment.declaration.observe import ObserveOptions
from dbhone.experiment.target.block_servers import BlockServers
from dbhone.experiment.target.cpu_placement import CpuPlacement
from dbhone.experiment.target.interleaved import InterleavedTrials, Rounds, first_rounds
from dbhone.experiment.target.observer import RunObservation
from dbhone.experiment.target.order import BlockSeed, round_order
from dbhone.experiment.target.server_pool import ServerPool, ServerSpec
from dbhone.experiment.target.trial import SubjectResult, Trial
from dbhone.measurement.record import Sliced, Warning
from dbhone.measurement.series import CPU, PACE
from dbhone.session import Session
from dbhone.workload.drive import DriverResult
from dbhone.workload.pausable_client import PausableClient
from dbhone.workload.task import Task
from tests.experiment.pretended import pretended_server
from tests.measurement.store_records import a_slice
from tests.workload.counted import client, needs_sysbench, sleeping

pytestmark = needs_sysbench

NAMES = ("old", "new")
ROUNDS = first_rounds(1.0)


@pytest.fixture(autouse=True)
def any_event_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no trial depend on how many events a busy machine ends in a slice."""
    monkeypatch.setattr("dbhone.experiment.target.interleaved._MIN_EVENTS_PER_SLICE", 0)


@dataclass
class Up:
    """A server that is up and asks nobody. Of a ``dead`` one the last processes still end."""

    name: str
    pid: int = field(default_factory=os.getpid)
    dead: bool = False

    def kill(self) -> None:
        pass

    def check(self, *, wait: float = 0.0) -> None:
        if self.dead and wait > 0:
            raise ServerError(f"{self.name} crashed")


@dataclass
class Sleepers:
    """Servers whose clients sleep; ``options`` are those of a subject's script."""

    options: dict[str, dict[str, int]] = field(default_factory=dict)
    refusing: set[str] = field(default_factory=set)
    up: list[Up] = field(default_factory=list)
    fresh: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def running(self, spec: ServerSpec, seed: int | None) -> Iterator[Up]:
        name = spec.installation.version
        if name in self.refusing:
            raise ServerError(f"{name} did not start")
        self.up.append(Up(name))
        yield self.up[-1]

    def crash(self, name: str) -> None:
        """Let the server of a subject be found dead."""
        next(up for up in self.up if up.name == name).dead = True

    @property
    def clients(self) -> Sleepers:
        return self

    def warm_up(self, server: Up, seed: BlockSeed) -> None:
        pass

    def forget(self) -> None:
        pass

    def client(self, server: Up, task: Task, folder: Path) -> PausableClient:
        return client(folder, replace(sleeping(**self.options.get(server.name, {})), set=task.set))

    def drive(self, server: Up, task: Task) -> DriverResult:
        self.fresh.append(server.name)
        return DriverResult(
            argv=(), output=b"", seconds=1.0, cpu_seconds=0.0, outcome=DriverError("pretended")
        )


@dataclass
class OpenBlock:
    """An open block with these servers, and trials on them."""

    servers: Sleepers
    session: Session
    observe: bool = False
    earlier: Sequence[Sliced] = ()
    slow_before: frozenset[str] = frozenset()
    slow: list[tuple[str | None, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        specs = {name: pretended_server(name) for name in NAMES}
        each_slice = ObserveOptions(enabled=self.observe, every=0.01)
        observation = RunObservation(each_slice, lambda *_: None)
        servers = cast(ServerPool, self.servers)
        self.up = BlockServers(
            servers, specs, observation, lambda _: None, seed=1, placement=CpuPlacement()
        )
        sets = frozenset({"sleep"})
        self.trials = InterleavedTrials(
            self.up,
            self.session,
            sets,
            1,
            self._tell,
            earlier=self.earlier,
            slow=self.slow_before,
        )

    @contextlib.contextmanager
    def opened(self) -> Iterator[OpenBlock]:
        """Return it with its servers up."""
        with self.up.open(NAMES, 0):
            yield self

    def _tell(self, warning: Warning) -> None:
        self.slow.append((warning.step, warning.code))

    def results(
        self, announce: Callable[[str, int], None] = lambda *_: None
    ) -> dict[str, SubjectResult]:
        trial = Trial(
            block=0,
            set="sleep",
            task=sleeping(),
            subjects=NAMES,
            timeout=60.0,
            announce=announce,
        )
        self.up.ready(NAMES)
        results = self.trials.run(trial)
        return {result.subject: result for result in results}


def nothing_runs() -> bool:
    names = (each.name() for each in psutil.Process().children(recursive=True))
    return "sysbench" not in names


def test_each_round_has_a_slice_of_each_subject_in_an_order_of_its_own(session: Session) -> None:
    with OpenBlock(Sleepers(), session).opened() as made:
        results = made.results()
    assert {name: result.position for name, result in results.items()} == {"old": 0, "new": 1}
    for number in range(ROUNDS.count):
        places = {name: result.slices[number].position for name, result in results.items()}
        order = round_order(1, 0, "sleep", number, NAMES)
        assert places == {name: place for place, name in enumerate(order)}
    moments = sorted(
        (one.began, one.seconds) for result in results.values() for one in result.slices
    )
    for (began, seconds), (after, _) in itertools.pairwise(moments):
        assert began + seconds < after, "two subjects are never asked at once"
    assert nothing_runs()


def test_the_figures_are_those_of_the_slices(session: Session) -> None:
    with OpenBlock(Sleepers({"new": {"refuse": 5}}), session).opened() as made:
        results = made.results()
    for result in results.values():
        counted = [one for one in result.slices if one.counted]
        report = result.driver.require_report()
        (step,) = report.steps
        assert step.operations == sum(one.operations for one in counted)
        assert step.errors == sum(one.errors for one in counted)
        assert step.seconds == pytest.approx(sum(one.seconds for one in counted))
        assert step.latency is not None
        assert 0.001 <= step.latency.p50 <= step.latency.p99
        assert b"total number of events" in result.driver.output
        level = step.operations / step.seconds
        assert result.measurement("sleep", step).throughput == pytest.approx(level)
    assert results["new"].driver.require_report().steps[0].errors > 0
    assert results["old"].conditions == results["new"].conditions


def test_what_a_server_used_was_used_for_the_events_that_pauses_cut_as_well(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        PausableClient, "executed_events", lambda driver: 1000 * driver.finished_events()
    )
    with OpenBlock(Sleepers(), session).opened() as made:
        result = made.results()["old"]
    (step,) = result.driver.require_report().steps
    assert result.used_for is not None
    assert result.used_for >= 1000 * step.operations


def test_rounds_are_left_out_as_most_trials_of_their_set_so_far_show(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    seemed = iter([1, 0, 1])
    monkeypatch.setattr("dbhone.experiment.target.interleaved.unsettled", lambda _: next(seemed))
    monkeypatch.setattr("dbhone.experiment.target.interleaved.most_unsettled", lambda _: 1)
    with OpenBlock(Sleepers(), session).opened() as made:
        trials = [made.results()["old"].slices for _ in range(3)]
    left_out = [[one.round for one in slices if not one.counted] for slices in trials]
    assert left_out == [[0], [], [0]]


def earlier_trial(block: int = 0) -> list[Sliced]:
    """Return a trial of an earlier session, in which no round seemed unsettled."""
    return [
        Sliced(
            block=block,
            set="sleep",
            subject=name,
            slices=tuple(
                replace(a_slice(number), seconds=0.5, operations=100) for number in range(8)
            ),
        )
        for name in NAMES
    ]


def test_trials_of_earlier_sessions_tell_how_many_rounds_are_left_out(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbhone.experiment.target.interleaved.unsettled", lambda _: 1)
    monkeypatch.setattr("dbhone.experiment.target.interleaved.most_unsettled", lambda _: 1)
    with OpenBlock(
        Sleepers(), session, earlier=[*earlier_trial(0), *earlier_trial(1)]
    ).opened() as made:
        assert all(one.counted for one in made.results()["old"].slices)


def test_a_set_that_an_earlier_session_measured_in_slices_is_so_again_after_a_stall(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks(monkeypatch, None, None, None)
    servers = Sleepers()
    with OpenBlock(servers, session, earlier=earlier_trial()).opened() as made:
        made.results()
        again = made.results()
    assert made.slow == [("sleep", "stalled-trial")]
    assert servers.fresh == [*NAMES]
    assert len(again["old"].slices) == ROUNDS.count


def test_a_set_that_an_earlier_session_found_slow_is_measured_by_fresh_clients(
    session: Session,
) -> None:
    servers = Sleepers()
    with OpenBlock(servers, session, slow_before=frozenset({"sleep"})).opened() as made:
        made.results()
    assert servers.fresh == [*NAMES]
    assert made.slow == []


def test_what_is_observed_is_told_of_the_slices_alone(session: Session) -> None:
    with OpenBlock(Sleepers(), session, observe=True).opened() as made:
        result = made.results()["old"]
    series = {each.quantity: each for each in result.series}
    assert {PACE, CPU} <= set(series)
    pace = series[PACE]
    assert len(pace.at) == ROUNDS.count
    assert pace.at[-1] == pytest.approx(sum(one.seconds for one in result.slices), rel=0.2)
    assert all(value > 0 for value in pace.values)


def test_a_set_of_slow_operations_is_measured_by_fresh_clients_from_then_on(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbhone.experiment.target.interleaved._MIN_EVENTS_PER_SLICE", 10**9)
    servers = Sleepers()
    with OpenBlock(servers, session).opened() as made:
        made.results()
        made.results()
        assert made.slow == [("sleep", "slow-operations")]
    assert servers.fresh == [*NAMES, *NAMES]
    assert nothing_runs()


def looks(monkeypatch: pytest.MonkeyPatch, *found: Rounds | None) -> None:
    """Have these rounds be what fits after each look, and the usual ones from then on."""
    coming = iter(found)
    monkeypatch.setattr(
        "dbhone.experiment.target.interleaved.fitting_rounds", lambda first, *_: next(coming, first)
    )


def test_a_slice_lasts_until_an_operation_has_ended(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long that takes: a stall belongs to the slice in which it began."""
    looks(monkeypatch, short := Rounds(seconds=1e-4, count=4))
    servers = Sleepers({name: {"sleep": 40} for name in NAMES})
    with OpenBlock(servers, session).opened() as made:
        results = made.results()
    for result in results.values():
        slices = [one for one in result.slices if one.counted]
        assert len(slices) == short.count
        assert all(one.operations >= 1 for one in slices)


@pytest.mark.parametrize(("slow", "times"), [(None, 2), (Rounds(seconds=1.2, count=1), 1)])
def test_a_moment_of_standstill_at_the_beginning_changes_nothing(
    session: Session, monkeypatch: pytest.MonkeyPatch, slow: Rounds | None, times: int
) -> None:
    looks(monkeypatch, *[slow] * times)
    servers = Sleepers()
    with OpenBlock(servers, session).opened() as made:
        slices = made.results()["old"].slices
        assert made.slow == []
    assert [one.round for one in slices] == list(range(max(ROUNDS.count, times + 1)))
    assert servers.fresh == []


def test_a_set_that_was_measured_in_slices_is_so_again_after_a_trial_that_stood_still(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = Sleepers()
    with OpenBlock(servers, session).opened() as made:
        made.results()
        looks(monkeypatch, None, None, None)
        made.results()
        assert made.slow == [("sleep", "stalled-trial")]
        again = made.results()
    assert servers.fresh == [*NAMES]
    assert len(again["old"].slices) == ROUNDS.count
    assert nothing_runs()


def test_slow_operations_are_looked_at_again_only_where_they_are_new(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = [Rounds(seconds=1.2, count=2)] * 3
    slightly_slower = Rounds(seconds=1.5, count=2)
    looks(monkeypatch, *slow, slightly_slower)
    with OpenBlock(Sleepers(), session).opened() as made:
        trials = [
            [one.counted for one in made.results()["old"].slices].index(True) for _ in range(2)
        ]
    assert trials == [3, 1]


def test_longer_operations_get_longer_slices_and_the_first_were_trials(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    longer = Rounds(seconds=0.4, count=3)
    monkeypatch.setattr("dbhone.experiment.target.interleaved.fitting_rounds", lambda *_: longer)
    with OpenBlock(Sleepers(), session).opened() as made:
        slices = made.results()["old"].slices
    trials, others = slices[:-3], slices[-3:]
    assert len(trials) == 3
    assert not any(one.counted for one in trials)
    assert all(one.seconds >= 0.5 for one in trials[1:]), "operations are slow: a short look fails"
    assert [one.counted for one in others] == [True] * 3
    assert all(one.seconds >= 0.4 for one in others)


def test_a_client_that_dies_fails_its_subject_and_no_other(session: Session) -> None:
    servers = Sleepers({"new": {"die": 20}})
    with OpenBlock(servers, session).opened() as made:
        results = made.results()
        assert made.up.running("new").server is not None, "its server is not to blame"
    assert "sleeper" in (results["new"].driver.failure or "")
    assert len(results["new"].slices) < ROUNDS.count
    assert results["old"].driver.failure is None
    assert len(results["old"].slices) == ROUNDS.count


def test_a_server_that_crashed_is_told_and_all_are_started_anew(session: Session) -> None:
    servers = Sleepers({"new": {"die": 20}})
    with OpenBlock(servers, session).opened() as made:
        servers.crash("new")
        results = made.results()
        assert results["new"].driver.failure == "new crashed"
        servers.options.clear()
        again = made.results()
    assert sorted(each.name for each in servers.up) == sorted([*NAMES, *NAMES])
    assert all(result.driver.failure is None for result in again.values())


def test_a_server_that_crashed_where_operations_are_slow_is_started_anew(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbhone.experiment.target.interleaved._MIN_EVENTS_PER_SLICE", 10**9)
    servers = Sleepers({"new": {"die": 20}})
    with OpenBlock(servers, session).opened() as made:
        servers.crash("new")
        made.results()
    assert made.slow == [("sleep", "slow-operations")]
    assert sorted(each.name for each in servers.up) == sorted([*NAMES, *NAMES])
    assert sorted(servers.fresh) == sorted(NAMES)


def test_a_server_that_did_not_start_is_told_and_the_others_are_measured(session: Session) -> None:
    with OpenBlock(Sleepers(refusing={"old"}), session).opened() as made:
        results = made.results()
    assert results["old"].driver.failure == "old did not start"
    assert results["new"].driver.failure is None


def test_a_trial_is_announced_once_for_each_subject(session: Session) -> None:
    told: list[int] = []
    with OpenBlock(Sleepers(), session).opened() as made:
        made.results(lambda _, done: told.append(done))
    assert told == [0, 1]


def test_an_interrupt_leaves_no_paused_client_and_no_file(session: Session) -> None:
    def interrupt(name: str, done: int) -> None:
        if done:
            raise KeyboardInterrupt

    with OpenBlock(Sleepers(), session).opened() as made, pytest.raises(KeyboardInterrupt):
        made.results(interrupt)
    assert nothing_runs()
    assert list(session.scratch.iterdir()) == []
