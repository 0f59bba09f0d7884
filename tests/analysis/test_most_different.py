"""Where a subject differs most from the base: what `hone explain` explains unasked."""

from __future__ import annotations

from dataclasses import replace

from dbhone.analysis.comparison import analyse
from dbhone.analysis.verdict import Analysis, Verdict, most_different
from tests.report.sample_servers import Shape, a_server_run, server_samples


def _analysis() -> Analysis:
    run = a_server_run()
    return analyse(
        server_samples(run, Shape(blocks=6)), base="rel", steps=run.steps, controls=run.controls
    )


def test_it_is_the_largest_of_all_effects_on_throughput() -> None:
    analysis = _analysis()
    found = most_different(analysis, ("control",))
    assert found is not None
    sizes = [
        max(effect.ratio, 1 / effect.ratio)
        for effect in analysis.throughput_effects
        if effect.subject != "control"
    ]
    assert max(found.ratio, 1 / found.ratio) == max(sizes)


def test_a_part_of_a_set_and_a_control_are_passed_over() -> None:
    analysis = _analysis()
    largest = most_different(analysis, ("control",))
    assert largest is not None
    effects = [
        replace(effect, part=effect.step == largest.step, ratio=9.0)
        if effect.subject == "control" or effect.step == largest.step
        else effect
        for effect in analysis.effects
    ]
    found = most_different(replace(analysis, effects=tuple(effects)), ("control",))
    assert found is not None
    assert found.step != largest.step
    assert found.subject != "control"


def test_what_is_named_is_taken() -> None:
    analysis = _analysis()
    for name in {effect.subject for effect in analysis.effects} - {"control"}:
        found = most_different(analysis, ("control",), subject=name)
        assert found is not None
        assert found.subject == name
    assert most_different(analysis, ("control",), subject="nobody") is None


def test_a_certain_effect_goes_before_a_larger_one_that_is_not() -> None:
    analysis = _analysis()
    certain = most_different(analysis, ("control",))
    assert certain is not None
    other = next(it for it in analysis.throughput_effects if it.step != certain.step)
    noisy = replace(other, ratio=50.0, verdict=Verdict.NO_DIFFERENCE)
    effects = [noisy if effect is other else effect for effect in analysis.effects]
    assert most_different(replace(analysis, effects=tuple(effects)), ("control",)) == certain
