"""What was made is kept while it holds, and no longer."""

from __future__ import annotations

import threading

import pytest

from dbhone.serve.run_service import Cache


def test_a_thing_is_made_once_while_what_it_is_made_of_stays() -> None:
    cache: Cache[str] = Cache(2)
    made: list[int] = []

    def make() -> str:
        made.append(1)
        return f"made {len(made)}"

    first = cache.get("key", {"of": 1}, make)
    assert cache.get("key", {"of": 1}, make) is first
    second = cache.get("key", {"of": 2}, make)
    assert (first, second) == ("made 1", "made 2")
    assert cache.find("key", {"of": 1}) is None


def test_the_one_that_was_wanted_longest_ago_goes_first() -> None:
    cache: Cache[str] = Cache(2)
    for key in ("a", "b"):
        cache.get(key, None, lambda: "x")
    cache.get("a", None, lambda: "y")
    cache.get("c", None, lambda: "z")
    assert cache.find("b", None) is None
    assert cache.find("a", None) == "x"


def test_an_empty_text_is_kept_as_any_other() -> None:
    cache: Cache[str] = Cache(2)
    assert cache.get("key", None, lambda: "") == ""
    assert cache.get("key", None, lambda: "made again") == ""


def test_what_cannot_be_made_is_not_kept() -> None:
    cache: Cache[float] = Cache(2)
    with pytest.raises(ZeroDivisionError):
        cache.get("key", None, lambda: 1 / 0)
    assert cache.get("key", None, lambda: 1.0) == 1.0


def test_who_wants_what_another_is_making_gets_that() -> None:
    cache: Cache[str] = Cache(2)
    makes, may_end = threading.Event(), threading.Event()
    made: list[str] = []

    def make() -> str:
        makes.set()
        assert may_end.wait(60)
        made.append("once")
        return "once"

    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append(cache.get("key", None, make)))
        for _ in range(2)
    ]
    for each in threads:
        each.start()
    assert makes.wait(60)
    may_end.set()
    for each in threads:
        each.join()
    assert (found, made) == (["once", "once"], ["once"])
