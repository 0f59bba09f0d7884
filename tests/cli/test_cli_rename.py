"""`hone rename`: the saved reports have the new title, and tell all that they told before."""

from __future__ import annotations

from pathlib import Path

from dbhone.home import Home
from dbhone.measurement.store import Store
from dbhone.session import open_session
from tests.cli.finished_run import invoke
from tests.serve.stored import keep
from tests.tuner.searches import TRUE, request, search


def test_the_saved_report_of_a_searchs_winner_still_tells_of_the_search(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    chain, _ = search(request(), TRUE)
    with open_session(home), Store.open(home.database) as store:
        for ended in chain.runs:
            number = keep(store, ended.run, ended.samples)
    invoke(home, "rename", "last", "our fastest")
    saved = (home.runs / str(number) / "report.html").read_text(encoding="utf-8")
    assert "our fastest" in saved
    assert "What each stage brought" in saved
