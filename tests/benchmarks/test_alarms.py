"""How runs of real servers are judged: by what of the control differs, and by what was planted."""

from collections.abc import Mapping

from benchmarks.alarms import conclusion, line, row
from dbhone.measurement.record import Role, Run
from dbhone.measurement.sample_array import SampleArray
from dbhone.report.findings import findings_of
from tests.report.sample_run import Shape, a_run, samples, subject

SUBJECTS = (
    subject("rel", role=Role.BASE, variant="rel"),
    subject("control", role=Role.CONTROL, variant="rel"),
    subject("planted"),
)


def _measured(
    effects: Mapping[str, tuple[float, float]], *, number: int = 1, blocks: int = 14
) -> tuple[Run, SampleArray]:
    run = a_run(id=number, subjects=SUBJECTS)
    return run, samples(run, Shape(effects=effects, blocks=blocks, seed=number))


def test_a_planted_slowdown_is_found_and_the_control_is_quiet() -> None:
    found = row(findings_of(*_measured({"planted": (0.94, 0.94)})))
    assert found.alarms == ()
    assert found.compared > 0
    assert found.planted is not None
    assert found.planted.ratio < 0.97
    assert f"0 of {found.compared} figures differ; planted 0.9" in line(found)


def test_a_control_that_differs_is_a_false_alarm_and_says_where() -> None:
    found = row(findings_of(*_measured({"control": (0.9, 0.9)})))
    assert "all" in found.alarms
    assert f"{len(found.alarms)} of {found.compared} figures differ (" in line(found)


def test_runs_are_held_against_what_they_say_together() -> None:
    effects = {"planted": (0.94, 0.94)}
    runs = [_measured(effects, number=number) for number in (1, 2, 3)]
    first, second = conclusion([row(findings_of(*each)) for each in runs], runs)
    assert first == "0 of 3 runs raise a false alarm, 3 find the planted slowdown"
    assert second.startswith("all together: planted 0.9")
    assert second.endswith("of 3 runs' intervals")


def test_too_few_blocks_compare_nothing() -> None:
    few = _measured({}, blocks=4)
    found = row(findings_of(*few))
    assert found.compared == 0
    assert "  " not in line(row(findings_of(*_measured({}, blocks=2))))
    assert conclusion([found], [few]) == [
        "0 of 1 runs raise a false alarm, 0 find the planted slowdown"
    ]
