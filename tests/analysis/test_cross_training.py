"""What a training on one workload is worth on another."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dbhone.analysis.cross_training import CrossTraining, cross_training
from dbhone.measurement.record import Group, Step
from dbhone.measurement.sample_array import SampleArray
from tests.analysis.blocks import samples

STEPS = tuple(
    Step(set=set_name, key=key, title=key, group=Group.POINT, in_sample=True)
    for set_name, key in (("main@1", ""), ("main@4", ""), ("cte", "100"), ("cte", "200"))
)
TRAINED = {
    "on-main": frozenset({"main"}),
    "on-cte": frozenset({"cte"}),
    "on-all": frozenset({"main", "cte"}),
}
SPEEDS = {
    "rel": (1.0, 1.0),
    "on-main": (1.3, 1.1),
    "on-cte": (1.0, 1.2),
    "on-all": (1.29, 1.19),
}


def measured(speeds: dict[str, tuple[float, float]]) -> SampleArray:
    """Return eight blocks of subjects, by their speed on the steps of both sets."""
    values = np.random.default_rng(1).normal(1.0, 0.002, (len(speeds), len(STEPS), 8))
    for at, (main, cte) in enumerate(speeds.values()):
        values[at] *= np.array([main, main, cte, cte])[:, None]
    names = tuple(step.name for step in STEPS)
    return dataclasses.replace(samples(values), subjects=tuple(speeds), steps=names)


def found(speeds: dict[str, tuple[float, float]]) -> CrossTraining:
    return cross_training(measured(speeds), STEPS, TRAINED, base="rel")


def test_each_training_has_a_gain_on_each_set() -> None:
    gains = found(SPEEDS).gains
    assert set(gains) == {"main", "cte"}
    for tested, at in (("main", 0), ("cte", 1)):
        for name in TRAINED:
            gain = gains[tested][name]
            assert gain.ratio == pytest.approx(SPEEDS[name][at], rel=0.01)
            assert gain.low is not None
            assert gain.low < gain.ratio
            assert gain.steps == 2


def test_a_loss_is_against_the_sets_own_training() -> None:
    losses = found(SPEEDS).losses
    assert losses["main"]["on-cte"].ratio == pytest.approx(1 / 1.3, rel=0.01)
    assert losses["cte"]["on-main"].ratio == pytest.approx(1.1 / 1.2, rel=0.01)
    assert "on-main" not in losses["main"]
    worst = found(SPEEDS).worst("on-cte")
    assert worst is not None
    assert worst[0] == "main"


@pytest.mark.parametrize(
    ("cte_of_main", "tolerance", "smallest"),
    [(1.1, 0.02, "on-all"), (1.19, 0.02, "on-main"), (1.1, 0.001, None), (1.1, 0.5, "on-main")],
)
def test_the_smallest_training_that_loses_little_everywhere_is_told(
    cte_of_main: float, tolerance: float, smallest: str | None
) -> None:
    assert found(SPEEDS | {"on-main": (1.3, cte_of_main)}).smallest(tolerance) == smallest


def test_a_training_that_was_not_measured_yet_is_compared_with_nothing() -> None:
    speeds = SPEEDS | {"on-all-earlier": (1.2, 1.2)}
    trained = TRAINED | {"on-all-earlier": TRAINED["on-all"]}
    of = measured(speeds)
    values = of.values.copy()
    values[list(speeds).index("on-all-earlier")] = np.nan
    samples = dataclasses.replace(of, values=values)
    found = cross_training(samples, STEPS, trained, base="rel")
    assert found.alternatives == {}
    assert "on-all-earlier" not in found.gains["main"]
    assert found.smallest(0.5) != "on-all-earlier"


def test_another_training_on_the_same_sets_is_compared_with_the_first() -> None:
    speeds = SPEEDS | {"on-all-earlier": (1.29 * 0.97, 1.19 * 0.97)}
    trained = TRAINED | {"on-all-earlier": TRAINED["on-all"]}
    found = cross_training(measured(speeds), STEPS, trained, base="rel")
    assert found.alternatives.keys() == {"on-all-earlier"}
    other, ratio = found.alternatives["on-all-earlier"]
    assert other == "on-all"
    assert ratio.ratio == pytest.approx(0.97, rel=0.01)
    assert found.gains["main"]["on-all-earlier"].ratio == pytest.approx(1.29 * 0.97, rel=0.01)
    assert found.smallest(0.5) != "on-all-earlier"
    assert found.smallest(0.02) == "on-all"
