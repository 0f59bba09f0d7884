"""Which candidates there are on a machine."""

from types import SimpleNamespace

import pytest

from dbhone.compilation.bolt import find_usable_bolt
from dbhone.dbms.base import load_dbms
from dbhone.errors import HoneError, UsageError
from dbhone.instance.levers.base import Unavailable
from dbhone.requirements import Requirement
from dbhone.tuner import space as space_module
from dbhone.tuner.space import Candidate, find_space, goals_for_more, usual_compilers


def test_the_usual_space_begins_with_what_promises_most() -> None:
    space = find_space(load_dbms("postgresql"))
    variants = [candidate.variant for candidate in space.candidates]
    assert "lto+pgo" in variants[:4]
    assert len(set(space.candidates)) == len(space.candidates)
    try:
        find_usable_bolt()
    except HoneError:
        assert any("bolt" in name for name in space.left_out)
    else:
        assert variants[0] == "lto+pgo+bolt"


def test_what_no_machine_could_build_is_not_worth_telling() -> None:
    space = find_space(load_dbms("postgresql"), compilers=("gcc",))
    names = {candidate.name for candidate in space.candidates} | space.left_out.keys()
    assert not any("cspgo" in name or "nointerpose" in name for name in names)


def test_a_library_has_a_variant_of_its_own_and_no_levers() -> None:
    space = find_space(load_dbms("sqlite"), compilers=("gcc",))
    assert "lto+pgo+nointerpose" in {candidate.name for candidate in space.candidates}
    assert space.levers == ()


def test_what_was_asked_for_and_is_impossible_is_refused() -> None:
    with pytest.raises(UsageError, match="gcc does not support it"):
        find_space(load_dbms("sqlite"), variants=("lto+cspgo",), compilers=("gcc",))
    with pytest.raises(UsageError, match="has no levers"):
        find_space(load_dbms("sqlite"), levers=("jemalloc",))


def test_a_variant_that_one_compiler_cannot_make_is_left_out_of_that_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(candidate: Candidate, *_: object) -> str | None:
        return "gcc does not support it" if candidate.compiler == "gcc" else None

    monkeypatch.setattr(space_module, "usual_compilers", lambda: ("gcc", "clang"))
    monkeypatch.setattr(space_module, "_labels", lambda names: {name: name for name in names})
    monkeypatch.setattr(space_module, "_refusal", refuse)
    space = find_space(load_dbms("sqlite"), variants=("cspgo",))
    assert {candidate.compiler for candidate in space.candidates} == {"clang"}
    assert "gcc does not support it" in space.left_out.values()


def test_one_variant_in_two_spellings_is_one_candidate_and_the_base_is_none() -> None:
    words = ("lto+pgo", "rel+pgo+lto", "rel", "rel_o2")
    space = find_space(load_dbms("sqlite"), variants=words, compilers=("gcc",))
    assert [candidate.variant for candidate in space.candidates] == ["lto+pgo"]
    with pytest.raises(UsageError, match="no build to try besides the base"):
        find_space(load_dbms("sqlite"), variants=("rel",), compilers=("gcc",))


def test_compilers_are_the_newest_of_each_family_by_their_shortest_names() -> None:
    found = usual_compilers()
    assert found[0] == "gcc"
    assert len(found) <= 2


@pytest.mark.parametrize(
    ("variants", "compilers", "on_the_machine", "offered"),
    [
        ((), (), ("gcc",), ["clang", "bolt"]),
        ((), (), ("gcc", "clang-19"), ["bolt"]),
        ((), ("gcc",), ("gcc",), ["bolt"]),
        (("lto",), (), ("gcc",), ["clang"]),
        (("lto",), ("gcc",), ("gcc",), []),
    ],
)
def test_clang_and_bolt_are_offered_where_they_are_missing_and_not_unwanted(
    variants: tuple[str, ...],
    compilers: tuple[str, ...],
    on_the_machine: tuple[str, ...],
    offered: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dbhone.tuner.space.usual_compilers", lambda: on_the_machine)
    monkeypatch.setattr("dbhone.compilation.bolt.find_bolt", lambda: None)
    monkeypatch.setattr(Requirement, "is_met", lambda _: False)
    assert [goal.name for goal in goals_for_more(variants, compilers)] == offered


def test_a_candidate_is_called_by_what_sets_it_apart() -> None:
    clang = Candidate.of("lto+pgo", "/opt/llvm/bin/clang-19", "clang-19").with_lever("jemalloc")
    assert clang.name == "clang-19+lto+pgo+jemalloc"
    assert Candidate.of("rel", "clang", "clang").name == "clang"
    assert Candidate.of("lto", "gcc", "").name == "lto"
    assert clang.section()["like"] == "rel"


def test_compilers_of_one_name_are_told_apart_by_their_versions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    majors = {"/opt/a/bin/clang": 18, "/opt/b/bin/clang": 19, "/opt/c/bin/clang": 19}

    def compiler(name: str) -> SimpleNamespace:
        return SimpleNamespace(major=majors.get(name, 18))

    monkeypatch.setattr(space_module, "find_compiler", compiler)
    monkeypatch.setattr(space_module, "_refusal", lambda *_: None)
    named = ("gcc", *majors, "clang-18", "/opt/a/bin/clang")
    found = find_space(load_dbms("sqlite"), variants=("lto",), compilers=named)
    called = {each.name: each.compiler for each in found.candidates if each.variant == "lto"}
    assert called == {
        "lto": "gcc",
        "clang-18+lto": "/opt/a/bin/clang",
        "clang-19+lto": "/opt/b/bin/clang",
        "clang-19-2+lto": "/opt/c/bin/clang",
        "clang-18-2+lto": "clang-18",
    }


def test_names_that_are_too_long_are_shortened_and_stay_apart() -> None:
    variants = tuple(f"o3+native+lto+pgo+bolt+nointerpose+{more}" for more in ("march", "v3"))
    candidates = [Candidate.of(variant, "clang-22", "clang-22") for variant in variants]
    levers = ("huge-pages", "x" * 40)
    candidates += [each.with_lever(word) for each in candidates for word in levers]
    names = [each.name for each in candidates]
    assert len(set(names)) == len(names)
    assert all(len(name) <= 40 and name.startswith("clang-22+o3") for name in names)
    assert sum(name.endswith("+huge-pages") for name in names) == 2


def test_candidates_of_one_name_are_refused_before_anything_is_built() -> None:
    levers = ("cpus=0,2", "cpus=0-2")
    with pytest.raises(UsageError, match="two candidates would be called"):
        find_space(load_dbms("postgresql"), ("lto",), ("gcc",), levers)


def test_a_lever_that_the_machine_lacks_is_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(words: tuple[str, ...], *_: object) -> Unavailable | None:
        missing = Unavailable(reason="it is not installed", hint="apt-get install libjemalloc2")
        return missing if words == ("jemalloc",) else None

    monkeypatch.setattr(space_module, "refusal", refused)
    space = find_space(load_dbms("postgresql"), ("lto",), ("gcc",), ("jemalloc", "tcmalloc"))
    assert space.left_out == {"jemalloc": "it is not installed (apt-get install libjemalloc2)"}
    assert space.levers == ("jemalloc", "tcmalloc")


def test_levers_can_be_chosen_and_none_is_a_choice() -> None:
    postgresql = load_dbms("postgresql")
    assert find_space(postgresql, levers=("none",)).levers == ()
    assert find_space(postgresql, levers=("jemalloc",)).levers == ("jemalloc",)
    with pytest.raises(UsageError, match="jemallok"):
        find_space(postgresql, levers=("jemallok",))
