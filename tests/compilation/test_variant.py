"""Variants: transforms compose, and refuse to where they cannot."""

from __future__ import annotations

import dataclasses
import itertools
import platform
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone import registry
from dbhone.compilation import host
from dbhone.compilation.toolchain import Compiler
from dbhone.compilation.transforms.base import DRAWER, CompilerFamily, FlagContext, Pass, Transform
from dbhone.compilation.variant import COMPOSITIONS, parse_variant
from dbhone.dbms.base import load_dbms
from dbhone.errors import ToolError, UnknownName, VariantError
from tests.compilation.compilers import CLANG, GCC
from tests.files import put

TRANSFORMS = registry.load_all(DRAWER, Transform, what="transform")


def test_a_variant_without_a_level_is_the_distributions() -> None:
    assert parse_variant("pgo").name == "rel+pgo"
    assert parse_variant("lto+pgo").name == "rel+lto+pgo"
    assert parse_variant("rel").name == "rel"


def test_the_order_of_the_words_does_not_matter() -> None:
    names = {
        parse_variant("+".join(words)).name
        for words in itertools.permutations(("pgo", "native", "lto", "o3"))
    }
    assert names == {"o3+native+lto+pgo"}


@given(st.sets(st.sampled_from(sorted(TRANSFORMS)), min_size=1))
def test_any_set_of_transforms_is_composed_or_refused_with_a_reason(words: set[str]) -> None:
    slots = [TRANSFORMS[word].slot for word in words]
    try:
        variant = parse_variant("+".join(sorted(words)))
    except VariantError as error:
        twice = len(set(slots)) < len(slots)
        assert "both set the" in error.message if twice else " excludes " in error.message
    else:
        assert words <= set(variant.name.split("+"))
        assert parse_variant(variant.name) == variant


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rel+o3", "'rel' and 'o3' both set the optimisation level"),
        ("rel_o2+o3", "'rel' and 'o3' both set the optimisation level"),
        ("lto+lto", "names 'lto' twice"),
        ("rel_lto+lto", "names 'lto' twice"),
        *((text, "is not a variant") for text in ("", "+", "lto+", " + lto")),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_reason(name: str, said: str) -> None:
    with pytest.raises(VariantError, match=said):
        parse_variant(name)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("rel+pgoo", "did you mean 'pgo' or 'cspgo'?"), ("rel_natve", "'rel_native'")],
)
def test_what_is_misspelt_tells_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(UnknownName) as caught:
        parse_variant(name)
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("rel_withdbg", "rel+g"),
        ("rel_o2", "rel"),
        ("rel_native", "o3+native"),
        ("rel_o2_lto", "rel+lto"),
        ("rel_lto", "o3+lto"),
        ("rel_native_lto", "o3+native+lto"),
        ("rel_o2_lto+pgo", "rel+lto+pgo"),
        ("rel_withdbg+native", "rel+g+native"),
    ],
)
def test_known_names_are_compositions_of_transforms(name: str, meaning: str) -> None:
    assert parse_variant(name).name == meaning


@pytest.mark.parametrize("name", sorted(COMPOSITIONS))
def test_a_composition_can_be_meant_and_is_no_transforms_name(name: str) -> None:
    assert parse_variant(name).name.split("+") == list(COMPOSITIONS[name])
    assert name not in TRANSFORMS


def test_debug_information_goes_with_any_level() -> None:
    flags = parse_variant("o3+g").flags(GCC, Pass.PLAIN)
    assert flags.compile == ("-O3", "-DNDEBUG", "-g")


def test_the_instrumented_pass_is_shared_by_pgo_with_and_without_lto() -> None:
    for compiler in (GCC, CLANG):
        plain = parse_variant("pgo").flags(compiler, Pass.INSTRUMENT)
        assert parse_variant("lto+pgo").flags(compiler, Pass.INSTRUMENT) == plain


@pytest.mark.parametrize("name", sorted(TRANSFORMS))
@pytest.mark.parametrize("compiler", [GCC, CLANG], ids=["gcc", "clang"])
def test_every_transform_proves_flags_that_it_gives(name: str, compiler: Compiler) -> None:
    variant = parse_variant(name)
    for pass_ in variant.passes():
        flags = variant.flags(compiler, pass_)
        assert flags.proof
        assert set(flags.proof) <= set(flags.compile)


def test_gcc_reads_the_profile_it_was_given() -> None:
    flags = parse_variant("pgo").flags(GCC, Pass.USE, profile="/profile", build_folder="/build")
    assert "-fprofile-use=/profile" in flags.compile
    assert "-fprofile-prefix-path=/build" in flags.compile
    assert "-fprofile-partial-training" in flags.compile


