"""A dump whose extensions a build will not have is refused before anything is compiled."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from dbhone.errors import UsageError
from dbhone.experiment.dumped_extensions import check_extensions
from dbhone.experiment.load import parse
from dbhone.experiment.model import Experiment
from tests.experiment.experiment_files import GOOD_SERVERS


def on_dump(folder: Path, *extensions: str, packaging: str = "") -> Experiment:
    """Return an experiment on a dump that creates the extensions."""
    dump = folder / "shop.sql"
    dump.write_text("".join(f"CREATE EXTENSION IF NOT EXISTS {name};\n" for name in extensions))
    rel = 'dbms = "postgresql"'
    text = GOOD_SERVERS.replace(rel, f'{rel}, packaging = "{packaging}"' if packaging else rel)
    experiment = parse(text, name="x.toml")
    scale = dataclasses.replace(experiment.scale, data={"dump": str(dump)})
    return dataclasses.replace(experiment, scale=scale)


def test_what_a_build_has_is_not_refused(tmp_path: Path) -> None:
    check_extensions(parse(GOOD_SERVERS, name="x.toml"))
    check_extensions(on_dump(tmp_path, "plpgsql"))
    check_extensions(on_dump(tmp_path, "pg_trgm", '"uuid-ossp"', packaging="deb"))


def test_what_a_build_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"extensions pg_trgm, citext, .* of rel") as error:
        check_extensions(on_dump(tmp_path, "plpgsql", "pg_trgm", "citext"))
    assert "--packaging deb" in (error.value.hint or "")
    with pytest.raises(UsageError, match="the extension postgis, which"):
        check_extensions(on_dump(tmp_path, "pg_trgm", "postgis", packaging="deb"))
