"""What is shown of a run where there is no terminal."""

from __future__ import annotations

import dataclasses
import io

from rich.console import Console

from dbhone.cli.progress import shown
from dbhone.experiment.events import Began, Detail, Ended, Event, Note, Stage

COMPILING = Detail(text="compile")
ENDED = Ended(stage=Stage.BUILD, what="lto+pgo", seconds=870.0, reused=False, note="")


def lines_of(*events: Event) -> list[str]:
    stream = io.StringIO()
    with shown(Console(file=stream, width=80)) as listen:
        for event in events:
            listen(event)
    return stream.getvalue().splitlines()


def a_build(expected: float | None) -> Began:
    return Began(stage=Stage.BUILD, what="lto+pgo", number=2, total=3, expected=expected, left=None)


def test_something_long_is_told_when_it_begins() -> None:
    waiting = Note(text="waiting")
    assert lines_of(a_build(840.0), waiting, Detail(text="configure"), COMPILING, ENDED) == [
        "     note  waiting",
        "    build  lto+pgo: begun, about 14 m 00 s",
        "    build  lto+pgo  (14 m 30 s)",
    ]


def test_something_short_is_told_when_it_ends_only() -> None:
    assert lines_of(a_build(20.0), COMPILING, a_build(None), COMPILING) == []


def test_what_turns_out_to_be_there_from_before_is_not_said_to_begin() -> None:
    kept = dataclasses.replace(ENDED, reused=True)
    assert lines_of(a_build(840.0), kept, COMPILING) == ["    build  lto+pgo  (kept from before)"]


def test_a_note_is_told_as_it_is() -> None:
    assert lines_of(Note(text="5 s of [this]")) == ["     note  5 s of [this]"]
