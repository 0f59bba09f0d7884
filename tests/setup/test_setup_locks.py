"""The locks hold what pyproject.toml asks for, pinned and hashed, and say nothing of where."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).resolve().parents[2]
LOCKS = ["run", "check", "uv"]
_OURS = {"dbhone", "tests", "benchmarks", "setup"}


def lock_text(name: str) -> str:
    return (REPOSITORY / "requirements" / f"{name}.lock").read_text()


def pins(name: str) -> dict[str, set[str]]:
    """Return the locked requirements without their hashes, by package."""
    found: dict[str, set[str]] = {}
    for line in lock_text(name).splitlines():
        if line and line[0] not in "# ":
            pin = line.rstrip("\\ ")
            found.setdefault(canonicalize_name(Requirement(pin).name), set()).add(pin)
    return found


def declared(*groups: str) -> list[Requirement]:
    """Return what pyproject.toml asks for at run time, and in dependency groups."""
    pyproject = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    lines = list(pyproject["project"]["dependencies"])
    for group in groups:
        lines += pyproject["dependency-groups"][group]
    return [Requirement(line) for line in lines]


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_carries_no_address(lock: str) -> None:
    assert "//" not in lock_text(lock)
    assert "index-url" not in lock_text(lock)


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_is_pinned_and_hashed(lock: str) -> None:
    blocks = re.findall(r"^[^#\s](?:.*\\\n)*.*", lock_text(lock), re.MULTILINE)
    assert blocks
    for block in blocks:
        assert re.match(r"[\w.-]+==[\w.+!]+ ", block)
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block)


def test_an_environment_for_check_holds_all_that_run_needs() -> None:
    run, check = pins("run"), pins("check")
    assert run == {name: check.get(name) for name in run}


@pytest.mark.parametrize(("lock", "groups"), [("run", ("setup",)), ("check", ("setup", "check"))])
def test_a_lock_answers_pyproject(lock: str, groups: tuple[str, ...]) -> None:
    locked = pins(lock)
    for wanted in declared(*groups):
        for pin in locked.get(canonicalize_name(wanted.name), {"absent"}):
            version = pin.partition("==")[2].partition(" ")[0]
            assert wanted.specifier.contains(version or "absent"), f"{wanted}: run setup/lock"


def imports(folder: str) -> Iterator[str]:
    """Yield the packages from elsewhere that the files below ``folder`` import."""
    for path in sorted((REPOSITORY / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                continue
            for name in (each.partition(".")[0] for each in names):
                beside = path.with_name(f"{name}.py").exists()
                if not beside and name not in sys.stdlib_module_names | _OURS:
                    yield name


@pytest.mark.parametrize(
    ("folder", "groups"), [("src", ()), ("tests", ("check",)), ("benchmarks", ("check",))]
)
def test_only_declared_packages_are_imported(folder: str, groups: tuple[str, ...]) -> None:
    known = packages_distributions()
    allowed = {canonicalize_name(each.name) for each in declared(*groups)}
    for name in set(imports(folder)):
        providers = {canonicalize_name(each) for each in known.get(name, [name])}
        assert providers & allowed, f"{name} is imported but not declared in pyproject.toml"
