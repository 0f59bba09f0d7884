import pytest

from dbhone.report.wording import compiler, joined, margin


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
