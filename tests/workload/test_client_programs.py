"""Which of several client programs a server's clients are."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.workload import client_programs
from dbhone.workload.client_programs import distributed_program, postgresql_program


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder like Debian's, with three versions of PostgreSQL."""
    for version in ("9.6", "13", "15", "17"):
        (tmp_path / version / "bin").mkdir(parents=True)
        (tmp_path / version / "bin" / "pg_restore").touch()
    monkeypatch.setattr(client_programs, "_DEBIAN", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("server", "client"),
    [
        ("15.18", "15"),
        ("14.2", "15"),
        ("16beta1", "17"),
        ("9.6.24", "13"),
        ("18.1", "17"),
        ("", "17"),
    ],
)
def test_a_server_gets_the_oldest_client_that_is_not_older(
    installed: Path, server: str, client: str
) -> None:
    assert postgresql_program("pg_restore", server) == f"{installed}/{client}/bin/pg_restore"


def test_of_what_is_not_installed_there_is_none(installed: Path) -> None:
    assert distributed_program("psql") is None
