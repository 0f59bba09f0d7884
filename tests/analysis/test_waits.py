"""What an operation waits for, by the events of the DBMS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.analysis.explained_rounds import Round, Waits
from dbhone.analysis.waits import NO_EVENT, wait_differences

EVENTS = st.dictionaries(
    st.sampled_from([f"IO:{number}" for number in range(20)]), st.floats(0.0, 0.05), max_size=15
)


def rounds(
    waits: Sequence[Mapping[str, float]],
    *,
    operations: int = 1000,
    background: Sequence[Mapping[str, float]] | None = None,
) -> list[Round]:
    """Return rounds of a second in which four clients had half a second of CPU together."""
    return [
        Round(
            operations=operations,
            seconds=1.0,
            cpu=0.4,
            client=0.1,
            stacks={},
            waits=Waits(sessions=own, background=background[number] if background else {}),
        )
        for number, own in enumerate(waits)
    ]


@given(st.lists(st.tuples(EVENTS, EVENTS), min_size=2, max_size=6))
def test_what_is_told_adds_up_to_what_an_operation_waits(
    waits: list[tuple[dict[str, float], dict[str, float]]],
) -> None:
    base, subject = rounds([own for own, _ in waits]), rounds([own for _, own in waits])
    found = wait_differences(base, subject, 4)
    assert found is not None
    parts = [*found.events, found.others, found.rest]
    assert sum(it.base.value for it in parts) == pytest.approx(3.5e-3)
    assert sum(it.subject.value for it in parts) == pytest.approx(3.5e-3)


def test_an_event_that_differs_is_told_beside_those_that_take_the_most() -> None:
    large = {f"large {number}": 0.4 + number / 10 for number in range(4)}
    small = {f"small {number}": 0.01 for number in range(5)}
    base = rounds([{**large, **small, "differs": 1e-4 * noise} for noise in (1, 2, 3)])
    subject = rounds([{**large, **small, "differs": 0.1 + 1e-4 * noise} for noise in (2, 1, 2)])
    found = wait_differences(base, subject, 4)
    assert found is not None
    names = [it.name for it in found.events]
    assert names == ["large 3", "large 2", "large 1", "large 0", "differs"]
    assert found.others.base.value == pytest.approx(5e-5)


def test_an_event_that_a_server_does_not_know_took_no_time_there() -> None:
    found = wait_differences(rounds([{}] * 3), rounds([{"IO:WALSync": 0.5}] * 3), 4)
    assert found is not None
    (event,) = found.events
    assert event.base.value == 0.0
    assert event.subject.value == pytest.approx(5e-4)
    assert found.rest.name == NO_EVENT
    assert found.rest.more.value == pytest.approx(-5e-4)


def test_events_may_be_longer_than_what_is_left_of_the_time() -> None:
    found = wait_differences(rounds([{"synch": 9.0}] * 2), rounds([{"synch": 9.0}] * 2), 4)
    assert found is not None
    assert found.rest.base.value == 0.0


def test_other_threads_wait_beside_an_operation_and_are_told_where_they_differ() -> None:
    files = [{"file": 0.1, "mutex": 0.1 + noise} for noise in (0.0, 0.01, 0.02)]
    more = [{"file": 0.2, "mutex": 0.12 - noise} for noise in (0.0, 0.01, 0.02)]
    found = wait_differences(
        rounds([{}] * 3, background=files), rounds([{}] * 3, background=more), 4
    )
    assert found is not None
    assert [it.name for it in found.background] == ["file"]
    assert found.events == []
    assert found.rest.base.value == pytest.approx(3.5e-3)


def test_nothing_is_told_of_servers_that_were_not_asked() -> None:
    asked = rounds([{}] * 3)
    silent = Round(operations=1, seconds=1.0, cpu=0.1, client=0.1, stacks={})
    assert wait_differences([silent] * 3, [silent] * 3, 1) is None
    assert wait_differences(asked, asked, 1) is not None
