"""What a user's own data needs of machine and builds is told before anything is compiled."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from dbhone.errors import ToolError, UsageError
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.plan.users_data import check_users_data
from dbhone.sandbox import TRUST_VARIABLE
from tests.experiment.experiment_files import GOOD_SERVERS


@pytest.fixture
def enclosed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbhone.experiment.plan.users_data.why_not_enclosed", lambda: None)


def on_dump(folder: Path, *extensions: str, packaging: str = "") -> Experiment:
    """Return an experiment on a dump that creates the extensions."""
    dump = folder / "shop.sql"
    dump.write_text("".join(f"CREATE EXTENSION IF NOT EXISTS {name};\n" for name in extensions))
    rel = 'dbms = "postgresql"'
    text = GOOD_SERVERS.replace(rel, f'{rel}, packaging = "{packaging}"' if packaging else rel)
    return on_data(parse(text, name="x.toml"), "dump", dump)


def on_data(experiment: Experiment, key: str, path: Path) -> Experiment:
    """Return the experiment on a user's data."""
    scale = dataclasses.replace(experiment.workload.scale, data={key: str(path)})
    workload = dataclasses.replace(experiment.workload, scale=scale)
    return dataclasses.replace(experiment, workload=workload)


@pytest.mark.usefixtures("enclosed")
def test_what_a_build_has_is_not_refused(tmp_path: Path) -> None:
    check_users_data(parse(GOOD_SERVERS, name="x.toml"))
    check_users_data(on_dump(tmp_path, "plpgsql"))
    check_users_data(on_dump(tmp_path, "pg_trgm", '"uuid-ossp"', packaging="deb"))


@pytest.mark.usefixtures("enclosed")
def test_what_a_build_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"extensions pg_trgm, citext, .* of rel") as error:
        check_users_data(on_dump(tmp_path, "plpgsql", "pg_trgm", "citext"))
    assert "--packaging deb" in (error.value.hint or "")
    with pytest.raises(UsageError, match="the extension postgis, which"):
        check_users_data(on_dump(tmp_path, "pg_trgm", "postgis", packaging="deb"))


@pytest.mark.parametrize("key", ["dump", "folder"])
def test_data_that_may_refer_to_other_servers_needs_a_sandbox_or_trust(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "dbhone.experiment.plan.users_data.why_not_enclosed", lambda: "bwrap is missing"
    )
    experiment = on_data(on_dump(tmp_path, "plpgsql"), key, tmp_path / "shop.sql")
    with pytest.raises(ToolError, match=r"foreign tables.*bwrap is missing"):
        check_users_data(experiment)
    monkeypatch.setenv(TRUST_VARIABLE, "1")
    check_users_data(experiment)
