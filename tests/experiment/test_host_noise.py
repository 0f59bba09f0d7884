"""What disturbed a run is told, with figures."""

from __future__ import annotations

from datetime import UTC, datetime

from dbhone.experiment.host_noise import disturbances
from dbhone.measurement.store import Done


def done(**conditions: float) -> Done:
    return Done(
        block=0,
        set="main",
        subject="rel",
        position=0,
        started_at=datetime.now(UTC),
        seconds=1.0,
        failure=None,
        conditions=conditions,
    )


def test_other_load_is_told_with_its_mean_and_its_most() -> None:
    found = dict(disturbances([done(others_cores=0.1), done(others_cores=0.9)]))
    assert found == {
        "other-load": "other processes kept 0.50 cores busy while it was measured (up to 0.90)"
    }


def test_a_quiet_machine_has_nothing_to_tell() -> None:
    assert not list(disturbances([done(others_cores=0.02, steal=0.0)]))
    assert not list(disturbances([]))
    assert not list(disturbances([done()]))


def test_steal_is_told() -> None:
    assert "2.0% of the CPU time" in dict(disturbances([done(steal=0.02)]))["steal"]
