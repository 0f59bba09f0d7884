"""One heavy thing at a time."""

from __future__ import annotations

import threading

from dbhone.turn import machine_turn


def test_a_second_holder_waits_and_is_told_once() -> None:
    told: list[str] = []
    order: list[str] = []
    holding, release = threading.Event(), threading.Event()

    def first() -> None:
        with machine_turn(lambda: None):
            holding.set()
            release.wait()
            order.append("first")

    def waiting() -> None:
        told.append("waiting")
        release.set()

    thread = threading.Thread(target=first)
    thread.start()
    holding.wait()
    with machine_turn(waiting) as waited:
        order.append("second")
        assert waited > 0
    thread.join()
    assert order == ["first", "second"]
    assert told == ["waiting"]


def test_who_waits_comes_before_who_had_the_turn_last() -> None:
    order: list[str] = []
    wanted = threading.Event()

    def other() -> None:
        with machine_turn(wanted.set):
            order.append("other")

    thread = threading.Thread(target=other)
    with machine_turn(lambda: None):
        thread.start()
        wanted.wait()
    with machine_turn(lambda: None):
        order.append("again")
    thread.join()
    assert order == ["other", "again"]
