"""``hone tune``: what is told and refused before anything is built."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from dbhone.capture.capture import CaptureOptions, capture
from tests.cli.commands import hone

_LOG = Path(__file__).parents[1] / "golden" / "capture" / "postgresql-15-csvlog.csv"
_ONE = ("--compiler", "gcc", "--variant", "lto")


def test_a_plan_tells_the_rungs_and_builds_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    done = hone(home, "tune", "apt:sqlite3", *_ONE, "--plan")
    assert done.returncode == 0
    assert "lto: rel+lto with gcc" in done.stdout
    assert "measured afresh" in done.stdout.replace("\n", " ")
    assert not (home / "builds").exists()


def test_the_space_is_written_to_a_file_that_can_be_run(tmp_path: Path) -> None:
    home = tmp_path / "home"
    written = hone(home, "tune", "sqlite", *_ONE, "--output", "space.toml")
    assert written.returncode == 0
    assert "wrote space.toml, the first run of the search" in written.stderr
    assert "lto: rel+lto with gcc" in hone(home, "plan", "space.toml").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("apt:sqlite3", *_ONE, "--budget", "1m"), "too small for a single candidate"),
        (("known:mysql@5.7",), "brings a ready-made server"),
        (("apt:sqlite3#lto",), "say it apart: apt:sqlite3 --variant lto"),
        (("apt:sqlite3", "--train", "nope"), "no set 'nope'"),
        (("apt:sqlite3", "--lever", "jemalloc"), "has no levers"),
        (("mysql",), "give the source tree of your version"),
        (("apt:sqlite3", "--target", "5"), "write it as 5%"),
    ],
)
def test_what_cannot_end_well_is_refused_before_work(
    words: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = hone(tmp_path / "home", "tune", *words)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize("more", [(), ("--plan",)])
def test_a_dump_with_an_extension_that_builds_lack_is_refused_before_work(
    more: tuple[str, ...], tmp_path: Path
) -> None:
    capture((_LOG,), tmp_path / "shop.workload", CaptureOptions())
    (tmp_path / "shop.sql").write_text("CREATE EXTENSION IF NOT EXISTS pg_trgm;\n")
    words = ("postgresql-15", "--workload", "shop.workload", "--data", "shop.sql", *_ONE, *more)
    done = hone(tmp_path / "home", "tune", *words)
    assert done.returncode == 2
    assert "needs the extension pg_trgm" in done.stderr.replace("\n", " ")
    assert not (tmp_path / "home" / "sources").exists()
    assert not (tmp_path / "home" / "builds").exists()


def test_a_search_by_a_distributions_rules_writes_so(tmp_path: Path) -> None:
    capture((_LOG,), tmp_path / "shop.workload", CaptureOptions())
    (tmp_path / "shop.sql").write_text("CREATE EXTENSION IF NOT EXISTS pg_trgm;\n")
    words = ("postgresql-15", "--workload", "shop.workload", "--data", "shop.sql")
    home = tmp_path / "home"
    done = hone(home, "tune", *words, "--packaging", "deb", "--output", "space.toml")
    assert done.returncode == 0
    subjects = tomllib.loads((tmp_path / "space.toml").read_text())["subjects"]
    assert subjects.pop("rel")["packaging"] == "deb"
    assert {"like", "variant", "optional"} >= set().union(*subjects.values()) - {"compiler"}
    assert not any("bolt" in name or "clang" in name for name in subjects)
    refused = hone(home, "tune", *words, "--packaging", "deb", "--variant", "lto+bolt")
    assert refused.returncode == 2
    assert "changes what was linked" in refused.stderr
    other = hone(home, "tune", "apt:mariadb", "--packaging", "deb")
    assert "cannot build MariaDB by a distribution's rules" in other.stderr
