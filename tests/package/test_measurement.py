from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dbhone.errors import PackageError
from dbhone.measurement.stall_noise import StallNoise
from dbhone.package.measurement import Measured, findings, of_csv, to_csv
from tests.package.packages import MEASURED, samples


def test_samples_are_read_as_they_were_written_to_the_last_bit() -> None:
    array = samples()
    found = of_csv(to_csv(array)).pick(dict(zip(*[array.subjects] * 2, strict=True)), array.steps)
    assert found.metrics == array.metrics
    np.testing.assert_array_equal(found.values, array.values)
    np.testing.assert_array_equal(found.within, array.within)


def test_samples_with_stalls_are_read_as_they_were_written() -> None:
    array = samples()
    noise = np.where(array.measured, np.random.default_rng(1).random(array.within.shape), 0.0)
    stalling = replace(array, stalls=StallNoise.of_levels(noise**2 / 2, noise**2, noise**3))
    found = of_csv(to_csv(stalling))
    assert found.stalls is not None
    assert stalling.stalls is not None
    order = [found.subjects.index(name) for name in array.subjects]
    steps = [found.steps.index(name) for name in array.steps]
    np.testing.assert_array_equal(
        found.stalls[np.ix_(order, steps)].cumulants, stalling.stalls.cumulants
    )
    assert findings(MEASURED, found) != findings(MEASURED, of_csv(to_csv(array)))


def test_what_is_found_does_not_depend_on_the_order_of_lines() -> None:
    header, *lines = to_csv(samples()).splitlines(keepends=True)
    turned = b"".join([header, *reversed(lines)])
    found, other = (findings(MEASURED, of_csv(data)) for data in (to_csv(samples()), turned))
    assert found["winner"] == other["winner"] == "o3"
    key = ("subject", "step")
    assert sorted(found["effects"], key=lambda each: [each[name] for name in key]) == sorted(
        other["effects"], key=lambda each: [each[name] for name in key]
    )


def test_who_was_measured_is_read_as_it_was_written() -> None:
    assert Measured.of_json(MEASURED.to_json()) == MEASURED
    with pytest.raises(PackageError, match="malformed"):
        Measured.of_json({"base": "rel"})


def test_blocks_in_the_same_layouts_are_one_value_in_a_package_too() -> None:
    in_layouts = replace(MEASURED, layouts=6)
    data = to_csv(samples())
    usual, found = (findings(each, of_csv(data)) for each in (MEASURED, in_layouts))
    assert [each["p_value"] for each in usual["summaries"]] != [
        each["p_value"] for each in found["summaries"]
    ]
    before = {name: value for name, value in in_layouts.to_json().items() if name != "layouts"}
    assert Measured.of_json(before) == MEASURED


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"block,subject\n",
        b"block,subject,step,throughput,log_throughput_variance\n0,rel\n",
        b"block,subject,step,throughput,log_throughput_variance\n0,rel,point,fast,\n",
        b"block,subject,step,beauty,log_throughput_variance\n0,rel,point,1,\n",
        b"\xff",
    ],
)
def test_malformed_samples_are_told(data: bytes) -> None:
    with pytest.raises(PackageError, match=r"malformed|does not know the metric beauty"):
        of_csv(data)


def test_samples_that_share_no_subject_step_or_block_are_too_many() -> None:
    header, *_ = to_csv(samples()).splitlines(keepends=True)
    lines = (f"{at},s{at},p{at},1.0,\n".encode() for at in range(3000))
    with pytest.raises(PackageError, match="too many to be those of one run"):
        of_csv(header + b"".join(lines))


def test_what_a_package_says_of_an_effect_does_not_follow_from_the_analysis_s_types() -> None:
    found = findings(MEASURED, of_csv(to_csv(samples())))
    both = {"subject", "group", "in_sample", "metric", "ratio", "low", "high", "blocks"}
    both |= {"p_value", "p_adjusted", "verdict", "findable"}
    described = {"mean", "median", "minimum", "maximum", "standard_deviation"}
    assert all(set(each) == both | {"step", "part"} for each in found["effects"])
    assert all(set(each) == both | described | {"steps"} for each in found["summaries"])
