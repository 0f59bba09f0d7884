"""The kinds of noise: a list. To add one, add an entry, and a function if its cause is new.

On those of ``CHOSEN_ON`` dbhone's method was chosen, on *long stalls* and *one step stalls* what it
makes of stalls; all others only judge it. Those of ``SERVERS`` are what one server does by itself,
or what starts of servers do; with them it is judged whether verdicts keep their promise, but not
what others do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.statistics import noise
from benchmarks.statistics.noise import Noise
from benchmarks.statistics.piece import Piece, Plan

USUAL = Plan(restarts=15)
"""Runs of 30 minutes, of which most figures are."""
LONGEST = Plan(restarts=30)
"""The longest runs that are tried."""
_SLOW = Plan(restarts=6, restart_seconds=200)
"""Runs of 30 minutes in which a restart takes minutes, as it does with large data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of noise: its name, what it is in a few words, and what makes it.

    ``plan`` is how a run of half an hour spends its time, ``longest`` how the longest run that is
    tried spends it. A kind that is ``recorded`` is of real servers.
    """

    name: str
    text: str
    noise: Noise
    plan: Plan = USUAL
    longest: Plan = LONGEST
    recorded: bool = False

    def piece(self, runs: int, plan: Plan, seed: int) -> Piece:
        """Return so many runs. Their random numbers do not depend on what other kinds there are."""
        return self.noise(np.random.default_rng([seed, *self.name.encode()]), runs, plan)


CHOSEN_ON = (
    Kind(name="quiet", text="normal, 3 % for a slice", noise=noise.quiet),
    Kind(
        name="heavy",
        text="heavy tails: Student's t with 3 degrees of freedom, 10 %",
        noise=noise.heavy,
    ),
    Kind(
        name="bursts",
        text="ten times as large for three minutes, again and again, three tenths of the time",
        noise=noise.bursts,
    ),
    Kind(
        name="humps",
        text="a neighbour takes a fifth for two seconds, again and again, two fifths of the time",
        noise=noise.humps,
    ),
    Kind(
        name="stalls",
        text="mostly little time is lost, sometimes much: one-sided",
        noise=noise.stalls,
    ),
)
HELD_OUT = (
    Kind(
        name="drift",
        text="the machine becomes slower by a tenth in half an hour, and wanders as much",
        noise=noise.drift,
    ),
    Kind(
        name="uneven starts",
        text="each start of a server is faster or slower, by 1 %, half of it step by step",
        noise=noise.uneven_starts,
    ),
    Kind(
        name="odd starts",
        text="one start in twenty is off by some 10 %",
        noise=noise.odd_starts,
    ),
    Kind(
        name="waves",
        text="autocorrelation: waves of 20 s that both servers ride, and each server's own of 5 s",
        noise=noise.waves,
    ),
    Kind(
        name="everything",
        text="all of these but odd starts, each a little less",
        noise=noise.everything,
    ),
)
SERVERS = (
    Kind(
        name="uniform",
        text="light tails: each start of one server is off by anything up to 10 %, step by step",
        noise=noise.uniform,
    ),
    Kind(
        name="uniform, few blocks",
        text="the same, where a restart takes 200 s: 6 blocks",
        noise=noise.uniform,
        plan=_SLOW,
    ),
    Kind(
        name="uniform, 32 steps",
        text="the same, with 32 steps of 4 rounds: 6 blocks",
        noise=noise.uniform,
        plan=Plan(restarts=6, steps=32, rounds=4, restart_seconds=172),
    ),
    Kind(
        name="two levels",
        text="two humps: each start is good or bad, evenly, by 5 %, step by step",
        noise=noise.two_levels,
    ),
    Kind(
        name="two levels, few blocks",
        text="the same, where a restart takes 200 s: 6 blocks",
        noise=noise.two_levels,
        plan=_SLOW,
    ),
    Kind(
        name="uneven starts, few blocks",
        text="*uneven starts*, where a restart takes 200 s: 6 blocks",
        noise=noise.uneven_starts,
        plan=_SLOW,
    ),
    *(
        Kind(
            name=f"long stalls, {share:.0%}",
            text=f"one server stands still for {share:.0%} of the time, 2 s each, and is as much"
            " faster in between",
            noise=partial(noise.long_stalls, share=share),
        )
        for share in (0.05, 0.1, 0.2)
    ),
    Kind(
        name="both stall",
        text="each server stands still for 4 % of the time, 1 s each",
        noise=noise.both_stall,
    ),
    Kind(
        name="one step stalls",
        text="on one step one server stands still for 8 % of the time, 1.5 s each, and is as much"
        " faster in between",
        noise=noise.stalls_of_one_step,
    ),
    Kind(
        name="slow starts",
        text="*uneven starts*, and one start in ten of one server is a fifth slower, and the others"
        " as much faster",
        noise=noise.slow_starts,
    ),
    Kind(
        name="drawn layouts",
        text="two builds of one source; each start has a layout of its own, off by 1.3 % on a step",
        noise=noise.layouts,
    ),
    Kind(
        name="eight layouts",
        text="the same, but each build has eight layouts, which take turns",
        noise=partial(noise.layouts, count=8),
    ),
    Kind(
        name="one layout",
        text="the same, but each build has one layout, and it is asked whether the sources differ",
        noise=partial(noise.layouts, count=1),
    ),
)


def table(kinds: Sequence[Kind]) -> str:
    """Return what noises there are, as a table."""
    rows = [f"| {each.name} | {each.text} |" for each in kinds]
    return "\n".join(["| noise | what it is |", "| --- | --- |", *rows]) + "\n"
