"""What a build by a distribution's rules needs is told before work begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.compilation.distribution_rules import check_packaging
from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.toolchain import Compiler
from dbhone.compilation.variant import parse_variant
from dbhone.dbms.base import load_dbms
from dbhone.errors import SourceError, ToolError, UsageError
from tests.compilation.compilers import CLANG, GCC
from tests.files import put_program


def check(
    tree: Path, variant: str = "lto", dbms: str = "postgresql", compiler: Compiler = GCC
) -> None:
    inputs = BuildInputs(source="dir:x", variant=parse_variant(variant), packaging="deb")
    check_packaging(inputs, load_dbms(dbms), tree, compiler)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tree" / "debian").mkdir(parents=True)
    (tmp_path / "tree" / "debian" / "rules").touch()
    return tmp_path / "tree"


def test_what_a_distributions_rules_cannot_do_is_wrong_use(tree: Path) -> None:
    with pytest.raises(UsageError, match=r"changes what was linked"):
        check(tree, "lto+bolt")
    with pytest.raises(UsageError, match=r"flags are gcc's"):
        check(tree, compiler=CLANG)
    with pytest.raises(UsageError, match=r"cannot build SQLite by a distribution's rules"):
        check(tree, dbms="sqlite")


def test_a_tree_without_rules_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="has no debian/rules"):
        check(tmp_path)


def test_missing_build_dependencies_are_named_with_the_line_that_installs_them(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "dpkg-checkbuilddeps: error: Unmet build dependencies: dh-exec libicu-dev"
    put_program(tmp_path / "bin" / "dpkg-checkbuilddeps", f"echo '{text}' >&2; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    with pytest.raises(ToolError, match="dh-exec libicu-dev is missing") as told:
        check(tree)
    assert told.value.hint == f"install it: apt-get build-dep {tree}"
    put_program(tmp_path / "bin" / "dpkg-checkbuilddeps", "exit 0")
    check(tree)
