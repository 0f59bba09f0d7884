"""Experiments that `hone compare` writes: what its two words mean, and which are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.errors import HoneError, UsageError
from dbhone.experiment.declaration.comparing import (
    Side,
    check_together,
    compare_text,
    compiled_by,
    parse_side,
    with_dbms,
)
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.declaration.templates import DesignOptions, WorkloadOptions
from dbhone.measurement.record import Role
from dbhone.source.known_versions import known_versions

KNOWN = known_versions()
SHA = "a" * 64


def _side(text: str, dbms: str = "postgresql") -> Side:
    return with_dbms(parse_side(text, KNOWN), lambda side: dbms)


WORKLOAD = WorkloadOptions(suite=None, size="quick")
DESIGN = DesignOptions(budget=None, target=0.02, seed=1)


def _experiment(
    first: str,
    second: str,
    dbms: str = "postgresql",
    workload: WorkloadOptions = WORKLOAD,
    design: DesignOptions = DESIGN,
) -> Experiment:
    base, candidate = _side(first, dbms), _side(second, dbms)
    train = ("point-query",) if candidate.variant.profile_guided else ()
    return parse(compare_text(base, candidate, train, workload, design), name="compare")


class TestWords:
    @pytest.mark.parametrize(
        ("text", "source", "variant"),
        [
            ("apt:postgresql", "apt:postgresql", "rel"),
            ("apt:postgresql#pgo+lto", "apt:postgresql", "rel+lto+pgo"),
            ("apt:postgresql#rel_lto", "apt:postgresql", "o3+lto"),
            (f"https://h/a.tgz#sha256={SHA}", f"https://h/a.tgz#sha256={SHA}", "rel"),
            (f"https://h/a.tgz#sha256={SHA}#o3", f"https://h/a.tgz#sha256={SHA}", "o3"),
            ("npm:mysql-server@8.0.1", "npm:mysql-server@8.0.1", "ready-made"),
        ],
    )
    def test_a_source_and_a_variant(self, text: str, source: str, variant: str) -> None:
        side = parse_side(text, KNOWN)
        assert (side.source, side.variant.name) == (source, variant)

    def test_a_known_version_is_its_source_and_tells_its_dbms(self) -> None:
        side = parse_side("known:mysql@8.0.12", KNOWN)
        version = KNOWN.find("mysql", "8.0.12")
        assert (side.source, side.dbms, side.short) == (version.source, "mysql", "mysql-8.0.12")

    def test_a_relative_folder_is_one_of_where_hone_was_started(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert parse_side("dir:tree", KNOWN).source == f"dir:{tmp_path / 'tree'}"

    def test_the_dbms_is_only_asked_for_where_the_word_does_not_tell_it(self) -> None:
        def never(side: Side) -> str:
            raise AssertionError(side)

        assert with_dbms(parse_side("known:mysql@8.0", KNOWN), never).dbms == "mysql"

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("./postgresql", "is not a source reference"),
            ("apt:postgresql#", "names no variant"),
            ("apt:postgresql#ltoo", "there is no transform 'ltoo'"),
            ("known:mysql@8.0#lto", "cannot be built as lto"),
            ("known:mysql", "names no version"),
            ("known:mysql@7", "there is no known version of mysql '7'"),
        ],
    )
    def test_words_that_cannot_be_meant(self, text: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            parse_side(text, KNOWN)


class TestTogether:
    @pytest.mark.parametrize(
        ("first", "second"),
        [("apt:pg", "apt:pg#rel"), ("apt:pg#lto+o3", "apt:pg#rel_lto"), ("apt:pg", "apt:pg")],
    )
    def test_the_same_twice_is_refused(self, first: str, second: str) -> None:
        with pytest.raises(UsageError, match="nothing to compare"):
            check_together(_side(first), _side(second), ())

    def test_only_profile_guided_variants_are_trained(self) -> None:
        plain, guided = _side("apt:pg"), _side("apt:pg#pgo")
        check_together(plain, guided, ())
        with pytest.raises(UsageError, match="neither rel nor o3 takes training"):
            check_together(plain, _side("apt:pg#o3"), ("point-query",))
        check_together(plain, guided, ("point-query",))


class TestCompilers:
    def test_one_compiler_builds_both_and_two_build_one_each(self) -> None:
        first, second = _side("apt:pg"), _side("apt:pg#o3")

        def compilers(*named: str) -> list[str | None]:
            return [side.compiler for side in compiled_by(first, second, named)]

        assert compilers() == [None, None]
        assert compilers("clang") == ["clang", "clang"]
        assert compilers("gcc", "clang") == ["gcc", "clang"]

    def test_what_is_ready_made_has_none(self) -> None:
        ready, built = _side("npm:mysql-server@8.0.1"), _side("apt:pg")
        sides = compiled_by(ready, built, ("clang",))
        assert [side.compiler for side in sides] == [None, "clang"]

    @pytest.mark.parametrize(
        ("words", "compilers", "message"),
        [
            (("apt:pg", "apt:pg#o3"), ("gcc", "clang", "icx"), "3 compilers are named for two"),
            (("known:mysql@5.7", "known:mysql@8.0"), ("gcc",), "is ready-made, and no compiler"),
            (("known:mysql@5.7", "apt:pg"), ("gcc", "clang"), "mysql-5.7.* is ready-made"),
        ],
    )
    def test_compilers_that_cannot_be_meant(
        self, words: tuple[str, str], compilers: tuple[str, ...], message: str
    ) -> None:
        with pytest.raises(UsageError, match=message):
            compiled_by(_side(words[0]), _side(words[1]), compilers)

    def test_one_source_by_two_compilers_is_called_by_them(self) -> None:
        sides = compiled_by(_side("apt:pg"), _side("apt:pg"), ("gcc", "/opt/llvm/bin/clang-19"))
        check_together(*sides, ())
        experiment = parse(compare_text(*sides, (), WORKLOAD, DESIGN), name="compare")
        compilers = {each.name: each.inputs.compiler for each in experiment.subjects}
        assert compilers == {
            "gcc": "gcc",
            "control": "gcc",
            "clang-19": "/opt/llvm/bin/clang-19",
        }

    def test_variants_by_two_compilers_are_called_by_both(self) -> None:
        sides = compiled_by(_side("apt:pg"), _side("apt:pg#o3"), ("gcc", "clang"))
        experiment = parse(compare_text(*sides, (), WORKLOAD, DESIGN), name="compare")
        assert {each.name for each in experiment.subjects} == {"gcc-rel", "control", "clang-o3"}

    def test_one_source_by_one_compiler_is_refused(self) -> None:
        sides = compiled_by(_side("apt:pg"), _side("apt:pg"), ("clang",))
        with pytest.raises(UsageError, match="nothing to compare"):
            check_together(*sides, ())


class TestWhatIsWritten:
    def test_the_first_is_the_base_and_the_control(self) -> None:
        experiment = _experiment("known:mysql@5.7.22", "known:mysql@8.0.12")
        assert {each.name: each.role for each in experiment.subjects} == {
            "mysql-5.7.22": Role.BASE,
            "control": Role.CONTROL,
            "mysql-8.0.12": Role.CANDIDATE,
        }
        assert experiment.workload.name == "sysbench:micro"
        assert experiment.design.budget_seconds == 45 * 60

    def test_a_dbms_stands_for_its_source_and_another_word_for_a_package(self) -> None:
        assert parse_side("sqlite#o3", KNOWN).source == "apt:sqlite3"
        assert parse_side("postgresql-15", KNOWN).source == "apt:postgresql-15"

    def test_builds_of_one_source_are_called_by_their_variants(self) -> None:
        experiment = _experiment("apt:postgresql", "apt:postgresql#lto+pgo")
        subjects = {each.name: each for each in experiment.subjects}
        assert set(subjects) == {"rel", "control", "lto+pgo"}
        assert experiment.title == "postgresql: lto+pgo beside rel"
        assert subjects["lto+pgo"].training is not None
        assert experiment.trained_sets == {"point-query_range=100"}

    def test_other_sources_in_other_variants_are_called_by_both(self) -> None:
        experiment = _experiment("apt:postgresql-15", "git:/src/pg@main#o3")
        assert {each.name for each in experiment.subjects} == {
            *("postgresql-15-rel", "control", "pg-main-o3"),
        }

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("dir:/a/tree", "dir:/b/tree"),
            ("dir:/control", "dir:/x"),
            ("dir:/a/" + "x" * 80, "dir:/b/" + "x" * 80),
            ("dir:/a/源", "dir:/b/树"),
        ],
    )
    def test_every_name_is_a_subjects_name_of_its_own(self, first: str, second: str) -> None:
        experiment = _experiment(first, second)
        roles = [each.role for each in experiment.subjects]
        assert roles == [Role.BASE, Role.CONTROL, Role.CANDIDATE]
        assert [each.inputs.source for each in experiment.subjects] == [first, first, second]

    def test_an_embedded_dbms_has_its_own_usual_suite(self) -> None:
        assert _experiment("apt:sqlite3", "apt:sqlite3#o3", "sqlite").workload.name == "speedtest1"

    def test_it_says_what_was_asked_for(self) -> None:
        workload = WorkloadOptions(
            suite=None, size="smoke", sets=("scan", "insert"), threads=(1, 4)
        )
        design_options = DesignOptions(budget=90.0, target=0.005, seed=7)
        experiment = _experiment("apt:pg", "apt:pg#o3", workload=workload, design=design_options)
        assert experiment.workload.sets == ("scan_range=100", "insert_range=100")
        assert (experiment.size, experiment.workload.scale.threads) == ("smoke", (1, 4))
        design = experiment.design
        assert (design.budget_seconds, design.target, design.seed) == (90.0, 0.005, 7)

    def test_a_dbms_that_is_none_is_refused(self) -> None:
        with pytest.raises(HoneError, match="there is no DBMS 'mysq'"):
            _experiment("apt:pg", "apt:pg#o3", "mysq")
