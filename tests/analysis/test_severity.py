"""The order in which warnings are read."""

from __future__ import annotations

import re
from pathlib import Path

import dbhone
from dbhone.analysis.severity import CONTROL_CODES, by_severity
from dbhone.measurement.record import Code, Warning

SOURCE = Path(dbhone.__file__).parent


def ordered(*codes: str) -> list[str]:
    return [each.code for each in by_severity(Warning(code=code, text="") for code in codes)]


def test_untrue_comes_before_imprecise_before_left_out_before_how_it_was_measured() -> None:
    told = ("awake", "steps-left-out", "target-not-met", "many-refused", "control-differs")
    assert ordered(*told) == list(reversed(told))


def test_a_code_that_is_not_known_comes_last() -> None:
    assert ordered("of-a-plug-in", "short-slices") == ["short-slices", "of-a-plug-in"]


def test_the_control_is_the_gravest() -> None:
    assert tuple(Code)[: len(CONTROL_CODES)] == CONTROL_CODES


def test_every_warning_has_its_place_and_every_place_a_warning() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    assert re.findall(r'\bcode="[a-z-]+"', text) == []
    assert set(re.findall(r"\bCode\.([A-Z_]+)", text)) == set(Code.__members__)


def test_every_code_is_documented_once() -> None:
    page = (SOURCE.parents[1] / "docs" / "statistics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \|", page, flags=re.MULTILINE)
    assert sorted(rows) == sorted(Code)
