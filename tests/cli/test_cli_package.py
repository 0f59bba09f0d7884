"""``hone verify`` and ``hone package``: what they say of wrong use, and of packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.package.archive import pack, unpack
from dbhone.package.measurement import findings, of_csv, to_csv
from dbhone.package.proof import MEASUREMENT, PROVENANCE, VERIFICATION, statement, write_proof
from dbhone.source.elf import machine_here
from tests.integration.hone import Hone
from tests.package.packages import MEASURED, files, samples

BUILD = {
    "buildDefinition": {
        "externalParameters": {"dbms": "sqlite", "version": "3.40.1", "variant": "o3"},
        "internalParameters": {
            "compile_flags": ["-O3"],
            "link_flags": [],
            "machine": machine_here(),
        },
    }
}
LISTS = [{"check": "testrunner", "list": "veryquick", "proving": 99, "tests": 100}]


@pytest.fixture
def hone(tmp_path: Path) -> Hone:
    return Hone(tmp_path / "home", tmp_path)


def test_a_word_that_is_no_build_is_told(hone: Hone) -> None:
    for command in ("verify", "package"):
        done = hone(command, "abcdef012345", code=2)
        assert "'abcdef012345' is neither a build nor a run" in done.stderr
        assert "'hone builds' lists the builds" in done.stderr
        assert "there are no runs yet" in hone(command, "last", code=2).stderr


def test_an_unknown_grade_and_an_unknown_form_are_wrong_use(hone: Hone) -> None:
    hone("verify", "last", "--grade", "thorough", code=2)
    assert "there is no form 'rpm'" in hone("package", "last", "--form", "rpm", code=2).stderr


def test_a_package_is_checked_where_there_is_no_home(hone: Hone) -> None:
    array = samples()
    entries = files(array)
    measured = MEASURED.to_json()
    found = findings(MEASURED, of_csv(to_csv(array)))
    statements = [
        statement(PROVENANCE, BUILD, entries),
        statement(VERIFICATION, {"passed": True, "grade": "smoke", "lists": LISTS}, entries),
        statement(MEASUREMENT, {"subject": "o3", "measured": measured, "found": found}, entries),
    ]
    file = hone.folder / "server.tar.zst"
    file.write_bytes(pack([*entries, write_proof(statements, None)], "server-1.0", 0))
    shown = hone("package", "--check", str(file)).stdout
    assert "server-1.0, 4 files, all whole" in shown
    assert "none: nobody vouches for it" in shown
    assert "sqlite 3.40.1, o3: -O3" in shown
    assert "grade smoke: passes what its base passes of testrunner veryquick (99 of 100" in shown
    assert "o3 over its base, computed anew from 8 blocks: held-out +" in shown
    assert "faster" in shown
    assert not hone.home.exists()
    assert unpack(file.read_bytes())[0] == "server-1.0"


def test_what_is_no_package_is_told(hone: Hone) -> None:
    (hone.folder / "text").write_text("hello")
    assert "no package of hone's" in hone("package", "--check", "text", code=1).stderr
    assert "cannot read missing" in hone("package", "--check", "missing", code=2).stderr
