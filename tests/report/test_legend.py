import numpy as np

from dbhone.report.wording import legend
from tests.analysis.blocks import analysed, noisy, samples

VALUES = noisy(1, (3, 2, 8), (1, 1, 1))


def test_what_is_corrected_together_is_counted_and_the_control_is_apart() -> None:
    told = legend(analysed(samples(VALUES), controls=("b",)), ("b",))
    assert (
        "comparisons: 2 effects on steps, 1 summary by which subjects are judged, 1 other" in told
    )
    assert "and 4 figures of the control, each kind by itself" in told


def test_a_kind_without_comparisons_is_not_named() -> None:
    told = legend(analysed(samples(VALUES[:2]), controls=("b",)), ("b",))
    assert (
        "the number of comparisons: 4 figures of the control, and those of all other metrics."
        in told
    )


def test_where_nothing_was_measured_there_is_nothing_to_read() -> None:
    nothing = analysed(samples(np.full((2, 2, 8), np.nan)))
    assert legend(nothing) == ""
