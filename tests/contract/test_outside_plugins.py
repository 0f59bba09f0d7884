"""Plug-ins of another distribution: found by their entry points, and used like hone's own.

``outside/`` is that distribution as it lies on a machine. It brings a DBMS with a protocol of its
own, a fork of MySQL, a driver whose data is neither tables nor rows, and a suite; each is one file.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import dbhone

OUTSIDE = Path(__file__).with_name("outside")
EXPERIMENT = """\
title = "keyd: does it matter how it is compiled?"
base = "rel"

[sources]
keyd = "dir:keyd"

[subjects]
rel = { dbms = "keyd", source = "keyd" }
o1 = { like = "rel", variant = "o1" }

[workload]
suite = "keys"
size = "smoke"
data = { keys = 2000 }

[design]
budget = "5m"
blocks = { min = 2, max = 2 }
"""


def python(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python with the other distribution beside hone."""
    paths = (str(OUTSIDE), str(Path(dbhone.__file__).parents[1]))
    return subprocess.run(
        (sys.executable, *words),
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def printed(code: str, folder: Path) -> str:
    done = python("-c", code, folder=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_dbms_a_fork_a_driver_and_a_suite_are_found(tmp_path: Path) -> None:
    code = """
from dbhone import registry
from dbhone.workload import suite
print(*(name in registry.names("dbhone.dbms") for name in ("keyd", "acme", "mysql")))
print("keybench" in registry.names("dbhone.workload.drivers"))
print(suite.for_interface("keyd"))
"""
    assert printed(code, tmp_path) == "True True True\nTrue\n('keys',)"


def test_a_fork_is_driven_by_the_suites_of_its_protocol(tmp_path: Path) -> None:
    file = tmp_path / "acme.toml"
    file.write_text(
        EXPERIMENT.replace('"keyd"', '"acme"')
        .replace('suite = "keys"', 'suite = "sysbench:micro"')
        .replace("data = { keys = 2000 }\n", "")
        .replace("keyd = ", "acme = ")
        .replace("dir:keyd", "apt:acme")
    )
    done = python(
        "-m", "dbhone", "--home", str(tmp_path / "home"), "plan", str(file), folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "rel: rel with gcc" in done.stdout


def test_what_a_driver_does_not_know_of_its_data_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "keyd.toml"
    file.write_text(EXPERIMENT.replace("data = { keys = 2000 }", "rows = 2000"))
    done = python(
        "-m", "dbhone", "--home", str(tmp_path / "home"), "plan", str(file), folder=tmp_path
    )
    assert done.returncode == 2
    assert "the suite keys has no 'rows'" in done.stderr


def test_a_dbms_whose_databases_nobody_dumps_begins_no_experiment_on_its_queries(
    tmp_path: Path,
) -> None:
    home = ("--home", str(tmp_path / "home"))
    done = python("-m", "dbhone", *home, "init", "keyd", "queries", folder=tmp_path)
    assert done.returncode == 2
    assert "hone knows no program that dumps databases of keyd" in done.stderr


def test_two_plug_ins_of_one_name_are_an_error_that_names_both(tmp_path: Path) -> None:
    info = tmp_path / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[dbhone.dbms]\nkeyd = other.keyd:PLUGIN\n")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from dbhone import registry
from dbhone.errors import HoneError
try:
    registry.names("dbhone.dbms")
except HoneError as error:
    print(error.message)
"""
    message = printed(code, tmp_path)
    assert "outside_keyd.keyd:PLUGIN of outside-keyd" in message
    assert "other.keyd:PLUGIN of other" in message
    assert message.endswith("have the same name: 'keyd'")


def test_a_plug_in_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[dbhone.dbms]\nbroken = no_such_module:PLUGIN\n")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from dbhone.dbms.base import load_dbms
from dbhone.errors import HoneError
try:
    load_dbms("broken")
except HoneError as error:
    print(error.message)
"""
    message = printed(code, tmp_path)
    assert message.startswith("the plug-in no_such_module:PLUGIN of broken cannot be loaded: ")


@pytest.mark.integration
def test_a_third_protocol_is_built_verified_and_measured(tmp_path: Path) -> None:
    # A socket's path must be short, and the servers' account must be able to enter.
    with tempfile.TemporaryDirectory(prefix="hone-", dir="/var/tmp") as short:
        Path(short).chmod(0o711)
        _measure_keyd(tmp_path, Path(short))


def _measure_keyd(tmp_path: Path, home_folder: Path) -> None:
    tree = tmp_path / "keyd"
    tree.mkdir()
    shutil.copy(OUTSIDE / "keyd.c", tree)
    (tmp_path / "keyd.toml").write_text(EXPERIMENT)
    home = ("--home", str(home_folder / "home"))
    done = python("-m", "dbhone", *home, "run", "keyd.toml", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "verify  o1" in done.stderr
    report = python("-m", "dbhone", *home, "report", "last", "--format", "json", folder=tmp_path)
    found = json.loads(report.stdout)
    assert {effect["step"] for effect in found["effects"]} == {"get", "put"}
    assert {build["subject"] for build in found["builds"]} == {"rel", "control", "o1"}
