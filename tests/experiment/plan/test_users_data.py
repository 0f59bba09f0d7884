"""What a user's own data needs of machine and builds is told before anything is compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.errors import SourceError, ToolError, UsageError
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.plan.users_data import check_enclosed, check_inputs, check_users_data
from dbhone.experiment.target import server_pool
from dbhone.sandbox import TRUST_VARIABLE
from dbhone.session import Session
from tests.experiment.experiment_files import GOOD_SERVERS, on_data
from tests.files import put


def on_dump(folder: Path, *extensions: str, packaging: str = "") -> Experiment:
    """Return an experiment on a dump that creates the extensions."""
    dump = folder / "shop.sql"
    dump.write_text("".join(f"CREATE EXTENSION IF NOT EXISTS {name};\n" for name in extensions))
    rel = 'dbms = "postgresql"'
    text = GOOD_SERVERS.replace(rel, f'{rel}, packaging = "{packaging}"' if packaging else rel)
    return on_data(parse(text, name="x.toml"), "dump", dump)


def test_what_a_build_has_is_not_refused(tmp_path: Path) -> None:
    check_users_data(parse(GOOD_SERVERS, name="x.toml"))
    check_users_data(on_dump(tmp_path, "plpgsql"))
    check_users_data(on_dump(tmp_path, "pg_trgm", '"uuid-ossp"', packaging="deb"))


def test_what_a_build_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"extensions pg_trgm, citext, .* of rel") as error:
        check_users_data(on_dump(tmp_path, "plpgsql", "pg_trgm", "citext"))
    assert "--packaging deb" in (error.value.hint or "")
    with pytest.raises(UsageError, match="the extension postgis, which"):
        check_users_data(on_dump(tmp_path, "pg_trgm", "postgis", packaging="deb"))


def test_a_folder_that_cannot_be_built_as_it_is_is_refused_before_it_is_copied(
    tmp_path: Path,
) -> None:
    put(tmp_path / "configure", "PACKAGE_NAME='PostgreSQL'\nPACKAGE_VERSION='18.1'\n")
    put(tmp_path / "src/backend/Makefile")
    text = GOOD_SERVERS.replace('"apt:postgresql"', f'"dir:{tmp_path}"')
    experiment = parse(text, name="x.toml")
    check_inputs(experiment)
    put(tmp_path / "src/include/pg_config.h")
    with pytest.raises(SourceError, match="configured in its own folder"):
        check_inputs(experiment)


@pytest.mark.parametrize("key", ["dump", "folder"])
def test_data_that_may_refer_to_other_servers_needs_a_sandbox_or_trust(
    key: str, tmp_path: Path, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_pool, "why_not_enclosed", lambda: "bwrap is missing")
    experiment = on_data(on_dump(tmp_path, "plpgsql"), key, tmp_path / "shop.sql")
    said = r"foreign tables.*bwrap is missing"
    with pytest.raises(ToolError, match=said):
        check_enclosed(experiment)
    with pytest.raises(ToolError, match=said):
        server_pool.ServerPool(session, experiment.workload, lambda _: None)
    monkeypatch.setenv(TRUST_VARIABLE, "1")
    check_enclosed(experiment)