def test_clangs_lto_needs_its_linker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match=r"'lto' with clang 14\.0\.6 needs ld\.lld"):
        parse_variant("lto").check(dataclasses.replace(CLANG, path=tmp_path / "clang"))
    parse_variant("lto").check(GCC)


def test_a_gcc_that_is_too_old_is_refused_for_pgo() -> None:
    with pytest.raises(VariantError, match=r"impossible with gcc 9\.4\.0"):
        parse_variant("pgo").check(dataclasses.replace(GCC, version="9.4.0"))


def test_a_variant_has_the_passes_of_what_it_is_made_of() -> None:
    assert parse_variant("lto").passes() == (Pass.PLAIN,)
    assert parse_variant("lto+pgo").passes() == (Pass.INSTRUMENT, Pass.USE)
    assert parse_variant("cspgo").passes() == (Pass.INSTRUMENT, Pass.REINSTRUMENT, Pass.USE)
    after = (Pass.POST_LINK_INSTRUMENT, Pass.POST_LINK_USE)
    assert parse_variant("bolt").passes() == (Pass.PLAIN, *after)
    assert parse_variant("lto+pgo+bolt").passes() == (Pass.INSTRUMENT, Pass.USE, *after)
    assert parse_variant("bolt").profile_guided


def test_context_sensitive_profiles_begin_as_others_do() -> None:
    first = parse_variant("cspgo").flags(CLANG, Pass.INSTRUMENT)
    assert first == parse_variant("pgo").flags(CLANG, Pass.INSTRUMENT)
    second = parse_variant("cspgo").flags(CLANG, Pass.REINSTRUMENT)
    assert second.compile[-3:-1] == ("-fprofile-use={profile}", "-fcs-profile-generate")
    with pytest.raises(VariantError, match="'cspgo' is impossible with gcc"):
        parse_variant("cspgo").check(GCC)


def test_what_keeps_relocations_reaches_only_what_is_measured() -> None:
    flags = parse_variant("bolt").flags(GCC, Pass.PLAIN)
    assert "-Wl,-q" in flags.primary_link
    assert "-Wl,-q" not in flags.link
    assert "-fno-reorder-blocks-and-partition" in flags.proof
    assert parse_variant("bolt").flags(CLANG, Pass.PLAIN).compile == ("-O2", "-DNDEBUG")


@pytest.mark.parametrize(("name", "flag"), [("v2", "popcnt"), ("v3", "avx2"), ("v4", "avx512f")])
def test_a_level_of_processors_says_what_they_have(name: str, flag: str) -> None:
    (_, level) = parse_variant(name).transforms
    assert flag in level.cpu_flags
    assert level.flags(context_of(GCC)).compile == (f"-march=x86-64-{name}",)
    assert level.refusal(CompilerFamily.GCC, 10) is not None
    assert not level.host_specific


def test_interposition_is_for_libraries() -> None:
    variant = parse_variant("nointerpose")
    variant.check_artifact(load_dbms("sqlite"))
    with pytest.raises(VariantError, match="changes nothing in PostgreSQL"):
        variant.check_artifact(load_dbms("postgresql"))


def test_what_the_machine_lacks_is_named(tmp_path: Path) -> None:
    v3, thp = TRANSFORMS["v3"], TRANSFORMS["thp"]
    flags = " ".join(sorted(v3.cpu_flags - {"avx2"}))
    put(tmp_path / "proc/cpuinfo", f"processor : 0\nflags\t\t: fpu {flags}\n")
    assert host.lack(v3, tmp_path) == "this machine's processor lacks avx2"
    assert host.lack(TRANSFORMS["v2"], tmp_path) is None
    assert host.lack(thp, tmp_path) == "this machine's kernel does not expose its configuration"
    config = tmp_path / "boot" / f"config-{platform.release()}"
    put(config, "CONFIG_A=y\n# CONFIG_READ_ONLY_THP_FOR_FS is not set\n")
    wrong = "this machine's kernel was built without CONFIG_READ_ONLY_THP_FOR_FS"
    assert host.lack(thp, tmp_path) == wrong
    put(config, "CONFIG_READ_ONLY_THP_FOR_FS=y\n")
    mode = tmp_path / "sys/kernel/mm/transparent_hugepage/enabled"
    put(mode, "always [madvise] never\n")
    assert "does not contain [always]" in str(host.lack(thp, tmp_path))
    put(mode, "[always] madvise never\n")
    assert host.lack(thp, tmp_path) is None


def context_of(compiler: Compiler) -> FlagContext:
    return FlagContext(
        family=compiler.family,
        pass_=Pass.PLAIN,
        profile="",
        build_folder="",
    )
