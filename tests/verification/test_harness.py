"""What brings the tests of a build."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dbhone.compilation.manifest import Build
from dbhone.errors import UsageError
from dbhone.verification import harness
from dbhone.verification.checks.mariadb_test_run import PLUGIN
from dbhone.verification.harness import TestHarness
from tests.package.builds import server_build


def harness_of_nothing() -> TestHarness:
    """Return a harness whose ``acquire`` is replaced."""
    return TestHarness(
        session=cast("Any", None), notify=lambda _: None, exclusive=cast("Any", None)
    )


def mariadb_build(folder: Path, version: str) -> Build:
    made = server_build(folder, "f" * 64, dbms="mariadb")
    return Build(made.folder, made.manifest.model_copy(update={"version": version}))


def test_kept_packages_of_another_version_are_brought_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def acquire(_: str, __: Any, *, refresh: bool = False, notify: Any) -> SimpleNamespace:
        version = "10.11.19" if refresh else "10.11.18"
        return SimpleNamespace(resolved=f"deb:mariadb-test={version}", path=tmp_path / version)

    monkeypatch.setattr(harness, "acquire", acquire)
    for version in ("10.11.18", "10.11.19"):
        build = mariadb_build(tmp_path / "builds" / version, version)
        assert harness_of_nothing().tests_of(PLUGIN, build) == tmp_path / version


@pytest.mark.parametrize(("version", "fits"), [("10.11.18", True), ("10.11.1", False)])
def test_packages_with_the_tests_of_another_version_are_refused(
    version: str, fits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolved = "deb:mariadb-test=1:10.11.18-0+deb12u1,libpcre2-posix3=10.42-1"
    tree = SimpleNamespace(resolved=resolved, path=tmp_path / "tree")
    monkeypatch.setattr(harness, "acquire", lambda *_, **__: tree)
    build, tests = mariadb_build(tmp_path, version), harness_of_nothing()
    if fits:
        assert tests.tests_of(PLUGIN, build) == tree.path
        return
    with pytest.raises(UsageError, match=r"of another version than the build, 10\.11\.1: deb:"):
        tests.tests_of(PLUGIN, build)
