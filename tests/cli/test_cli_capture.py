"""``hone capture``: what it says of a log, and of wrong use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.test_capture_logs import GOLDEN
from tests.integration.hone import Hone


@pytest.fixture
def hone(tmp_path: Path) -> Hone:
    return Hone(tmp_path / "home", tmp_path)


def test_it_says_what_it_found_and_what_it_wrote(hone: Hone) -> None:
    log = GOLDEN / "postgresql-15-csvlog.csv"
    done = hone("capture", str(log), "-o", "shop.workload")
    assert "PostgreSQL's csvlog" in done.stdout
    assert "10 sessions" in done.stdout
    assert "databases  shop (107)" in done.stdout
    assert "wrote shop.workload" in done.stderr
    assert "warning" not in done.stderr
    said = " ".join(done.stderr.split())
    assert "dump its data (pg_dump -Fc shop > shop.dump), and 'hone tune SOURCE" in said
    assert said.endswith("SOURCE is your version, such as postgresql-15")
    assert (hone.folder / "shop.workload").exists()


def test_it_warns_where_much_is_left_out(hone: Hone) -> None:
    executed = "2026-05-04T10:20:30.000000Z\t    1 Execute\tUPDATE a SET b = ?\n"
    asked = "2026-05-04T10:20:31.000000Z\t    1 Query\tSELECT 1\n"
    (hone.folder / "general.log").write_text(executed * 3 + asked)
    done = hone("capture", "general.log", "-o", "shop.workload")
    assert "3 executions without their values" in done.stdout
    assert "warning: 75% of the statements are left out" in done.stderr


def test_wrong_use_is_told_with_what_to_do(hone: Hone) -> None:
    assert "-o NAME.workload" in hone("capture", "a.log", code=2).stderr
    assert "name logs, or a --server" in hone("capture", "-o", "a.workload", code=2).stderr
    assert "-o a.workload" in hone("capture", "a.log", "-o", "a.txt", code=2).stderr
    live = ("capture", "--server", "postgresql://me@127.0.0.1:1/shop", "-o", "a.workload")
    assert "--for 10m" in hone(*live, code=2).stderr


def test_a_folder_that_is_missing_is_told_before_a_server_logs(hone: Hone) -> None:
    live = ("capture", "--server", "postgresql://me@127.0.0.1:1/shop", "--for", "10m")
    assert "there is no folder none" in hone(*live, "-o", "none/a.workload", code=2).stderr
