"""What the first look at an embedded DBMS's steps tells."""

from __future__ import annotations

from typing import cast

import pytest

from dbhone.experiment.embedded_target import EmbeddedTarget
from dbhone.experiment.recorder import RunRecorder
from dbhone.measurement.record import Warning


class Notes:
    """Keeps warnings."""

    def __init__(self) -> None:
        self.kept: list[Warning] = []

    def warn(self, *warnings: Warning) -> None:
        self.kept += warnings


@pytest.mark.parametrize(
    ("took", "said"),
    [
        (
            {"main/100": 0.5, "main/110": 0.004, "cte/100": 0.0021},
            "2 of 3 steps take less than 5 ms (cte/100, main/110; the shortest takes 2.1 ms)",
        ),
        ({"main/100": 0.5}, None),
    ],
)
def test_steps_that_a_clock_can_hardly_tell_are_named(
    took: dict[str, float], said: str | None
) -> None:
    target, notes = EmbeddedTarget.__new__(EmbeddedTarget), Notes()
    target.recorder = cast("RunRecorder", notes)
    target._warn_of_short_steps(took)
    if said is None:
        assert notes.kept == []
    else:
        (warning,) = notes.kept
        assert warning.code == "short-steps"
        assert warning.text.startswith(said)
