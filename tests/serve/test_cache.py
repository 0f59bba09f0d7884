"""What was made is kept while it holds, and no longer."""

from __future__ import annotations

import threading

import pytest

from dbhone.serve.run_service import Cache


def test_a_thing_is_made_once_while_what_it_is_made_of_stays() -> None:
    shelf: Cache[str] = Cache(2)
    made: list[int] = []

    def make() -> str:
        made.append(1)
        return f"made {len(made)}"

    first = shelf.get("key", {"of": 1}, make)
    assert shelf.get("key", {"of": 1}, make) is first
    second = shelf.get("key", {"of": 2}, make)
    assert (first.value, second.value) == ("made 1", "made 2")
    assert first.number != second.number
    assert shelf.find("key", {"of": 1}) is None


def test_the_one_that_was_wanted_longest_ago_goes_first() -> None:
    shelf: Cache[str] = Cache(2)
    for key in ("a", "b"):
        shelf.get(key, None, lambda: "x")
    shelf.get("a", None, lambda: "y")
    shelf.get("c", None, lambda: "z")
    assert shelf.find("b", None) is None
    kept = shelf.find("a", None)
    assert kept is not None
    assert kept.value == "x"


def test_what_cannot_be_made_is_not_kept() -> None:
    shelf: Cache[float] = Cache(2)
    with pytest.raises(ZeroDivisionError):
        shelf.get("key", None, lambda: 1 / 0)
    assert shelf.get("key", None, lambda: 1.0).value == 1.0


def test_who_wants_what_another_is_making_gets_that() -> None:
    shelf: Cache[str] = Cache(2)
    makes, may_end = threading.Event(), threading.Event()
    made: list[str] = []

    def make() -> str:
        makes.set()
        assert may_end.wait(60)
        made.append("once")
        return "once"

    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append(shelf.get("key", None, make).value))
        for _ in range(2)
    ]
    for each in threads:
        each.start()
    assert makes.wait(60)
    may_end.set()
    for each in threads:
        each.join()
    assert (found, made) == (["once", "once"], ["once"])
