"""How much faster a step could get at most."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.analysis.ceiling import ceiling_ratio, find_ceilings, overall_ceiling
from dbhone.analysis.levels import Level
from dbhone.measurement.record import Group, Step

SECONDS = st.floats(1e-7, 1e-2)


def level(metric: str, value: float) -> Level:
    return Level(
        subject="rel", step="point", metric=metric, value=value, low=None, high=None, blocks=3
    )


def test_one_client_that_waits_for_nothing_gains_what_user_mode_takes() -> None:
    ratio = ceiling_ratio(
        throughput=1000, user=0.0005, system=0.0002, client=0.0001, threads=1, cores=2
    )
    assert ratio == pytest.approx(2.0)


def test_many_clients_gain_until_the_rest_fills_the_cpus() -> None:
    ratio = ceiling_ratio(
        throughput=1000, user=0.0015, system=0.0003, client=0.0002, threads=16, cores=2
    )
    assert ratio == pytest.approx(2 / (0.0005 * 1000))


def test_what_takes_more_than_all_cpus_lies_outside_the_operations_and_bounds_nothing() -> None:
    def ratio(client: float) -> float:
        return ceiling_ratio(
            throughput=100_000, user=4e-6, system=1e-6, client=client, threads=1, cores=2
        )

    assert ratio(9e-6) == pytest.approx(1.0)  # one after the other they fill the time
    assert ratio(15e-6) == pytest.approx(2 / 1.6)  # they work side by side
    assert math.isinf(ratio(25e-6))


@given(user=SECONDS, system=SECONDS, client=SECONDS, wait=SECONDS, share=st.floats(0, 1))
def test_no_faster_server_beats_the_ceiling(
    user: float, system: float, client: float, wait: float, share: float
) -> None:
    def duration(of_user: float) -> float:
        return user * of_user + system + client + wait

    ratio = ceiling_ratio(
        throughput=1 / duration(1), user=user, system=system, client=client, threads=1, cores=4
    )
    assert duration(1) / duration(share) <= ratio * (1 + 1e-9)


@given(SECONDS, SECONDS, SECONDS, st.integers(1, 64), st.integers(1, 64), st.floats(1, 1e6))
def test_a_ceiling_is_never_below_one(
    user: float, system: float, client: float, threads: int, cores: int, throughput: float
) -> None:
    ratio = ceiling_ratio(
        throughput=throughput,
        user=user,
        system=system,
        client=client,
        threads=threads,
        cores=cores,
    )
    assert ratio >= 1


def steps(*names: str) -> tuple[Step, ...]:
    return tuple(
        Step(set=name, key="", title=name, group=Group.POINT, in_sample=False, threads=1)
        for name in names
    )


def test_steps_without_the_kernels_part_have_no_ceiling() -> None:
    levels = [level("throughput", 1000.0), level("cpu_seconds", 0.0007)]
    assert find_ceilings(levels, steps("point"), 2) == ()
    levels += [level("system_seconds", 0.0002), level("client_cpu_seconds", 0.0001)]
    (ceiling,) = find_ceilings(levels, steps("point"), 2)
    assert math.isclose(ceiling.user, 0.0005)
    embedded = [replace(step, threads=None) for step in steps("point")]
    assert find_ceilings(levels, embedded, 2) == ()


def levels_of(step: str, user: float) -> list[Level]:
    """Return the levels of one client whose operations take 1 ms, of it so much in user mode."""
    values = {"throughput": 1000, "cpu_seconds": user, "system_seconds": 0, "client_cpu_seconds": 0}
    return [replace(level(name, value), step=step) for name, value in values.items()]


def test_the_bound_of_all_steps_is_of_those_by_which_a_build_is_judged() -> None:
    found = [*levels_of("a", 0.0005), *levels_of("b", 0.00075), *levels_of("c", 0.0009)]
    bound = overall_ceiling(found, steps("a", "b"), "rel", 2)
    assert bound == pytest.approx(math.sqrt(2 * 4))


def test_there_is_no_bound_where_that_of_a_step_is_not_known() -> None:
    assert overall_ceiling(levels_of("a", 0.0005), steps("a", "b"), "rel", 2) is None
    assert overall_ceiling([], (), "rel", 2) is None
