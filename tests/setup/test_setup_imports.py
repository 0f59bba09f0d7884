"""The contracts of imports in pyproject.toml catch what they forbid."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

# Who imports what it must not, and the contract that says so.
PLANTED = [
    ("dbhone.serve", "dbhone.cli", "Imports point one way along the pipeline"),
    ("dbhone.report", "dbhone.serve", "Imports point one way along the pipeline"),
    ("dbhone.report", "dbhone.cli", "Imports point one way along the pipeline"),
    ("dbhone.experiment", "dbhone.report", "Imports point one way along the pipeline"),
    ("dbhone.workload", "dbhone.analysis", "Imports point one way along the pipeline"),
    ("dbhone.workload", "dbhone.experiment", "Imports point one way along the pipeline"),
    ("dbhone.instance", "dbhone.workload", "Imports point one way along the pipeline"),
    ("dbhone.compilation", "dbhone.instance", "Imports point one way along the pipeline"),
    ("dbhone.source", "dbhone.compilation", "Imports point one way along the pipeline"),
    ("dbhone.dbms", "dbhone.source", "Imports point one way along the pipeline"),
    ("dbhone.measurement", "dbhone.workload", "Imports point one way along the pipeline"),
    ("dbhone.measurement", "dbhone.dbms", "Imports point one way along the pipeline"),
    ("dbhone.analysis", "dbhone.process", "Analysis and report see records"),
    ("dbhone.analysis", "dbhone.measurement.store", "Analysis and report see records"),
    ("dbhone.analysis", "sqlalchemy", "Analysis and report see records"),
    ("dbhone.report", "dbhone.files", "Analysis and report see records"),
    ("dbhone.report", "dbhone.measurement.store", "Analysis and report see records"),
    ("dbhone.report", "dbhone.compilation", "Analysis and report see records"),
    ("dbhone.analysis", "pathlib", "Analysis computes"),
    ("dbhone.compilation", "subprocess", "Only process.py starts programs"),
    ("dbhone.cli", "subprocess", "Only process.py starts programs"),
    ("dbhone.cli", "webbrowser", "Only process.py starts programs"),
    ("dbhone.serve", "dbhone.experiment", "What is served is read from the store"),
    ("dbhone.serve", "sqlalchemy", "What is served is read from the store"),
    ("dbhone.cli", "numpy", "A command does not compute"),
    ("dbhone.cli.commands", "dbhone.cli.commands.package", "A command does not know the others"),
]


def planted_name(importer: str, imported: str) -> str:
    return f"{importer}.planted_{imported.replace('.', '_')}"


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache"),
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder / "src"), "COLUMNS": "1000"},
        capture_output=True,
        text=True,
        check=False,
    )


def copy_of_the_sources(folder: Path) -> None:
    shutil.copy(REPOSITORY / "pyproject.toml", folder)
    shutil.copytree(REPOSITORY / "src", folder / "src")


@pytest.fixture(scope="module")
def complaint(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what is said of a copy of the sources with all that is forbidden planted in it."""
    folder = tmp_path_factory.mktemp("planted")
    copy_of_the_sources(folder)
    for importer, imported, _ in PLANTED:
        path = Path(folder, "src", *planted_name(importer, imported).split(".")).with_suffix(".py")
        path.write_text(f"import {imported}\n")
    ended = lint(folder)
    assert ended.returncode == 1
    return ended.stdout


@pytest.mark.parametrize(("importer", "imported", "contract"), PLANTED)
def test_a_forbidden_import_is_caught(
    complaint: str, importer: str, imported: str, contract: str
) -> None:
    assert f"{planted_name(importer, imported)} -> {imported} " in section(complaint, contract)


def section(complaint: str, contract: str) -> str:
    """Return what is said of one broken contract: its name, underlined, and what follows."""
    _, _, broken = complaint.partition("Broken contracts")
    sections = re.split(r"\n(?=[^\n]+\n-{9,}\n)", broken)
    (found,) = (each for each in sections if each.startswith(contract))
    return found


def test_a_record_type_that_reaches_for_the_database_is_caught(tmp_path: Path) -> None:
    copy_of_the_sources(tmp_path)
    record = tmp_path / "src" / "dbhone" / "measurement" / "record.py"
    record.write_text(f"{record.read_text()}\nimport dbhone.measurement.tables\n")
    ended = lint(tmp_path)
    assert ended.returncode == 1
    assert "The types that analysis and report see are only types BROKEN" in ended.stdout


def test_a_new_part_of_the_package_needs_a_place(tmp_path: Path) -> None:
    copy_of_the_sources(tmp_path)
    (tmp_path / "src" / "dbhone" / "util.py").touch()
    ended = lint(tmp_path)
    assert ended.returncode == 1
    assert "dbhone.util" in ended.stdout


def test_no_module_of_tests_imports_another() -> None:
    """What several of them need has a module of its own."""
    wrong = [
        f"{path.relative_to(REPOSITORY)}: {line}"
        for path in (REPOSITORY / "tests").rglob("test_*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.match(r"(from|import) tests\.(?:\w+\.)*test_", line)
    ]
    assert not wrong
