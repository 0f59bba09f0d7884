"""`hone builds`: what tells builds of one source and variant apart."""

from __future__ import annotations

import json
from pathlib import Path

from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import KeptFile, write_manifest
from dbhone.compilation.variant import parse_variant
from dbhone.home import Home
from tests.cli.finished_run import invoke
from tests.compilation.plain_build import plain_build


def test_a_build_by_a_distributions_rules_is_told_from_hones_own(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    inputs = BuildInputs(dbms="postgresql", source="dir:/x", variant=parse_variant("rel"))
    for digest, packaging in (("a" * 64, None), ("b" * 64, "deb")):
        folder = home.builds / digest
        (folder / "bin").mkdir(parents=True)
        (folder / "bin/postgres").touch()
        server = KeptFile(path="bin/postgres", bytes=0, sha256="0" * 64)
        chosen = inputs.model_copy(update={"packaging": packaging})
        made = plain_build(folder, chosen, files={"server": server})
        write_manifest(folder, made.manifest)
    assert invoke(home, "builds").stdout.count("packag") == 1  # a narrow terminal breaks words
    listed = json.loads(invoke(home, "builds", "--json").stdout)
    packagings = {build["digest"][0]: build["inputs"].get("packaging") for build in listed}
    assert packagings == {"a": None, "b": "deb"}
