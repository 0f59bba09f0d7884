"""How thoroughly an experiment has its builds verified: what its file says, and what is planned."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import Build
from dbhone.compilation.variant import parse_variant
from dbhone.errors import ExperimentError, SourceError
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.model import SubjectDeclaration
from dbhone.experiment.execution.builds import BuildService
from dbhone.experiment.execution.expected_answers import ExpectedAnswers
from dbhone.experiment.execution.verifying import (
    answers_compared,
    build_like,
    usual_base,
    verify_build,
)
from dbhone.experiment.plan.plan import Verify
from dbhone.home import Home
from dbhone.session import Session
from dbhone.source.tree import publish_tree, recall
from dbhone.verification.outcome import Grade
from dbhone.verification.verify import Verification, expected_seconds, lists_of
from dbhone.workload.workload import Workload
from tests.compilation.plain_build import plain_build
from tests.dbms.mysql_trees import Tree as MysqlTree
from tests.experiment.experiment_files import GOOD, SMOKE
from tests.experiment.planned import planned
from tests.files import put
from tests.package.builds import server_build


def verifications(text: str) -> list[Verify]:
    return [step for step in planned(text).steps if isinstance(step, Verify)]


def test_only_answers_are_compared_unless_a_grade_is_named() -> None:
    assert parse(GOOD, name="x.toml").verification is None
    assert [step.grade for step in verifications(GOOD)] == [None] * 3
    assert "grade" not in verifications(GOOD)[0].label


def test_a_grade_is_part_of_the_plan_and_of_its_cost() -> None:
    assert parse(SMOKE, name="x.toml").verification is Grade.SMOKE
    steps = verifications(SMOKE)
    assert [step.grade for step in steps] == [Grade.SMOKE] * 3
    assert steps[0].label.endswith(", verified at the grade smoke")
    more = steps[0].cost.seconds - verifications(GOOD)[0].cost.seconds
    assert more == expected_seconds("sqlite", Grade.SMOKE, builds=1) > 0


def test_tests_that_are_the_same_for_all_builds_are_made_once() -> None:
    for dbms, made in (("sqlite", 2), ("postgresql", 1)):
        one, two = (expected_seconds(dbms, Grade.SMOKE, builds) for builds in (1, 2))
        run = sum(tests.seconds for _, tests in lists_of(dbms, Grade.SMOKE))
        assert one > run
        assert two - 2 * run == pytest.approx(made * (one - run))


def test_an_unknown_grade_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ExperimentError, match=r"verification.grade: write one of answers, smoke"):
        parse(SMOKE.replace("smoke", "thorough"), name="x.toml")


def test_a_grade_for_which_there_are_no_tests_is_refused_before_any_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dbhone.verification.verify.checks_for", lambda _dbms: ())
    mysql = """\
title = "t"
base = "rel"
[sources]
mysql = "dir:mysql-8.0.39"
[subjects]
rel = { dbms = "mysql", source = "mysql" }
o3 = { like = "rel", variant = "o3" }
[workload]
suite = "sysbench:micro"
[verification]
grade = "full"
"""
    with pytest.raises(ExperimentError, match="no regression tests of MySQL"):
        parse(mysql, name="x.toml")


def test_builds_of_several_systems_cannot_be_verified_against_one_base() -> None:
    systems = """\
