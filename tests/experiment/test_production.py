"""What makes builds and profiles takes turns with other hones."""

from __future__ import annotations

import os
import threading

from dbhone.experiment.events import Event, Note
from dbhone.experiment.production import Workshop
from dbhone.home import Session
from dbhone.turn import machine_turn


def test_a_wait_for_another_hone_counts_while_it_lasts_and_no_longer(session: Session) -> None:
    holding, release = threading.Event(), threading.Event()
    told: list[Event] = []

    def other() -> None:
        with machine_turn(lambda _: None):
            holding.set()
            release.wait()

    def listen(event: Event) -> None:
        told.append(event)
        sofar = workshop.waited
        while workshop.waited <= sofar:
            pass
        release.set()

    workshop = Workshop(session, listen)
    thread = threading.Thread(target=other)
    thread.start()
    holding.wait()
    during = workshop.in_turn(lambda: workshop.waited)
    thread.join()
    told_whom = f"another hone (process {os.getpid()})"
    assert told == [Note(text=f"{told_whom} is building or measuring here: taking turns")]
    assert during > 0
    assert workshop.waited == during
