"""What is shown of a run where there is no terminal."""

from __future__ import annotations

import dataclasses
import io
import time

import pytest
from rich.console import Console

from dbhone.cli import progress
from dbhone.cli.progress import shown
from dbhone.experiment.plan.events import (
    Began,
    BlockEnded,
    Detail,
    Ended,
    Event,
    InvocationStarted,
    Note,
    Stage,
    WaitBegan,
    WaitEnded,
)

COMPILING = Detail(text="compile")
INVOCATION = InvocationStarted(block=0, set="main", subject="rel", number=1, total=6, left=0.0)
BLOCK = BlockEnded(block=2, seconds=20.0, typical=None, widest=None, left=None)
ENDED = Ended(stage=Stage.BUILD, what="lto+pgo", seconds=870.0, reused=False, note="")


def lines_of(*events: Event, verbose: bool = False) -> list[str]:
    stream = io.StringIO()
    with shown(Console(file=stream, width=80), verbose=verbose) as listen:
        for event in events:
            listen(event)
    return stream.getvalue().splitlines()


def live_line(display: progress._Display) -> str:
    stream = io.StringIO()
    Console(file=stream, width=140).print(display)
    return stream.getvalue()


def a_build(expected: float | None) -> Began:
    return Began(stage=Stage.BUILD, what="lto+pgo", number=2, total=3, expected=expected, left=None)


def test_something_long_is_told_when_it_begins() -> None:
    waiting = Note(text="waiting")
    assert lines_of(a_build(840.0), waiting, Detail(text="configure"), COMPILING, ENDED) == [
        "     note  waiting",
        "    build  lto+pgo: begun, about 14 m 00 s",
        "    build  lto+pgo  (14 m 30 s)",
    ]


def test_what_waited_for_another_hone_before_it_was_done_is_told_when_it_begins() -> None:
    waited = (WaitBegan(other="another hone"), WaitEnded())
    lines = lines_of(a_build(840.0), *waited, COMPILING)
    assert lines == ["    build  lto+pgo: begun, about 14 m 00 s"]


def test_something_short_is_told_when_it_ends_only() -> None:
    assert lines_of(a_build(20.0), COMPILING, a_build(None), COMPILING) == []


def test_what_turns_out_to_be_there_from_before_is_not_said_to_begin() -> None:
    kept = dataclasses.replace(ENDED, reused=True)
    assert lines_of(a_build(840.0), kept, COMPILING) == ["    build  lto+pgo  (kept from before)"]


def test_a_note_is_told_as_it_is() -> None:
    assert lines_of(Note(text="5 s of [this]")) == ["     note  5 s of [this]"]


def test_while_another_hone_has_the_machine_it_is_named_and_the_clock_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    display = progress._Display(Console(file=io.StringIO()))
    display.listen(dataclasses.replace(a_build(840.0), left=600.0))
    now += 60
    display.listen(WaitBegan(other="another hone (process 7: hone try)"))
    now += 300
    assert "waiting for another hone (process 7: hone try): 5 m 00 s" in live_line(display)
    assert "at most 9 m 00 s left" in live_line(display)
    display.listen(WaitEnded())
    assert "1 m 00 s of about 14 m 00 s" in live_line(display)
    assert "at most 9 m 00 s left" in live_line(display)


def test_a_step_that_takes_longer_than_expected_says_by_how_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    display = progress._Display(Console(file=io.StringIO()))
    display.listen(dataclasses.replace(a_build(840.0), left=900.0))
    now += 840
    assert "14 m 00 s of about 14 m 00 s" in live_line(display)
    now += 45
    assert "14 m 45 s, 45.0 s longer than expected" in live_line(display)
    assert "at most 15.0 s left" in live_line(display)


def test_a_budget_that_is_used_up_is_said_to_be_exceeded(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    display = progress._Display(Console(file=io.StringIO()))
    display.listen(dataclasses.replace(a_build(None), left=30.0))
    now += 50
    assert "over the budget by 20.0 s" in live_line(display)
    display.listen(INVOCATION)
    now += 5
    assert "over the budget by 25.0 s" in live_line(display)


@pytest.mark.parametrize(
    ("left", "said"), [(600.0, "at most 10 m 00 s left"), (0.0, "the budget is used up")]
)
def test_a_blocks_end_says_what_is_left_of_the_budget(left: float, said: str) -> None:
    (line,) = lines_of(dataclasses.replace(BLOCK, left=left))
    assert line == f"  measure  block 3  (20.0 s; {said})"


def test_a_verbose_hone_tells_the_first_detail_of_something_long_too() -> None:
    lines = lines_of(a_build(840.0), Detail(text="configure"), COMPILING, verbose=True)
    assert [line.split()[-1] for line in lines] == ["begun", "configure", "compile"]


def test_a_verbose_hone_tells_every_step() -> None:
    assert lines_of(a_build(20.0), COMPILING, ENDED, verbose=True) == [
        "    build  lto+pgo: begun",
        "           compile",
        "    build  lto+pgo  (14 m 30 s)",
    ]
