"""What a search does next, by what its runs have found."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from dbhone.errors import BudgetSpentError, UsageError
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.declaration.templates import DesignOptions
from dbhone.experiment.execution.participants import left_out_warning
from dbhone.home import Home
from dbhone.measurement.machine import read_machine
from dbhone.measurement.record import Code, Run, RunState, Warning
from dbhone.measurement.sample_array import SampleArray
from dbhone.measurement.store import Store
from dbhone.report.formats.base import render
from dbhone.session import open_session
from dbhone.tuner.chain import Chain, EndedRun, Purpose, has_ended, runs_named
from dbhone.tuner.experiments import rung
from dbhone.tuner.inputs import Inputs
from dbhone.tuner.request import Request
from dbhone.tuner.results import all_tried, page_of, results, waterfall
from dbhone.tuner.search import (
    Decision,
    begun_elsewhere,
    keep_rejection,
    next_run,
    only_loses,
    run_search,
)
from dbhone.tuner.space import Candidate
from dbhone.verification.outcome import Grade
from tests.tuner.searches import (
    NAMES,
    TRUE,
    candidates_of,
    ended,
    purpose_of,
    request,
    request_for_servers,
    search,
)

INPUTS = Inputs(source="1" * 64, machine="this")


class PretendedStore:
    """A store that holds the runs of one search."""

    def __init__(self, runs: list[Run], found: list[SampleArray]) -> None:
        self._runs, self._found = runs, found

    def add_warning(self, number: int, warning: Warning) -> None:
        run = self._runs[number - 1]
        self._runs[number - 1] = replace(run, warnings=(*run.warnings, warning))

    def withdraw_warning(self, number: int, code: str, subject: str) -> None:
        run = self._runs[number - 1]
        kept = [each for each in run.warnings if (each.code, each.subject) != (code, subject)]
        self._runs[number - 1] = replace(run, warnings=tuple(kept))

    def runs(self) -> list[Run]:
        return self._runs

    def run(self, number: int) -> Run:
        return self._runs[number - 1]

    def samples(self, number: int) -> SampleArray:
        return self._found[number - 1]


def stored(finished: Sequence[EndedRun]) -> tuple[list[Run], Store]:
    """Return the runs of a search with their numbers, and a store that holds them."""
    runs = [replace(one.run, id=number) for number, one in enumerate(finished, start=1)]
    return runs, cast(Store, PretendedStore(runs, [one.samples for one in finished]))


def run_after(asked: Request, *finished: EndedRun) -> Experiment:
    """Return the run that comes next in a search that has not ended."""
    following = next_run(asked, Chain(finished))
    assert isinstance(following, Experiment)
    return following


def winner_of(decision: Decision) -> str | None:
    return None if decision.winner is None else decision.winner.name


def test_the_first_rung_measures_all_candidates_and_what_promises_most_comes_first() -> None:
    experiment = run_after(request())
    assert [each.name for each in experiment.subjects] == ["rel", *NAMES]
    assert all(each.optional for each in experiment.subjects[1:])
    assert experiment.design.max_blocks == 3
    assert experiment.design.budget_seconds < 3600


def test_the_best_wins_by_a_run_of_its_own_with_another_seed_verified() -> None:
    chain, decision = search(request(), TRUE)
    assert winner_of(decision) == "lto+pgo"
    assert decision.confirmed is chain.runs[-1]
    last = parse(chain.runs[-1].run.experiment, name="last")
    assert [each.name for each in last.subjects] == ["rel", "control", "lto+pgo"]
    assert last.verification is Grade.SMOKE
    seeds = [parse(each.run.experiment, name="x").design.seed for each in chain.runs]
    assert len(set(seeds)) == len(seeds)


def test_where_the_best_did_other_work_the_next_best_is_measured_afresh() -> None:
    asked = request()
    first = ended(run_after(asked), TRUE)
    confirmed = ended(run_after(asked, first), TRUE)
    refused = Warning(code="many-refused", text="", subject="lto+pgo")
    second = replace(confirmed, run=replace(confirmed.run, warnings=(refused,)))
    following = run_after(asked, first, second)
    assert candidates_of(following) == ["pgo"]
    decision = next_run(asked, Chain((first, second, ended(following, TRUE))))
    assert isinstance(decision, Decision)
    assert winner_of(decision) == "pgo"
    assert decision.rejected == {
        "lto+pgo": "its figures are not of the same work as the base's: transactions were refused"
    }


def test_candidates_that_are_close_are_measured_in_another_rung() -> None:
    close = TRUE | {"pgo": (1.3, 1.4)}
    chain, _ = search(request(), close)
    assert len(chain.choosing) > 1
    chain, _ = search(request(), TRUE)
    assert [each.purpose for each in chain.runs] == [Purpose.CHOOSE, Purpose.CONFIRM]


def test_a_winner_that_does_not_answer_right_gives_way_to_the_next_best() -> None:
    chain, decision = search(request(), TRUE, broken=("lto+pgo",))
    assert winner_of(decision) == "pgo"
    assert decision.rejected == {"lto+pgo": "it crashed"}
    statuses = {each.name: each.status for each in all_tried(chain, decision)}
    assert statuses["lto+pgo"] == "rejected: it crashed"
    assert statuses["pgo"] == "measured afresh"


@pytest.mark.parametrize(("tolerated", "winner"), [(0.03, "pgo"), (0.99, "lto+pgo")])
def test_a_winner_that_loses_on_a_step_gives_way_unless_that_is_allowed(
    tolerated: float, winner: str
) -> None:
    loses = TRUE | {"lto+pgo": (1.3, 0.8)}
    _, decision = search(request(tolerated=tolerated), loses)
    assert winner_of(decision) == winner
    assert bool(decision.rejected) is (tolerated < 0.5)


def test_a_larger_loss_would_let_win_only_what_lost_on_a_step() -> None:
    loses = TRUE | {"lto+pgo": (1.3, 0.8)}
    for effects, broken, only in (
        (loses, (), True),
        (TRUE, ("lto+pgo",), False),
        (loses, ("lto+pgo",), False),
        (TRUE, (), False),
    ):
        first = ended(run_after(request()), TRUE)
        confirmed = ended(run_after(request(), first), effects, broken)
        assert only_loses(Chain((first, confirmed)), "lto+pgo", 0.03) is only


def test_what_loses_on_a_step_while_choosing_is_not_measured_afresh() -> None:
    close = dict.fromkeys(NAMES, (1.3, 0.8)) | {"lto": (1.25, 1.25)}
    chain, decision = search(request(), close)
    assert winner_of(decision) == "lto"
    (confirmed,) = chain.confirming
    assert confirmed is decision.confirmed
    assert any("times as fast as the base" in reason for reason in decision.rejected.values())


def test_one_more_is_measured_afresh_beyond_the_budget_and_then_no_other() -> None:
    hurried = DesignOptions(budget=900, target=0.02, seed=1)
    chain, decision = search(request(design=hurried), TRUE, broken=NAMES)
    assert decision.winner is None
    assert len(chain.confirming) == 2
    assert set(decision.rejected.values()) == {
        "it crashed",
        "there was no time left to measure it afresh",
    }


def test_where_nothing_is_faster_nothing_wins() -> None:
    slower = dict.fromkeys(NAMES, (0.9, 0.9))
    chain, decision = search(request(), slower)
    assert decision == Decision(winner=None, confirmed=None)
    assert not chain.confirming


def test_levers_are_tried_on_the_best_build_only() -> None:
    asked = request_for_servers(levers=("jemalloc",))
    first = ended(run_after(asked), TRUE)
    following = run_after(asked, first)
    assert candidates_of(following) == ["lto+pgo", "lto+pgo+jemalloc"]


def test_a_lever_that_the_machine_lacks_takes_no_part_and_keeps_the_search_the_same() -> None:
    levers = ("jemalloc", "tcmalloc")
    asked = request_for_servers(levers=levers)
    without = replace(asked, left_out={"jemalloc": "it is not installed"})
    assert without.name == asked.name
    following = run_after(without, ended(run_after(asked), TRUE))
    assert candidates_of(following) == ["lto+pgo", "lto+pgo+tcmalloc"]


def test_a_single_survivor_is_confirmed_at_once_where_no_lever_is_available() -> None:
    asked = request_for_servers(
        levers=("jemalloc",),
        left_out={"jemalloc": "it is not installed"},
    )
    following = run_after(asked, ended(run_after(asked), TRUE))
    assert purpose_of(following) is Purpose.CONFIRM


def test_levers_are_not_tried_where_they_leave_too_little_time_for_the_survivors() -> None:
    close = TRUE | {"pgo": (1.3, 1.4)}
    asked = request_for_servers(
        levers=("jemalloc", "tcmalloc", "mimalloc", "huge-pages"),
    )
    first = ended(run_after(asked), close)
    block = first.block_seconds
    left = 4 * 3 * block  # Three blocks of three subjects fit, three of seven do not.
    budget = (first.run.seconds + left) / 0.7
    hurried = replace(asked, design=replace(asked.design, budget=budget))
    hurried = replace(hurried, grade=Grade.ANSWERS)
    following = run_after(hurried, first)
    assert set(candidates_of(following)) == {"lto+pgo", "pgo"}
    ample = run_after(replace(hurried, design=asked.design), first)
    assert len(candidates_of(ample)) == 6


def test_a_candidate_of_a_long_name_is_measured_with_levers_that_make_it_longer() -> None:
    long = Candidate.of("o3+native+lto+pgo+bolt", "clang-22", "clang-22")
    asked = request_for_servers(
        candidates=(long,),
        levers=("huge-pages", "jemalloc"),
    )
    first = ended(run_after(asked), {long.name: (1.3, 1.4)})
    following = run_after(asked, first)
    names = candidates_of(following)
    assert [each.name for each in following.subjects[1:]] == names
    assert [name.rpartition("+")[2] for name in names] == ["bolt", "huge-pages", "jemalloc"]
    second = ended(following, dict.fromkeys(names, (1.3, 1.4)))
    assert next_run(asked, Chain((first, second)))


def test_without_time_for_another_rung_the_best_so_far_is_confirmed() -> None:
    close = TRUE | {"pgo": (1.3, 1.4)}
    asked = request(design=DesignOptions(budget=570, target=0.02, seed=1))
    following = run_after(asked, ended(run_after(asked), close))
    assert purpose_of(following) is Purpose.CONFIRM


def test_a_search_of_something_else_is_another_chain_of_runs() -> None:
    assert request().name == request().name
    others = {
        request(tolerated=0.1).name,
        request(design=DesignOptions(budget=3600, target=0.02, seed=2)).name,
        request(source="apt:sqlite3=1").name,
        request(inputs=INPUTS).name,
        request(inputs=replace(INPUTS, source="2")).name,
        request(inputs=replace(INPUTS, machine="another")).name,
        request(inputs=replace(INPUTS, files="1")).name,
        request(inputs=replace(INPUTS, files="2")).name,
    }
    assert len(others | {request().name}) == 9


def test_a_run_whose_candidates_all_broke_has_ended_and_a_cut_off_one_has_not() -> None:
    following = run_after(request(), ended(run_after(request()), TRUE))
    run = ended(following, TRUE, broken=("lto+pgo",)).run
    assert has_ended(replace(run, state=RunState.FAILED))
    whole = ended(following, TRUE).run
    assert has_ended(whole)
    assert not has_ended(replace(whole, state=RunState.FAILED))
    assert not has_ended(replace(whole, state=RunState.RUNNING))


def test_a_rung_of_which_nothing_is_left_has_ended_and_what_was_sound_before_is_confirmed() -> None:
    asked = request_for_servers(levers=("jemalloc",))
    first = ended(run_after(asked), TRUE)
    following = run_after(asked, first)
    second = ended(following, TRUE, broken=("lto+pgo", "lto+pgo+jemalloc"))
    run = replace(second.run, state=RunState.FAILED)
    lacking = Warning(code=Code.LEFT_OUT, text="", subject="lto+pgo+jemalloc")
    described = tuple(each for each in run.subjects if each.name != lacking.subject)
    assert not has_ended(replace(run, subjects=described))
    run = replace(run, subjects=described, warnings=(lacking,))
    assert has_ended(run)
    confirming = run_after(asked, first, replace(second, run=run))
    assert candidates_of(confirming) == ["pgo"]


def test_a_run_whose_candidates_were_all_left_out_is_tried_again() -> None:
    run = ended(run_after(request()), TRUE, broken=NAMES).run
    lacking = tuple(Warning(code=Code.LEFT_OUT, text="", subject=name) for name in NAMES)
    failed = replace(run, state=RunState.FAILED, subjects=run.subjects[:1], warnings=lacking)
    assert not has_ended(failed)


def test_a_run_that_was_cut_off_goes_on_before_another_is_made(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    asked, look = request(inputs=INPUTS), lambda _: INPUTS
    executed: list[tuple[str, int]] = []

    def execute(experiment: Experiment, run: Run) -> None:
        executed.append((experiment.name, run.id))
        if len(executed) == 1:
            raise KeyboardInterrupt
        store.update_run(run.id, state=RunState.DONE)

    with (
        pytest.raises(KeyboardInterrupt),
        open_session(home) as session,
        Store.open(home.database) as store,
    ):
        run_search(asked, session, store, execute, look)
    with open_session(home) as session, Store.open(home.database) as store:
        decision = run_search(asked, session, store, execute, look)
    name = f"{asked.name}-choose-1"
    assert executed == [(name, 1), (name, 1)]
    assert decision.winner is None


def test_a_run_whose_builds_took_all_of_its_budget_is_given_time_to_measure_them(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path / "home")
    budgets: list[float] = []

    def execute(experiment: Experiment, run: Run) -> None:
        budgets.append(experiment.design.budget_seconds)
        if experiment.design.budget_seconds < 5000:
            raise BudgetSpentError("the budget is too small", enough=5000.0, hint="")
        store.update_run(run.id, state=RunState.DONE)

    with open_session(home) as session, Store.open(home.database) as store:
        run_search(request(inputs=INPUTS), session, store, execute, lambda _: INPUTS)
        assert store.run(1).design.budget_seconds == budgets[1]
    first, second = budgets
    assert first < 3600
    assert second > 5000


@pytest.mark.parametrize(
    ("now", "changed"),
    [
        (replace(INPUTS, source="2" * 64), "source"),
        (replace(INPUTS, files="3"), "workload"),
        (replace(INPUTS, machine="another"), "machine"),
    ],
)
def test_what_has_changed_since_a_search_began_is_noticed_before_the_next_run(
    now: Inputs, changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "home")
    executed: list[int] = []

    def execute(experiment: Experiment, run: Run) -> None:
        del experiment
        executed.append(run.id)
        store.update_run(run.id, state=RunState.DONE)

    def always_another(asked: Request, chain: Chain) -> Experiment:
        return rung(asked, asked.candidates, len(chain.runs), 600.0)

    monkeypatch.setattr("dbhone.tuner.search.next_run", always_another)
    with open_session(home) as session, Store.open(home.database) as store:
        with pytest.raises(UsageError, match=f"the {changed} is no longer what it was") as error:
            run_search(request(inputs=INPUTS), session, store, execute, lambda _: now)
        assert executed == [1]
        assert "the same command again begins another search" in (error.value.hint or "")
        with pytest.raises(UsageError):
            run_search(request(inputs=now), session, store, execute, lambda _: INPUTS)
        assert executed == [1, 2]


def test_a_search_on_another_machine_or_kernel_begins_again_and_the_earlier_one_is_known(
    tmp_path: Path,
) -> None:
    asked = request(inputs=INPUTS)

    def interrupted(experiment: Experiment, run: Run) -> None:
        raise KeyboardInterrupt

    with (
        open_session(Home(tmp_path / "home")) as session,
        Store.open(session.home.database) as store,
    ):
        with pytest.raises(KeyboardInterrupt):
            machine = read_machine().fingerprint
            before = request(inputs=replace(INPUTS, machine=machine))
            run_search(before, session, store, interrupted, lambda _: INPUTS)
        assert runs_named(asked.name, store) == []
        earlier = begun_elsewhere(asked, store)
        assert earlier is not None
        assert [run.id for run in runs_named(before.name, store)] == [earlier.id]
        assert begun_elsewhere(before, store) is None
        assert begun_elsewhere(replace(asked, tolerated=0.5), store) is None
        with pytest.raises(KeyboardInterrupt):
            run_search(asked, session, store, interrupted, lambda _: INPUTS)
        assert len(runs_named(asked.name, store)) == 1


def test_the_waterfall_goes_from_the_base_to_the_winner_by_what_was_measured() -> None:
    chain, decision = search(request(), TRUE)
    assert decision.winner is not None
    stages = waterfall(chain, decision.winner)
    assert [each.stage for each in stages] == ["lto", "pgo"]
    assert stages[0].ratio * stages[1].ratio == pytest.approx(1.3, rel=0.03)
    assert all(each.low is not None and each.low <= each.ratio for each in stages)


def test_the_page_of_the_winner_tells_of_the_search() -> None:
    chain, decision = search(request(), TRUE, broken=("lto+pgo",))
    runs, store = stored(chain.runs)
    assert page_of(runs[0], store).search is None
    page = page_of(runs[-1], store)
    assert page.search == results(chain, decision)
    html = render(page, "html").decode()
    assert "What each stage brought" in html
    assert "rejected: it crashed" in html
    assert html.count('class="whisker"') > 2


def test_a_winner_whose_choosing_runs_were_deleted_has_a_page_without_the_search() -> None:
    chain, _ = search(request(), TRUE)
    (winner,), store = stored(chain.runs[-1:])
    page = page_of(winner, store)
    assert page.winner is not None
    assert page.search is None


def test_a_candidate_whose_rung_was_deleted_wins_nothing_and_the_search_goes_on() -> None:
    asked = request_for_servers(levers=("jemalloc",))
    lever = "lto+pgo+jemalloc"
    faster = TRUE | {lever: (1.5, 1.6)}
    first = ended(run_after(asked), faster)
    second = ended(run_after(asked, first), faster)
    confirmed = ended(run_after(asked, first, second), faster)
    assert confirmed.confirmed == lever
    following = run_after(asked, first, confirmed)
    assert candidates_of(following) == ["lto+pgo"]
    assert following.name != confirmed.run.experiment_name


def test_the_page_of_a_rejected_candidate_has_no_winner_and_says_why() -> None:
    loses = TRUE | {"lto+pgo": (1.3, 0.8)}
    allowed, _ = search(request(tolerated=0.99), loses)
    runs, store = stored(allowed.runs)
    assert page_of(runs[-1], store).winner is not None
    rejected = keep_rejection(request(), runs[-1], store)
    page = page_of(rejected, store)
    assert page.winner is None
    assert " times as fast as rel" in page.headline
    assert "But it was rejected: on " in page.headline
    assert page.search is not None
    assert next(each for each in page.search.tried if each.name == "lto+pgo").status.startswith(
        "rejected: on "
    )


def test_a_confirming_run_that_another_command_ended_gets_its_warning(tmp_path: Path) -> None:
    asked = request(design=DesignOptions(budget=900, target=0.02, seed=1))
    chain, _ = search(asked, TRUE, broken=NAMES)
    runs, store = stored(chain.runs)

    def execute(experiment: Experiment, run: Run) -> None:
        raise AssertionError(f"{experiment.name} has ended as run {run.id}")

    with open_session(Home(tmp_path / "home")) as session:
        run_search(asked, session, store, execute, lambda _: INPUTS)
    assert [dict(run.rejected) for run in runs] == [
        {one.confirmed: "it crashed"} if one.purpose is Purpose.CONFIRM else {}
        for one in chain.runs
    ]


def test_a_rejection_is_withdrawn_once_nothing_speaks_against_the_candidate_any_more() -> None:
    chain, _ = search(request(), TRUE)
    last = chain.runs[-1]
    other = Warning(code=Code.REJECTED, text="it crashed", subject="pgo")
    stale = Warning(code=Code.REJECTED, text="a test failed", subject=last.confirmed)
    run = replace(last.run, warnings=(*last.run.warnings, other, stale))
    (run,), store = stored([replace(last, run=run)])
    kept = keep_rejection(request(), run, store)
    assert dict(kept.rejected) == {"pgo": "it crashed"}


def test_a_run_that_nothing_speaks_against_gets_no_warning() -> None:
    chain, _ = search(request(), TRUE)
    runs, store = stored(chain.runs)
    for run in tuple(runs):
        assert keep_rejection(request(), run, store) is run


def test_what_was_left_out_is_told_with_its_reason() -> None:
    chain, decision = search(request(), TRUE)
    warning = Warning(code="left-out", text="clang was left out: no clang", subject="clang")
    kept = (left_out_warning("bolt", "no BOLT"), warning)
    first = replace(chain.runs[0], run=replace(chain.runs[0].run, warnings=kept))
    rows = {each.name: each.status for each in all_tried(Chain((first, *chain.runs[1:])), decision)}
    assert rows["clang"] == "no clang"
    assert rows["bolt"] == "no BOLT"


def test_the_first_run_keeps_what_was_left_out_of_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "home")

    def execute(_: Experiment, run: Run) -> None:
        store.update_run(run.id, state=RunState.DONE)

    def two_rungs(asked: Request, chain: Chain) -> Experiment | Decision:
        if len(chain.runs) < 2:
            return rung(asked, asked.candidates, len(chain.runs), 600.0)
        return Decision(winner=None, confirmed=None)

    monkeypatch.setattr("dbhone.tuner.search.next_run", two_rungs)
    asked = request(inputs=INPUTS, left_out={"lto+bolt": "no BOLT"})
    with open_session(home) as session, Store.open(home.database) as store:
        run_search(asked, session, store, execute, lambda _: INPUTS)
        kept = [run.warnings for run in runs_named(asked.name, store)]
    assert kept == [(left_out_warning("lto+bolt", "no BOLT"),), ()]
