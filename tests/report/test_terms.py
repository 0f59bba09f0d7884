"""Terms: what a reader may not know is explained where it stands, and nothing else changes."""

from __future__ import annotations

import html
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from dbhone.report.terms import TERMS, explained

_GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"


def test_the_first_of_each_term_tells_its_meaning() -> None:
    found = explained("Two steps, one step; the control and its intervals")
    assert re.findall(r'data-meaning="([^"]+)"', found) == [
        TERMS["step"],
        TERMS["control"],
        TERMS["interval"],
    ]


def test_a_word_that_only_holds_a_term_is_left_alone() -> None:
    for text in ("database", "stepwise", "mix/step-1", "controller", "blockade"):
        assert explained(text) == text


@given(st.text() | st.lists(st.sampled_from([*TERMS, "<b>", "&", '"'])).map(" ".join))
def test_the_text_stays_and_is_escaped(text: str) -> None:
    assert html.unescape(re.sub("<[^>]*>", "", explained(text))) == html.unescape(html.escape(text))


def test_the_glossary_has_every_term() -> None:
    glossary = _GLOSSARY.read_text(encoding="utf-8").lower()
    for term in TERMS:
        assert re.search(rf"^\| {re.escape(term.lower())} \|", glossary, re.MULTILINE), term
