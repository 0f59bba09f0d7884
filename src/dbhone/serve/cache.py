"""Keeps what was made of runs: a report takes seconds to make and is asked for again and again."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept(Generic[T]):
    """Something that was made. ``number`` tells it from all else that its shelf ever had."""

    value: T
    made_of: object
    number: int


class Cache(Generic[T]):
    """Keeps the ``most`` things that were wanted last, each while what it was made of stays.

    Threads may use it at once. It makes one thing at a time: a machine that is being measured
    should not be kept busier than that.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, Kept[T]] = OrderedDict()
        self._looking = threading.Lock()
        self._making = threading.Lock()
        self._numbers = itertools.count(1)

    def find(self, key: Hashable, made_of: object) -> Kept[T] | None:
        """Return what is kept under ``key`` if it was made of an equal ``made_of``."""
        with self._looking:
            kept = self._kept.get(key)
            if kept is None or kept.made_of != made_of:
                return None
            self._kept.move_to_end(key)
            return kept

    def get(self, key: Hashable, made_of: object, make: Callable[[], T]) -> Kept[T]:
        """Return what is kept under ``key``, or make it. What ``make`` raises is not kept."""
        found = self.find(key, made_of)
        if found is not None:
            return found
        with self._making:
            found = self.find(key, made_of)  # another thread may have made it meanwhile
            return found or self._keep(key, made_of, make())

    def _keep(self, key: Hashable, made_of: object, value: T) -> Kept[T]:
        kept = Kept(value=value, made_of=made_of, number=next(self._numbers))
        with self._looking:
            self._kept[key] = kept
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return kept
