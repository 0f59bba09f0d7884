"""What a plan expects of builds that are there, and of those that are not."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from dbhone import process
from dbhone.compilation import builder
from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.spec import BuildSpec
from dbhone.compilation.toolchain import find_compiler
from dbhone.compilation.transforms.base import Pass
from dbhone.compilation.variant import parse_variant
from dbhone.dbms.base import Edit
from dbhone.errors import UsageError
from dbhone.experiment.declaration.model import SubjectDeclaration, Training
from dbhone.experiment.plan import estimates
from dbhone.experiment.plan.estimates import BuildEstimator
from dbhone.experiment.plan.plan import Fetch
from dbhone.experiment.plan.planning import plan_builds
from dbhone.experiment.target.target import training_inputs
from dbhone.measurement.record import Role
from dbhone.session import Session
from dbhone.source.derive import for_build
from dbhone.source.tree import SourceTree
from dbhone.workload.task import Scale
from dbhone.workload.workload import Workload
from tests.compilation.plain_build import plain_build
from tests.compilation.tiny import Tiny, make_spec, make_tree
from tests.compilation.trainings import train

INPUTS = BuildInputs(dbms="tiny", source="git:tiny@1", variant=parse_variant("pgo"))
TRAINING = Training(workload=Workload(name="speedtest1", scale=Scale(size="smoke"), sets=("main",)))


def subject(inputs: BuildInputs = INPUTS, training: Training = TRAINING) -> SubjectDeclaration:
    return SubjectDeclaration(name="guided", role=Role.CANDIDATE, inputs=inputs, training=training)


def kept(estimator: BuildEstimator, declared: SubjectDeclaration) -> int:
    """Return how many of the steps that make its build are done."""
    steps = plan_builds((declared,), estimator).steps
    return sum(step.cost.done for step in steps if not isinstance(step, Fetch))


def replaced(inputs: BuildInputs, **changes: object) -> BuildInputs:
    return inputs.model_copy(update=changes)


def hold(monkeypatch: pytest.MonkeyPatch, tree: SourceTree) -> None:
    """Let the home be taken to hold a source, which has not changed since it was fetched."""
    for name in ("last_tree", "unchanged_tree"):
        monkeypatch.setattr(estimates, name, lambda reference, home: tree)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SourceTree:
    """Return a source that the home is taken to hold."""
    made = make_tree(tmp_path / "source")
    hold(monkeypatch, made)
    return made


@pytest.fixture
def instrumented(tree: SourceTree, session: Session) -> None:
    """Make the instrumented build in the session's home."""
    builder.make(make_spec(tree, "pgo", pass_=Pass.INSTRUMENT), session, lambda _: None)


