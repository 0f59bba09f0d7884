"""Text from outside, as it is shown."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.safe_text import spreadsheet_safe, terminal_safe

DANGEROUS = {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize(
    "text",
    [
        "\x1b]0;a title\x07",
        "\x1b[2J\x1b[31m",
        "\x9b31m",
        "line\u2028another",
        "abc\u202ecba",
        "\u2066isolated\u2069",
        "\r overwritten",
        "\udcff",
    ],
)
def test_what_drives_a_terminal_is_marked(text: str) -> None:
    shown = terminal_safe(text)
    assert "\N{REPLACEMENT CHARACTER}" in shown
    assert not any(unicodedata.category(character) in DANGEROUS for character in shown)


def test_ordinary_text_stays() -> None:
    text = "Größe: 1 000\N{NO-BREAK SPACE}µs ±2 % → 日本語\n\tnext"
    assert terminal_safe(text) == text


@given(st.text())
def test_no_text_keeps_a_control(text: str) -> None:
    shown = terminal_safe(text)
    assert len(shown) == len(text)
    kept = {character for character in shown if unicodedata.category(character) in DANGEROUS}
    assert kept <= {"\n", "\t"}
    assert terminal_safe(shown) == shown


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"])
def test_a_spreadsheet_computes_nothing(text: str) -> None:
    assert spreadsheet_safe(text) == f"'{text}"
    assert spreadsheet_safe("point-query") == "point-query"
