"""Flame graphs of two servers: frames lie within their callers, and names are escaped."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.analysis.explained_rounds import Call, CodeOrigin, Round, Work
from dbhone.report.explanation import explanation
from dbhone.report.flame import Frame, explanation_page, frames

NAMES = st.lists(st.sampled_from("abcd"), min_size=1, max_size=5)
STACKS = st.dictionaries(NAMES.map(tuple), st.integers(min_value=1, max_value=50), min_size=1)


def rounds(stacks: dict[tuple[str, ...], int]) -> list[Round]:
    """Return two rounds in which an operation took a microsecond for each sample."""
    sampled = {
        tuple(Call(CodeOrigin.OWN, "executor", name) for name in reversed(names)): count
        for names, count in stacks.items()
    }
    cpu = sum(stacks.values()) / 1e6
    one = Round(operations=1, seconds=1.0, cpu=cpu, client=0.0, stacks=sampled)
    return [one, one]


def named(found: list[Frame], name: str) -> Frame:
    (frame,) = (frame for frame in found if frame.name == name)
    return frame


def test_a_frame_has_the_time_of_all_that_it_calls() -> None:
    base = rounds({("main", "scan"): 6, ("main", "sort"): 3, ("main",): 1})
    found = frames((base, rounds({("main", "scan"): 6, ("main", "sort"): 6})))
    assert named(found, "main").base == pytest.approx(10e-6)
    assert named(found, "main").subject == pytest.approx(12e-6)
    assert named(found, "sort").left == pytest.approx(named(found, "scan").width + 0.5e-6)
    assert [named(found, name).look for name in ("main", "scan", "sort")] == [
        "worse-2",
        "",
        "worse-3",
    ]


@given(STACKS, STACKS)
def test_frames_lie_within_their_callers_and_beside_each_other(
    base: dict[tuple[str, ...], int], subject: dict[tuple[str, ...], int]
) -> None:
    found = frames((rounds(base), rounds(subject)))
    slack = 1e-12
    open_frames: list[Frame] = []
    for frame in found:
        del open_frames[frame.depth :]
        if open_frames:
            caller = open_frames[-1]
            assert frame.left >= caller.left - slack
            assert frame.left + frame.width <= caller.left + caller.width + slack
        open_frames.append(frame)
    roots = [frame for frame in found if frame.depth == 0]
    for before, after in itertools.pairwise(roots):
        assert before.left + before.width <= after.left + slack
    whole = (sum(base.values()) + sum(subject.values())) / 2e6
    assert sum(frame.width for frame in roots) == pytest.approx(whole)


def test_a_page_tells_every_box_and_escapes_what_a_server_calls_its_functions() -> None:
    evil = "</title><script>alert(1)</script>"
    both = (rounds({("main", evil): 9, ("main",): 1}), rounds({("main", evil): 4, ("main",): 1}))
    names = ("rel", "<b>pgo")
    said = explanation(
        "update", names, both, work=Work.OPERATION, kinds=(), threads=1, cores=2, settings={}
    )
    page = explanation_page("update: <b>pgo against rel", names, said, both).decode()
    assert "<script" not in page
    assert "<b>" not in page
    assert page.count("<rect ") == 2
    assert "9.00 µs with rel, 4.00 µs with &lt;b&gt;pgo" in page
    assert said.sentences[-1].split(",")[0] in page
