"""What a method is: how it measures, and what it then says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.statistics.piece import Array, Piece

ALPHA = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a method says of many runs, runs x steps each, of logarithms of ratios.

    ``different`` is where it tells of a difference; ``low`` to ``high`` its 95 % interval, None
    if it has none.
    """

    ratio: Array
    different: NDArray[np.bool_]
    low: Array | None = None
    high: Array | None = None

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Where the interval holds the truth, which is no difference; there is an interval."""
        assert self.low is not None
        assert self.high is not None
        covered: NDArray[np.bool_] = (self.low <= 0) & (self.high >= 0)
        return covered


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way to measure and to tell.

    ``seen`` returns the logarithms of the rates that it would have measured in the time of a
    piece: runs x steps x repetitions x subjects. ``judge`` tells what they say. A method that
    is ``in_blocks`` has one repetition for each restart, so that a longer run is a shorter one
    and more. One that is not ``on_traces`` measures in an order that cannot be cut out of a
    trace. One that is ``over_steps`` judges all steps as one.
    """

    title: str
    seen: Callable[[Piece], Array]
    judge: Callable[[Array], Judged]
    in_blocks: bool = False
    on_traces: bool = True
    over_steps: bool = False


def growing(method: Method, piece: Piece) -> Callable[[int], Array]:
    """Return what tells what a method would have seen after so many restarts of a piece."""
    if not method.in_blocks:
        return lambda restarts: method.seen(piece.first(restarts))
    whole = method.seen(piece)
    return lambda restarts: whole[..., :restarts, :]
