"""In which order blocks are measured, and on which random data.

All of it depends on the arguments alone: a resumed run is as an uninterrupted one.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from dbhone.workload.task import Task

T = TypeVar("T")

_LARGEST_SEED = 2**31 - 1


def block_order(
    seed: int,
    block: int,
    sets: tuple[str, ...],
    subjects: tuple[str, ...],
    *,
    ordered: bool = False,
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the order of a block: the sets, and for each set all subjects.

    All subjects do a set one right after the other, so that what is compared lies seconds
    apart. With ``ordered`` the sets stay as they are given, because each works on what those
    before it left.
    """
    chance = random.Random(f"{seed}/{block}")
    names = sets if ordered else tuple(chance.sample(sets, len(sets)))
    return tuple((name, tuple(chance.sample(subjects, len(subjects)))) for name in names)


def subject_order(seed: int, block: int, subjects: tuple[str, ...]) -> tuple[str, ...]:
    """Return the order of the subjects in a block where each completes all sets at once."""
    return tuple(random.Random(f"{seed}/{block}/subjects").sample(subjects, len(subjects)))


def round_order(
    seed: int, block: int, set: str, round: int, subjects: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the order of the subjects in a round of short slices."""
    return tuple(random.Random(f"{seed}/{block}/{set}/{round}").sample(subjects, len(subjects)))


def data_seed(seed: int, block: int) -> int:
    """Return the seed of a block's random data, from 1 to 2^31 - 2."""
    return random.Random(f"{seed}/{block}/data").randrange(1, _LARGEST_SEED)


def task_order(seed: int, block: int) -> int:
    """Return the number from which drivers derive the order of what they do in a block."""
    return random.Random(f"{seed}/{block}/order").randrange(_LARGEST_SEED)


def layout_number(seed: int, block: int, subject: str, layouts: int) -> int:
    """Return which layout of its code a subject has in a block, from 1 to ``layouts``.

    Each has its turn before they come again in the same order, so that blocks of the same layout
    of one subject have the same of all: ``SampleArray.in_layouts`` relies on it.
    """
    chance = random.Random(f"{seed}/{subject}/layouts")
    return chance.sample(range(1, layouts + 1), layouts)[block % layouts]


@dataclass(frozen=True, slots=True)
class BlockSeed:
    """What is random in a block: its data, the order of what clients do, and layouts of code.

    ``data`` is None where the data is always the same. ``seed`` is that of the experiment.
    """

    data: int | None = None
    order: int = 0
    seed: int = 0
    block: int = 0

    @classmethod
    def of_block(cls, seed: int, block: int, *, fresh_data: bool) -> BlockSeed:
        """Return what is random in a block; ``fresh_data`` says whether its data is."""
        data = data_seed(seed, block) if fresh_data else None
        return cls(data, task_order(seed, block), seed, block)

    def cpu(self, cpus: Iterable[int]) -> int:
        """Return the one of these CPUs on which whatever has only one runs in the block."""
        return random.Random(f"{self.seed}/{self.block}/cpu").choice(sorted(cpus))

    def client_cores(self, cores: Sequence[T], count: int) -> list[T]:
        """Return those of these cores that clients have for themselves in the block."""
        return random.Random(f"{self.seed}/{self.block}/cores").sample(cores, count)

    def in_layout(self, subject: str, usual: T, layouts: Sequence[T]) -> T:
        """Return what a subject runs in the block: one of its layouts, the usual if it has none."""
        if not layouts:
            return usual
        return layouts[layout_number(self.seed, self.block, subject, len(layouts)) - 1]

    def apply_to(self, task: Task) -> Task:
        """Return the task on the block's data, in the block's order."""
        ordered = task.in_order(self.order)
        return ordered if self.data is None else ordered.with_seed(self.data)
