"""What a build is made of, and its digest."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest

from dbhone.compilation.spec import check_targets
from dbhone.compilation.toolchain import Compiler
from dbhone.compilation.transforms.base import CompilerFamily
from dbhone.compilation.variant import parse_variant
from dbhone.errors import UsageError
from dbhone.source.tree import SourceTree
from tests.compilation.tiny import Tiny, make_spec
from tests.files import put_program

GCC = Compiler(
    family=CompilerFamily.GCC,
    path=Path("/usr/bin/gcc"),
    version="12.2.0",
    identity="gcc (Debian 12.2.0-14+deb12u1) 12.2.0",
)


@pytest.mark.parametrize(
    ("variant", "changes", "digest"),
    [
        ("rel", {}, "83db8ad8b8df21f431af6ddbce4e2485b141c3418cf3ac6907396e313e02c16d"),
        ("o3+lto", {}, "41e2360dc9c9ee96e3878823ccc53c9ecfad92e79479b8180b03123afcf07be0"),
        (
            "rel",
            {"copy_number": 1, "options": ("-DX=1",)},
            "a03fe5bf30de1fdfdd884990166c3aa94c38ee98c90cb0f5384355f2339fa95a",
        ),
    ],
)
def test_digests_stay_so_that_kept_builds_are_found(
    tree: SourceTree,
    monkeypatch: pytest.MonkeyPatch,
    variant: str,
    changes: dict[str, Any],
    digest: str,
) -> None:
    monkeypatch.delenv("DBHONE_LIBRARIES", raising=False)
    dbms = Tiny()
    dbms.takes_options = True
    spec = make_spec(tree, variant, dbms=dbms, **changes)
    assert dataclasses.replace(spec, compiler=GCC).digest() == digest


def test_another_assembler_or_linker_that_the_compiler_calls_makes_another_build(
    tree: SourceTree,
) -> None:
    old, new = "ld 1", "ld 2"
    spec = make_spec(tree)
    compilers = (
        GCC,
        dataclasses.replace(GCC, linker=old),
        dataclasses.replace(GCC, linker=new),
        dataclasses.replace(GCC, assembler=old, linker=old),
    )
    digests = {dataclasses.replace(spec, compiler=one).digest() for one in compilers}
    assert len(digests) == 4


def test_the_linker_that_a_compiler_would_call_is_no_input_where_another_is_named(
    tree: SourceTree,
) -> None:
    spec = make_spec(tree, linker="mold")
    with_it = dataclasses.replace(spec, compiler=dataclasses.replace(GCC, linker="ld 1"))
    assert with_it.digest() == dataclasses.replace(spec, compiler=GCC).digest()


CLANG = dataclasses.replace(
    GCC,
    family=CompilerFamily.CLANG,
    path=Path("/usr/bin/clang"),
    linker="ld 1",
)


@pytest.fixture
def lld(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an lld that comes before the real one."""
    program = put_program(tmp_path / "bin" / "ld.lld-12", "echo LLD 12.0.1")
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return program


def test_the_linker_that_a_variant_names_is_an_input_and_the_usual_one_is_none(
    tree: SourceTree, lld: Path
) -> None:
    spec = make_spec(tree, "lto")
    usual, newer = (
        dataclasses.replace(spec, compiler=one)
        for one in (CLANG, dataclasses.replace(CLANG, linker="ld 2"))
    )
    before = usual.digest()
    assert newer.digest() == before
    put_program(lld, "echo LLD 12.0.2")
    assert usual.digest() != before


def test_a_patched_linker_that_tells_the_same_version_makes_another_build(
    tree: SourceTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = set()
    for name in ("plain", "patched"):
        program = put_program(tmp_path / name / "ld.odd", f"echo odd 1.0 # {name}")
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        digests.add(make_spec(tree, linker="odd").digest())
    assert len(digests) == 2


def test_a_build_of_all_targets_is_another_than_the_servers(tree: SourceTree) -> None:
    whole = make_spec(tree).inputs.model_copy(update={"dbms": "postgresql", "targets": "all"})
    assert whole.label.startswith("rel targets=all with ")
    assert whole.digest_entries()["targets"] == "all"
    assert "targets" not in make_spec(tree).inputs.digest_entries()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"dbms": "sqlite"}, "SQLite has no targets besides those that every build makes"),
        ({"packaging": "deb"}, "a distribution's rules choose themselves what they build"),
        ({"variant": parse_variant("lto+pgo")}, "and rel+lto+pgo is trained"),
    ],
)
def test_all_targets_are_refused_where_there_are_none_or_none_to_choose(
    tree: SourceTree, changes: dict[str, Any], said: str
) -> None:
    asked = {"dbms": "postgresql", "targets": "all", **changes}
    inputs = make_spec(tree).inputs.model_copy(update=asked)
    with pytest.raises(UsageError) as refused:
        check_targets(inputs)
    assert said in refused.value.message
    assert "leave 'targets' out" in (refused.value.hint or "")
