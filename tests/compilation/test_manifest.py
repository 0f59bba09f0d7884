"""What is read out of the manifests of builds, those of older hones among them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import read_build, write_manifest
from dbhone.compilation.variant import parse_variant
from tests.compilation.plain_build import plain_build

OLD = datetime(2026, 11, 27, 13, 48, tzinfo=UTC)
NEW = datetime(2026, 11, 28, 13, 48, tzinfo=UTC)
LINKED = {"configure": 20.0, "compile": 100.0, "layouts": 30.0}


@pytest.mark.parametrize(
    ("seconds", "phases", "built_at", "told"),
    [
        (150.5, LINKED, OLD, 120.5),
        (120.5, LINKED, OLD, 120.5),
        (150.5, LINKED, NEW, 150.5),
        (120.5, {"configure": 20.0, "compile": 100.0}, OLD, 120.5),
        (5.0, {}, OLD, 5.0),
    ],
)
def test_the_seconds_of_a_build_never_include_the_linking_of_other_layouts(
    tmp_path: Path, seconds: float, phases: dict[str, float], built_at: datetime, told: float
) -> None:
    inputs = BuildInputs(dbms="sqlite", source="apt:sqlite3=1", variant=parse_variant("rel"))
    kept = plain_build(tmp_path, inputs, seconds=seconds, phase_seconds=phases, built_at=built_at)
    write_manifest(tmp_path, kept.manifest)
    build = read_build(tmp_path)
    assert build is not None
    assert (build.manifest.seconds, build.manifest.phase_seconds) == (told, phases)
