"""Experiment files: what may be written, and what is refused before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.errors import UsageError
from dbhone.experiment.declaration.load import load_file, load_named, parse
from dbhone.experiment.declaration.model import SubjectDeclaration, Training
from dbhone.measurement.record import Role
from dbhone.workload.task import Scale
from dbhone.workload.workload import Workload
from tests.experiment.experiment_files import GOOD


def subject(text: str, name: str) -> SubjectDeclaration:
    return parse(text, name="x.toml").subject(name)


def trained_on(name: str) -> Training:
    return Training(workload=Workload(name="speedtest1", scale=Scale(size="smoke"), sets=(name,)))


def test_a_file_is_read_whole() -> None:
    experiment = parse(GOOD, name="x.toml")
    assert experiment.title == "a small comparison"
    assert [each.name for each in experiment.subjects] == ["rel", "control", "pgo"]
    assert experiment.workload == Workload(name="speedtest1", scale=Scale(size="smoke"))
    design = experiment.design
    assert (design.target, design.budget_seconds, design.seed) == (0.02, 90.0, 7)
    assert (design.min_blocks, design.max_blocks) == (3, 9)
    assert experiment.trained_sets == {"main"}


def test_like_takes_over_what_is_not_said() -> None:
    pgo = subject(GOOD, "pgo")
    assert (pgo.inputs.dbms, pgo.inputs.source, pgo.inputs.compiler) == (
        "sqlite",
        "apt:sqlite3",
        "clang",
    )
    assert pgo.inputs.variant.name == "rel+lto+pgo"
    assert pgo.training == trained_on("main")


def test_whatever_is_declared_as_the_base_is_a_control() -> None:
    assert subject(GOOD, "rel").role is Role.BASE
    assert subject(GOOD, "control").role is Role.CONTROL
    assert subject(GOOD, "control").inputs.copy_number == 1


def test_a_file_without_a_control_gets_one_unless_it_refuses() -> None:
    without = GOOD.replace('control = { like = "rel", rebuild = true }\n', "")
    names = [(each.name, each.role) for each in parse(without, name="x.toml").subjects]
    assert names == [("rel", Role.BASE), ("pgo", Role.CANDIDATE), ("control", Role.CONTROL)]
    taken = without.replace("pgo = {", "control = {")
    assert [each.name for each in parse(taken, name="x.toml").subjects][-1] == "control-2"
    refused = f"{without}control = false\n"
    assert [each.name for each in parse(refused, name="x.toml").subjects] == ["rel", "pgo"]
    assert subject(GOOD, "pgo").role is Role.CANDIDATE


def test_what_hone_links_itself_has_as_many_layouts_as_the_design_says() -> None:
    text = GOOD.replace("seed = 7", "seed = 7\nlayouts = 8").replace(
        "[training]", 'bolt = { like = "pgo", variant = "pgo+bolt" }\n\n[training]'
    )
    subjects = parse(text, name="x.toml").subjects
    assert {each.name: each.inputs.layouts for each in subjects} == {
        **{"rel": 8, "control": 8, "pgo": 8},
        "bolt": 0,  # BOLT decides where its code lies
    }


def test_subjects_of_one_build_have_layouts_of_their_own() -> None:
    text = GOOD.replace("seed = 7", "seed = 7\nlayouts = 8").replace(", rebuild = true", "")
    experiment = parse(text, name="x.toml")
    layouts = {each.name: each.inputs.layouts for each in experiment.subjects}
    assert layouts == {"rel": 16, "control": 16, "pgo": 8}
    own = {
        name: experiment.own_layouts(name, range(1, number + 1)) for name, number in layouts.items()
    }
    assert own == {"rel": range(1, 9), "control": range(9, 17), "pgo": range(1, 9)}


def test_a_subjects_own_training_goes_before_the_general_one() -> None:
    text = GOOD.replace('"lto+pgo"', '"lto+pgo", train = ["cte"]')
    assert subject(text, "pgo").training == trained_on("cte")


CASES = [
    ('title = "a', 'title = "b', None),
    ('"lto+pgo"', '"lto+pgp"', ("x.toml:10: subjects.pgo: there is no transform 'pgp'", "'pgo'")),
    ('"lto+pgo"', '"rel+o3"', ("both set the optimisation level", "choose one")),
    (
        "variant =",
        "varient =",
        ("x.toml:10: subjects.pgo.varient: there is no such key", "did you mean 'variant'?"),
    ),
    ("[training]", "[trainning]", ("x.toml:12: trainning: there is no such key", "'training'")),
    ('base = "rel"', 'base = "real"', ("x.toml:2: base: there is no subject 'real'", "'rel'")),
    ('base = "rel"\n', "", ("'base' is missing", None)),
    ("seed = 7", 'seed = "7"', ("x.toml:22: design.seed: write a whole number", None)),
    ("seed = 7", "seed = -7", ("design.seed: it must be 0 or more", None)),
    ('"2%"', '"200%"', ("x.toml:20: design.target: '200%' does not lie between", None)),
    ('"2%"', "2", ("design.target: write it as a percentage such as 2%, in quotes", None)),
    ('"1m30s"', '"soon"', ("x.toml:21: design.budget: 'soon' is not a duration", None)),
    ("min = 3", "min = 30", ("x.toml:23: design.blocks: max (9) is less than min (30)", None)),
    ("min = 3", "min = 0", ("design.blocks.min: it must be 1 or more", None)),
    (
        "{ min = 3, max = 9 }",
        "6",
        ("x.toml:23: design.blocks: write a table, such as { min = …, max = … }", None),
    ),
    ('"a small comparison"', '""', ("x.toml:1: title: it is empty", None)),
    (
        'control = { like = "rel", rebuild = true }\n'
        'pgo = { like = "rel", variant = "lto+pgo", compiler = "clang", optional = true }\n',
        "",
        ("x.toml:7: subjects: give 2 or more, not 1", None),
    ),
    ("{ min = 3, max = 9 }", "{ min = 1.5 }", ("blocks.min: write a whole number", None)),
    ('"speedtest1"', '"speedtest2"', ("suite: there is no suite 'speedtest2'", "'speedtest1'")),
    ('size = "smoke"', 'size = "smok"', ("there is no size 'smok'", "'smoke'")),
    ('["main"]', '["mane"]', ("there is no set 'mane'", "'main'")),
    ('["main"]', "[]", ("training.sets", None)),
    ('["main"]', '"main"', ('training.sets: give a list, such as ["main"]', None)),
    ('[training]\nsets = ["main"]', "", None),  # the suite says what to train on
    ('"apt:sqlite3"', '"atp:sqlite3"', ("x.toml:5: sources.sqlite: ", "'apt'")),
    ('dbms = "sqlite"', 'dbms = "sqlight"', ("there is no DBMS 'sqlight'", "'sqlite'")),
    ('source = "sqlite" }', 'source = "sqlit" }', ("there is no source 'sqlit'", "'sqlite'")),
    ('"clang"', '"icc"', ("'icc' is not a compiler that hone knows", "gcc-12")),
    ('like = "rel", rebuild', 'like = "reel", rebuild', ("there is no subject 'reel'", "'rel'")),
    ('control = { like = "rel"', 'control = { like = "control"', ("'like' forms a cycle", None)),
    (
        "rebuild = true",
        'rebuild = "yes"',
        ("subjects.control.rebuild: write true or false", None),
    ),
    ("rebuild = true", 'train = ["main"]', ("the variant rel takes no training", "add pgo")),
    ("rebuild = true", 'train_size = "quick"', ("takes no training", "leave 'train_size' out")),
    (
        'source = "sqlite" }',
        'source = "sqlite", optional = true }',
        ("base cannot be optional", None),
    ),
    ("control =", '"a b" =', ("'a b' cannot be a subject's name", None)),
    (
        "title",
        "= title",
        ("x.toml is not valid TOML: Invalid statement (at line 1, column 1)", None),
    ),
]


@pytest.mark.parametrize(("before", "after", "said"), CASES)
def test_what_cannot_be_meant_is_refused_with_its_place(
    before: str, after: str, said: tuple[str, str | None] | None
) -> None:
    text = GOOD.replace(before, after, 1)
    assert text != GOOD
    if said is None:
        parse(text, name="x.toml")
        return
    message, hint = said
    with pytest.raises(UsageError) as caught:
        parse(text, name="x.toml")
    assert message in caught.value.message
    assert caught.value.exit_code == 2
    if hint is not None:
        assert hint in (caught.value.hint or "")


def test_a_missing_file_names_what_ships(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read") as caught:
        load_file(tmp_path / "none.toml")
    assert "try" in (caught.value.hint or "")


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not a text file"):
        load_file(tmp_path / "x.toml")


def test_a_shipped_name_works_like_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_named("try").name == "try"
    (tmp_path / "try").write_text(GOOD)
    assert load_named("try").title == "a small comparison"


def test_a_relative_folder_is_looked_for_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(GOOD.replace("apt:sqlite3", "dir:my/tree"))
    experiment = load_file(tmp_path / "x.toml")
    assert experiment.base.inputs.source == f"dir:{tmp_path}/my/tree"
    assert experiment.name == str(tmp_path / "x.toml")
    again = parse(experiment.text, name=experiment.name)
    assert again.base.inputs.source == experiment.base.inputs.source
