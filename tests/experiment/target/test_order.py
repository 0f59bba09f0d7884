"""The order of blocks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dbhone.experiment.target.order import block_order, layout_number, subject_order

NAMES = st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=8, unique=True).map(tuple)


@given(seed=st.integers(0, 2**32 - 1), block=st.integers(0, 1000), sets=NAMES, subjects=NAMES)
def test_a_block_is_every_set_on_every_subject_once(
    seed: int, block: int, sets: tuple[str, ...], subjects: tuple[str, ...]
) -> None:
    order = block_order(seed, block, sets, subjects)
    assert sorted(name for name, _ in order) == sorted(sets)
    assert all(sorted(each) == sorted(subjects) for _, each in order)
    assert order == block_order(seed, block, sets, subjects)


@given(seed=st.integers(0, 2**32 - 1), sets=NAMES, subjects=NAMES)
def test_an_ordered_block_keeps_the_order_of_its_sets(
    seed: int, sets: tuple[str, ...], subjects: tuple[str, ...]
) -> None:
    order = block_order(seed, 0, sets, subjects, ordered=True)
    assert tuple(name for name, _ in order) == sets
    assert all(sorted(each) == sorted(subjects) for _, each in order)


def test_every_subject_is_first_about_equally_often() -> None:
    subjects = ("a", "b", "c", "d")
    firsts = [block_order(1, block, ("main",), subjects)[0][1][0] for block in range(400)]
    assert all(70 < firsts.count(name) < 130 for name in subjects)


@given(seed=st.integers(0, 2**32 - 1), block=st.integers(0, 1000), subjects=NAMES)
def test_every_subject_has_one_turn_where_one_does_all_sets_at_a_time(
    seed: int, block: int, subjects: tuple[str, ...]
) -> None:
    assert sorted(subject_order(seed, block, subjects)) == sorted(subjects)
    assert subject_order(seed, block, subjects) == subject_order(seed, block, subjects)


@given(
    seed=st.integers(0, 2**32 - 1),
    turn=st.integers(0, 9),
    layouts=st.integers(1, 16),
    name=st.text(),
)
def test_each_layout_has_its_turn_before_one_comes_again(
    seed: int, turn: int, layouts: int, name: str
) -> None:
    blocks = range(turn * layouts, (turn + 1) * layouts)
    numbers = [layout_number(seed, block, name, layouts) for block in blocks]
    assert sorted(numbers) == list(range(1, layouts + 1))


def test_layouts_that_come_again_come_together_for_all_subjects() -> None:
    subjects = ("rel", "control", "lto")
    layouts = [tuple(layout_number(1, block, name, 8) for name in subjects) for block in range(40)]
    assert layouts == layouts[:8] * 5


def test_another_seed_is_another_order() -> None:
    orders = {block_order(seed, 0, ("m",), tuple("abcdef")) for seed in range(20)}
    assert len(orders) > 10
