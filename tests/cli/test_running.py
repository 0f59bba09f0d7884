from dataclasses import replace

import pytest

from dbhone.cli.running import resume_hint
from tests.report.sample_run import a_run


@pytest.mark.parametrize(("seconds", "missing", "minutes"), [(480.0, 32.0, 9), (60.0, 600.0, 14)])
def test_what_goes_on_to_a_verdict_has_time_for_the_missing_blocks(
    seconds: float, missing: float, minutes: int
) -> None:
    run = replace(a_run(), id=3, seconds=seconds)
    assert (
        resume_hint(run, missing) == f"'hone resume 3 --budget {minutes}m' continues to a verdict."
    )
