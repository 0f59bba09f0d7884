"""The documents name all that programs and readers meet in a report."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dbhone.report.formats.base import formats, render
from dbhone.report.search import CandidateResult, Search, StageGain
from tests.report.sample_history import a_history, history_page
from tests.report.sample_servers import a_server_run, server_page

DOCUMENTS = Path(__file__).parents[2] / "docs"


def _document(name: str) -> str:
    return (DOCUMENTS / name).read_text(encoding="utf-8")


def _keys(value: object) -> set[str]:
    if isinstance(value, dict):
        return {*value, *(key for each in value.values() for key in _keys(each))}
    if isinstance(value, list):
        return {key for each in value for key in _keys(each)}
    return set()


def test_every_key_of_the_contract_is_documented() -> None:
    report = json.loads(render(server_page(a_server_run()), "json"))
    report["environment"]["details"] = {}
    for build in report["builds"]:
        build["settings"] = build["timings"]["phases"] = {}
    text = _document("reports.md")
    assert [key for key in sorted(_keys(report)) if f"`{key}`" not in text] == []


def test_every_key_of_a_history_is_documented() -> None:
    page = history_page(a_history())
    text = _document("reports.md")
    keys = _keys(json.loads(render(page, "json"))["history"])
    assert [key for key in sorted(keys) if f"`{key}`" not in text] == []


def test_every_key_of_a_search_is_documented() -> None:
    stage = StageGain(stage="lto", ratio=1.1, low=1.05, high=1.15)
    tried = CandidateResult(name="lto", ratio=1.1, blocks=6, status="measured afresh")
    page = replace(server_page(a_server_run()), search=Search(tried=(tried,), stages=(stage,)))
    text = _document("reports.md")
    keys = _keys(json.loads(render(page, "json"))["search"])
    assert [key for key in sorted(keys) if f"`{key}`" not in text] == []


@pytest.mark.parametrize("name", formats())
def test_every_format_is_documented(name: str) -> None:
    assert f"| `{name}` |" in _document("reports.md")
