"""Post-link optimisation of the real SQLite: built, trained twice, laid out anew, verified."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from dbhone.compilation.bolt import find_bolt
from dbhone.compilation.manifest import all_builds
from dbhone.home import Home
from tests.integration.hone import Hone

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(find_bolt() is None, reason="BOLT is not installed"),
]
EXPERIMENT = """\
title = "the real SQLite, optimised after linking"
base = "lto+pgo"

[sources]
sqlite = "apt:sqlite3"

[subjects]
"lto+pgo" = { dbms = "sqlite", source = "sqlite", variant = "lto+pgo" }
bolt = { like = "lto+pgo", variant = "lto+pgo+bolt" }

[training]
sets = ["main"]

[workload]
suite = "speedtest1"
size = "smoke"
sets = ["main", "cte"]

[design]
target = "0.01%"
budget = "30m"
blocks = { min = 1, max = 1 }
control = false
"""


def test_bolt_composes_with_what_came_before_and_answers_the_same(tmp_path: Path) -> None:
    (tmp_path / "bolt.toml").write_text(EXPERIMENT)
    hone = Hone(tmp_path / "home", tmp_path)
    planned = hone("plan", "bolt.toml").stdout
    assert "instrumented after linking" in planned
    told = hone("run", "bolt.toml").stderr
    assert "taken branches -" in told
    builds = [build.manifest for build in all_builds(Home(hone.home))]
    (record,) = (each.post_link for each in builds if each.pass_ == "post-link-use")
    assert record is not None
    assert record.profile is not None
    assert record.profile.functions_executed > 300
    assert 100 < record.moved <= record.profiled < record.functions
    assert record.taken_after < 0.8 * record.taken_before
    assert record.hot_bytes < record.text_bytes
    # lto+pgo and lto+pgo+bolt share the instrumented build.
    assert sorted(each.pass_.value for each in builds) == [
        "instrument",
        "post-link-instrument",
        "post-link-use",
        "use",
        "use",
    ]
    with sqlite3.connect(hone.home / "store.db") as connection:
        broken = connection.execute("SELECT name FROM subjects WHERE broken IS NOT NULL").fetchall()
    assert broken == []
    report = json.loads(hone("report", "1", "--format", "json").stdout)
    (bolt,) = (each for each in report["builds"] if each["subject"] == "bolt")
    assert "-dyno-stats" in bolt["flags"]
    assert bolt["trained_on"] == ["main"]