@pytest.fixture
def estimator(session: Session) -> BuildEstimator:
    return BuildEstimator(session.home)


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the DBMS of the subjects be the tiny one."""
    monkeypatch.setattr(estimates, "load_dbms", lambda _: Tiny())


@pytest.mark.usefixtures("instrumented")
def test_a_build_by_a_recipe_that_has_changed_is_not_kept(
    estimator: BuildEstimator, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kept(estimator, subject()) == 1
    monkeypatch.setattr(BuildSpec, "digest", lambda _: "another")
    assert kept(estimator, subject()) == 0
    assert not estimator.cost(INPUTS, Pass.INSTRUMENT).guessed


@pytest.mark.usefixtures("instrumented")
def test_an_instrumented_build_that_two_variants_share_is_kept_for_the_other(
    estimator: BuildEstimator,
) -> None:
    other = replaced(INPUTS, variant=parse_variant("lto+pgo"))
    assert kept(estimator, subject(other)) == 1


def test_a_profile_is_kept_for_the_training_that_made_it(
    tree: SourceTree, session: Session, estimator: BuildEstimator
) -> None:
    profile = train(tree, session, "gcc", workload=training_inputs(TRAINING))
    assert kept(estimator, subject()) == 2
    builder.make(make_spec(tree, "pgo", pass_=Pass.USE, profile=profile), session, lambda _: None)
    assert kept(estimator, subject()) == 3
    workload = dataclasses.replace(TRAINING.workload, sets=("main", "cte"))
    longer = dataclasses.replace(TRAINING, workload=workload)
    assert kept(estimator, subject(training=longer)) == 1
    elsewhere = dataclasses.replace(TRAINING, foreign=True)
    assert kept(estimator, subject(training=elsewhere)) == 3


@pytest.mark.usefixtures("instrumented")
def test_what_is_kept_before_a_step_that_cannot_be_looked_up_counts(
    estimator: BuildEstimator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(_: Training) -> object:
        raise UsageError("there is no such script")

    monkeypatch.setattr(estimates, "training_inputs", unreadable)
    assert kept(estimator, subject()) == 1


def test_a_profile_that_is_gone_is_made_again_and_so_is_what_took_it(
    tree: SourceTree, session: Session, estimator: BuildEstimator
) -> None:
    profile = train(tree, session, "gcc", workload=training_inputs(TRAINING))
    builder.make(make_spec(tree, "pgo", pass_=Pass.USE, profile=profile), session, lambda _: None)
    (profile.folder / "profile.json").unlink()
    assert kept(estimator, subject()) == 1


def test_a_build_of_a_tree_that_is_changed_first_is_kept_too(
    tree: SourceTree, session: Session, estimator: BuildEstimator, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit = Edit(
        name="faster", why="slow", file=Path("work.c"), template=None, replace={"s += i": "s -= i"}
    )

    class Edited(Tiny):
        def edits(self, version: str) -> tuple[Edit, ...]:
            return (edit,)

    monkeypatch.setattr(estimates, "load_dbms", lambda _: Edited())
    assert kept(estimator, subject()) == 0
    changed = for_build(tree, Edited(), "1").make(session, lambda _: None)
    spec = make_spec(changed, "pgo", pass_=Pass.INSTRUMENT, dbms=Edited())
    builder.make(spec, session, lambda _: None)
    assert kept(estimator, subject()) == 1


@pytest.mark.usefixtures("instrumented")
def test_an_instrumented_build_of_another_place_is_expected_to_be_made_again(
    estimator: BuildEstimator, monkeypatch: pytest.MonkeyPatch
) -> None:
    enclosed = process.can_enclose()
    monkeypatch.setattr(process, "can_enclose", lambda: not enclosed)
    cost = estimator.cost(INPUTS, Pass.INSTRUMENT)
    assert kept(estimator, subject()) == 0
    assert not cost.guessed
    assert cost.seconds > 0


def test_a_version_is_known_once_its_source_is_kept(
    tree: SourceTree, estimator: BuildEstimator, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert estimator.version(INPUTS) == ""
    monkeypatch.setattr(estimates, "recall", lambda reference, home: tree)
    assert estimator.version(INPUTS) == (tree.path / "VERSION").read_text().strip() != ""
    ready = replaced(INPUTS, variant=parse_variant("ready-made"))
    assert estimator.version(ready) == ""


@pytest.mark.usefixtures("instrumented")
def test_builds_by_other_means_tell_how_fast_this_machine_is(
    estimator: BuildEstimator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimates, "load_dbms", lambda _: Tiny(build_seconds=1e6))
    plain = replaced(INPUTS, variant=parse_variant("rel"))
    cost = estimator.cost(plain, Pass.PLAIN)
    again = estimator.cost(replaced(plain, variant=parse_variant("lto")), Pass.PLAIN)
    assert cost.guessed
    assert 0 < cost.seconds < again.seconds < 1000


@pytest.mark.usefixtures("tree")
def test_what_was_never_built_here_is_guessed(
    estimator: BuildEstimator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimates, "load_dbms", lambda _: Tiny(build_seconds=30.0))
    monkeypatch.setattr(builder, "usual_jobs", lambda _: 64)
    cost = estimator.cost(INPUTS, Pass.INSTRUMENT)
    assert cost.guessed
    assert cost.seconds > 0
    monkeypatch.setattr(builder, "usual_jobs", lambda _: 4)
    assert estimator.cost(INPUTS, Pass.INSTRUMENT).seconds == pytest.approx(16 * cost.seconds)


@pytest.mark.usefixtures("instrumented")
def test_builds_of_another_version_tell_how_long_one_of_this_takes(
    estimator: BuildEstimator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Growing(Tiny):
        def seconds_of(self, version: str) -> float:
            return 50.0 if version == "2.0" else 5.0

    monkeypatch.setattr(estimates, "load_dbms", lambda _: Growing())
    newer = make_tree(tmp_path / "newer")
    (newer.path / "VERSION").write_text("2.0\n")
    plain = replaced(INPUTS, variant=parse_variant("rel"))
    again = replaced(INPUTS, copy_number=1)
    old = estimator.cost(plain, Pass.PLAIN), estimator.cost(again, Pass.INSTRUMENT)
    hold(monkeypatch, newer)
    new = estimator.cost(plain, Pass.PLAIN), estimator.cost(again, Pass.INSTRUMENT)
    assert [each.guessed for each in new] == [True, False]
    assert [each.seconds for each in new] == pytest.approx([10 * each.seconds for each in old])


def test_linking_layouts_is_expected_as_builds_like_it_took_for_one(
    tmp_path: Path, estimator: BuildEstimator, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = replaced(INPUTS, variant=parse_variant("rel"))
    made = plain_build(
        tmp_path / "made",
        replaced(plain, layouts=4),
        compiler_identity=find_compiler("gcc").identity,
        seconds=20.0,
        phase_seconds={"compile": 20.0, "layouts": 2.0},
    )
    monkeypatch.setattr(estimates, "all_builds", lambda home: (made,))
    costs = [estimator.cost(replaced(plain, layouts=number), Pass.PLAIN) for number in (0, 4, 12)]
    assert [cost.seconds for cost in costs] == pytest.approx([20.0, 22.0, 26.0])


def test_linking_layouts_is_guessed_to_take_longer_with_link_time_optimisation(
    estimator: BuildEstimator,
) -> None:

    def share(variant: str, layouts: int) -> float:
        inputs = replaced(INPUTS, variant=parse_variant(variant))
        alone, linked = (
            estimator.cost(replaced(inputs, layouts=number), Pass.PLAIN).seconds
            for number in (0, layouts)
        )
        return linked / alone - 1

    assert 0 < share("rel", 8) < share("rel", 16) < share("lto", 8)
    assert share("lto", 16) - share("lto", 8) == pytest.approx(share("rel", 8))
