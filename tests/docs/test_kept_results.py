"""Kept results are what this version of hone says of the runs that are kept beside them."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from benchmarks import kept_results
from benchmarks.kept_results import RESULTS, RUNS, keep, kept, report_of
from dbhone.measurement.store import Store
from tests.measurement.store_records import begin


@pytest.mark.parametrize("name", kept())
def test_a_report_is_what_this_version_makes_of_its_run(name: str) -> None:
    assert report_of(name).decode() == (RESULTS / f"{name}.txt").read_text(encoding="utf-8"), (
        "'.venv/bin/python -m benchmarks.kept_results' makes all reports anew"
    )


@pytest.mark.parametrize("name", kept())
def test_the_list_of_results_has_it(name: str) -> None:
    listed = (RESULTS / "README.md").read_text(encoding="utf-8")
    assert f"[{name}]({name}.txt)" in listed


@pytest.mark.parametrize("name", kept())
def test_no_path_of_a_machine_is_kept(name: str) -> None:
    data = lzma.decompress((RUNS / f"{name}.db.xz").read_bytes())
    own = str(RESULTS.parents[1]).encode()
    for folder in (b"/home/", b"/root/", b"/tmp/", b"/var/lib/dbhone", own):
        assert folder not in data


def test_one_run_is_kept_without_the_others_and_without_their_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(tmp_path / "store.db") as store:
        begin(store)
        number = begin(store)
        store.update_run(number, title=f"In {tmp_path}")
    monkeypatch.setattr(kept_results, "RUNS", tmp_path / "runs")
    keep(tmp_path, number, "mine", {})
    assert kept() == ["mine"]
    data = lzma.decompress((tmp_path / "runs" / "mine.db.xz").read_bytes())
    assert str(tmp_path).encode() not in data
    assert b"In ~/.local/share/dbhone" in data
    assert f"(run {number})" in report_of("mine").decode()


def test_a_winner_is_kept_with_all_runs_of_its_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(tmp_path / "store.db") as store:
        names = ("tune-a-choose-1", "tune-b-choose-1", "tune-a-confirm-2", "tune-a-confirm-3")
        _, _, winner, _ = (begin(store, experiment_name=name) for name in names)
    monkeypatch.setattr(kept_results, "RUNS", tmp_path / "runs")
    keep(tmp_path, winner, "tuned", {"confirm": "winner"})
    data = lzma.decompress((tmp_path / "runs" / "tuned.db.xz").read_bytes())
    assert b"tune-a-choose-1" in data
    assert b"tune-a-winner-2" in data
    assert b"tune-b-choose-1" not in data
    assert b"confirm-3" not in data
    assert b"winner-3" not in data
