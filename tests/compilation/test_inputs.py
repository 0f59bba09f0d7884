"""What a build is made of, in the digest, in the manifest, and in the commands."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from dbhone.compilation import builder
from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.variant import parse_variant
from dbhone.errors import ToolError, VariantError
from dbhone.session import Session
from dbhone.source.tree import SourceTree
from tests.compilation.tiny import make_spec
from tests.files import put_program

INPUTS = BuildInputs(dbms="tiny", source="dir:/x", variant=parse_variant("lto"))


def test_inputs_are_the_same_after_they_were_written_and_read() -> None:
    inputs = INPUTS.model_copy(update={"linker": "lld", "options": ("-DX=1",), "copy_number": 2})
    assert BuildInputs.model_validate_json(inputs.model_dump_json()) == inputs


def test_a_label_names_what_is_unusual() -> None:
    assert INPUTS.label == "rel+lto with gcc"
    unusual = INPUTS.model_copy(update={"linker": "mold", "options": ("-DX=1",)})
    assert unusual.label == "rel+lto -DX=1 linker=mold with gcc"


def test_inputs_at_their_defaults_do_not_change_a_digest() -> None:
    """So that builds that were made before an input existed are still found."""
    assert INPUTS.digest_entries() == {"copy": 0}
    assert INPUTS.model_copy(update={"linker": "lld"}).digest_entries() == {
        "copy": 0,
        "linker": "lld",
    }


def test_the_chosen_linker_links_and_makes_another_build(
    session: Session, tree: SourceTree
) -> None:
    spec = make_spec(tree, linker="lld")
    assert spec.digest() != make_spec(tree).digest()
    build = builder.make(spec, session, lambda _: None)
    assert build.manifest.inputs.linker == "lld"
    assert build.manifest.link_flags[-1] == "-fuse-ld=lld"
    assert b"Linker: " in build.path("program").read_bytes()


def test_a_linker_that_is_missing_is_named(session: Session, tree: SourceTree) -> None:
    spec = make_spec(tree, linker="none-such")
    with pytest.raises(ToolError, match="the linker none-such is not installed") as error:
        builder.make(spec, session, lambda _: None)
    assert (error.value.hint or "").endswith("recommends none-such; or name another linker")


def test_gcc_calls_no_linker_by_its_own_version(
    tree: SourceTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = make_spec(tree, linker="odd")
    put_program(tmp_path / f"ld.odd-{spec.compiler.major}")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(ToolError, match="the linker odd is not installed"):
        spec.check()


@pytest.mark.skipif(shutil.which("ld.lld") is None, reason="needs clang and lld")
@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang and lld")
def test_a_variant_that_needs_a_linker_of_its_own_refuses_another(
    session: Session, tree: SourceTree
) -> None:
    spec = make_spec(tree, "lto", compiler="clang", linker="bfd")
    with pytest.raises(VariantError, match="links with lld, not with bfd"):
        builder.make(spec, session, lambda _: None)


def test_lld_is_refused_for_gccs_link_time_optimisation(tree: SourceTree) -> None:
    spec = make_spec(tree, "lto", linker="lld")
    with pytest.raises(VariantError, match="cannot be linked by lld"):
        spec.check()


@pytest.mark.skipif(shutil.which("ld.mold") is None, reason="needs mold")
@pytest.mark.parametrize("variant", ["rel", "lto"])
def test_mold_links(session: Session, tree: SourceTree, variant: str) -> None:
    spec = make_spec(tree, variant, linker="mold")
    build = builder.make(spec, session, lambda _: None)
    assert b"mold" in build.path("program").read_bytes()
