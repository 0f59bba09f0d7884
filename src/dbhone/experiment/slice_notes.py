"""What a reader should know of the short slices of a run. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from dbhone.measurement.record import Slice, Sliced
from dbhone.units import count_of


def slice_notes(sliced: Sequence[Sliced]) -> Iterator[tuple[str, str]]:
    """Yield the code and the text of a footnote for each thing to tell of these slices."""
    passes: dict[tuple[int, str], tuple[Slice, ...]] = {}
    for each in sliced:
        known = passes.get((each.block, each.set), ())
        passes[each.block, each.set] = max(known, each.slices, key=len)
    if not passes:
        return
    typical = statistics.median(one.seconds for slices in passes.values() for one in slices)
    rounds = statistics.median_high(len(slices) for slices in passes.values())
    yield (
        "short-slices",
        "it was measured in short slices: the clients of all subjects stayed connected, frozen but"
        f" for one's; a slice took {typical:.2g} s, and a step had {count_of(rounds, 'round')} in a"
        " block, each with a slice of every subject; slices in a burst or a stall count less",
    )
    left_out = sum(not one.counted for slices in passes.values() for one in slices)
    total = sum(len(slices) for slices in passes.values())
    if left_out:
        yield (
            "unsettled",
            f"{left_out} of {count_of(total, 'round')} at the beginning of passes"
            f" {'was' if left_out == 1 else 'were'} left out: the servers had not settled, or the"
            " slices were too short for what they were asked",
        )