title = "t"
base = "mysql"
[sources]
mysql = "dir:mysql-8.0.39"
mariadb = "dir:mariadb-11.4"
[subjects]
mysql = { dbms = "mysql", source = "mysql" }
mariadb = { dbms = "mariadb", source = "mariadb" }
[workload]
suite = "sysbench:micro"
"""
    assert parse(systems, name="x.toml").verification is None
    with pytest.raises(ExperimentError, match=r"verification.grade: .* builds of one DBMS"):
        parse(f'{systems}[verification]\ngrade = "smoke"\n', name="x.toml")


def test_answers_to_a_users_workload_are_kept_without_the_folder_that_it_is_in() -> None:
    expected = ExpectedAnswers({"all": "1", "more": "2"}, ask_again=dict)
    found = answers_compared("/home/ann/shop.workload", expected, {"more": "its answer differs"})
    assert (found.list, found.tests) == ("shop.workload", 2)
    (failure,) = found.failures
    assert (failure.list, failure.test) == ("shop.workload", "more")
    assert "ann" not in found.model_dump_json()


def test_a_workload_that_cannot_be_asked_for_want_of_a_source_tree_is_not_left_out(
    tmp_path: Path,
) -> None:
    build = server_build(tmp_path, "f" * 64)
    verification = Verification(candidate=build, base=build, grade=Grade.ANSWERS)
    service = cast("Any", SimpleNamespace(session=SimpleNamespace(home=Home(tmp_path / "home"))))
    with pytest.raises(SourceError, match="is no longer kept") as error:
        verify_build(verification, service, (Workload.usual("mysql"),))
    assert "hone build" in (error.value.hint or "")


@pytest.mark.parametrize("fixed", [False, True], ids=["edited", "with a fix"])
def test_a_build_of_a_changed_tree_has_a_base_of_the_same_tree(
    fixed: bool, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = MysqlTree(version="5.6.35", folders=("storage/rocksdb",)).write(tmp_path / "myrocks")
    put(source / "storage/rocksdb/get_rocksdb_files.sh", "bv=rocksdb/util/build_version.cc\n")
    patch = put(tmp_path / "mine.patch", "--- /dev/null\n+++ b/mine.c\n@@ -0,0 +1 @@\n+int mine;\n")
    (draft := tmp_path / "draft").mkdir()
    source.rename(draft / "tree")
    reference = f"git:/nowhere@{'a' * 40}"
    fetched = publish_tree(draft, session.home, reference=reference, resolved=reference)
    inputs = BuildInputs(
        dbms="myrocks",
        source=reference,
        variant=parse_variant("pgo"),
        fixes=(str(patch),) if fixed else (),
    )
    first = BuildService(session, lambda _: None)
    first.use_tree(reference, fetched)
    taken = first.tree_to_take(inputs)
    build = plain_build(
        tmp_path / "build",
        inputs,
        version="5.6.35",
        source=taken.label,
        source_digest=taken.digest,
    )
    asked = _asked_for(build, monkeypatch)
    later = BuildService(session, lambda _: None)
    build_like(build, {}, later)
    (subject,) = asked
    assert later.tree_to_take(subject.inputs).digest == taken.digest
    assert recall(subject.inputs.source, session.home) is None


def test_the_usual_base_of_a_build_takes_no_profile_so_none_is_fetched_for_it(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (draft := tmp_path / "draft").mkdir()
    put(draft / "tree/VERSION", "3.45.0\n")
    reference = f"git:/nowhere@{'a' * 40}"
    tree = publish_tree(draft, session.home, reference=reference, resolved=reference)
    inputs = BuildInputs(
        dbms="sqlite",
        source=reference,
        variant=parse_variant("pgo"),
        profile_source=f"git:/nowhere@{'b' * 40}",
    )
    build = plain_build(tmp_path / "build", inputs, source_digest=tree.digest)
    asked = _asked_for(build, monkeypatch)
    usual_base(build, BuildService(session, lambda _: None))
    (subject,) = asked
    assert subject.inputs.trained.source == reference


def _asked_for(build: Build, monkeypatch: pytest.MonkeyPatch) -> list[SubjectDeclaration]:
    """Return where the subjects come to be whose builds are asked for; ``build`` is given."""
    asked: list[SubjectDeclaration] = []

    def make(_: BuildService, subject: SubjectDeclaration) -> dict[str, SimpleNamespace]:
        asked.append(subject)
        return {subject.name: SimpleNamespace(build=build)}

    monkeypatch.setattr(BuildService, "make_builds", make)
    return asked
