import numpy as np
import pytest

from dbhone.measurement.record import Warning
from dbhone.report.wording import compiler, joined, legend, margin, short_flag, told_together
from tests.analysis.blocks import analysed, noisy, samples


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0", "gcc 12.2"),
        ("gcc-12 (Ubuntu 12.3.0-1ubuntu1~22.04) 12.3.0", "gcc 12.3"),
        ("gcc 12.2.0", "gcc 12.2"),
        ("Debian clang version 14.0.6", "clang 14.0"),
        ("Ubuntu clang version 18.1.3 (1ubuntu1)", "clang 18.1"),
        ("cc 9.4", "cc 9.4"),
        ("a compiler of my own", "a compiler of my own"),
        ("", ""),
    ],
)
def test_compiler_in_short(text: str, short: str) -> None:
    assert compiler(text) == short


def test_words_in_a_sentence() -> None:
    assert [joined(["a", "b", "c"][:count]) for count in range(4)] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]


def test_margin_has_digits_as_it_deserves() -> None:
    assert [margin(each) for each in (None, 0.0, 0.018, 0.2512)] == ["", "±0.0%", "±1.8%", "±25%"]


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


def test_what_is_said_of_several_subjects_alike_stands_once() -> None:
    left_out = "was left out: the compiler clang is not installed"
    said = (
        ("left-out", "clang", f"clang {left_out}", None),
        ("steal", None, "another guest took 12 % of the CPU", None),
        ("left-out", "clang+pgo", f"clang+pgo {left_out}", None),
        ("left-out", "native", "native was left out: it does not start", None),
        ("unprofiled", "pgo", "pgo: 1 of 102 files had no profile", None),
        ("unprofiled", "lto+pgo", "lto+pgo: 1 of 102 files had no profile", None),
        ("slow-operations", None, "each slice has a new client", "scan"),
    )
    notes = [
        Warning(code=code, subject=name, text=text, step=step) for code, name, text, step in said
    ]
    assert told_together(notes) == (
        "clang and clang+pgo were left out: the compiler clang is not installed",
        "another guest took 12 % of the CPU",
        "native was left out: it does not start",
        "pgo and lto+pgo: 1 of 102 files had no profile",
        "each slice has a new client (scan)",
    )


def test_a_flag_is_shown_without_folders() -> None:
    digest = "74d56d5383c4" + "0" * 52
    profile = f"-fprofile-use=/home/me/.local/share/dbhone/profiles/{digest}/data"
    assert short_flag(profile) == "-fprofile-use=profile 74d56d5383c4"
    assert short_flag("-fprofile-prefix-path=/home/me/scratch/objects") == "-fprofile-prefix-path=…"
    assert short_flag("-march=x86-64-v3") == "-march=x86-64-v3"
