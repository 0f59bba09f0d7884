"""Which subjects take part: those that there is time for, and those that blocks have already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from dbhone.compilation.inputs import BuildInputs
from dbhone.experiment.builds import BuildResult, BuildService
from dbhone.experiment.load import parse
from dbhone.experiment.model import Training
from dbhone.experiment.prepare import Preparation
from dbhone.experiment.recorder import RunRecorder
from dbhone.home import Session
from dbhone.measurement.machine import read_machine
from dbhone.measurement.store import NewRun, Store
from dbhone.source.tree import SourceTree
from tests.compilation.tiny import make_tree
from tests.experiment.pretended import pretended_build
from tests.experiment.test_load import GOOD

SHORT = GOOD.replace("1m30s", "1s")
"""No build leaves enough of a second."""


class Builder(BuildService):
    """A workshop whose builds are there as soon as they are asked for."""

    def __init__(self, session: Session, tree: SourceTree, folder: Path) -> None:
        super().__init__(session, lambda _: None)
        self._only, self._folder, self._made = tree, folder, 0

    def tree(self, reference: str) -> SourceTree:
        return self._only

    def produce(self, inputs: BuildInputs, training: Training | None) -> BuildResult:
        self._made += 1
        build = pretended_build(self._folder / str(self._made))
        return BuildResult(tree=self._only, build=build, reused=False)


@pytest.fixture(autouse=True)
def builds_are_expected_to_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every compiler be there, and let it not be learnt that builds are there in no time."""
    monkeypatch.setattr("dbhone.experiment.speed_factor.Pace.learn", lambda *_: None)
    monkeypatch.setattr(Preparation, "_not_built", lambda *_: None)


def prepared(session: Session, folder: Path, measured: Sequence[str]) -> set[str]:
    """Return the subjects that take part in a run of which these have been measured."""
    experiment = parse(SHORT, name="x.toml")
    tree = make_tree(folder / "source")
    with Store.open(session.home.database) as store:
        run = store.create_run(
            NewRun(
                title="t",
                experiment=SHORT,
                experiment_name="x",
                session=session.id,
                suite="speedtest1",
                size="smoke",
                design=experiment.design,
                machine=read_machine(),
                hone_version="0",
            )
        )
        done = [SimpleNamespace(subject=name) for name in measured]
        store.done = lambda _: done  # type: ignore[method-assign,assignment,return-value]
        journal = RunRecorder(run, store, lambda _: None, experiment.design.budget_seconds)
        workshop = Builder(session, tree, folder / "builds")
        preparation = Preparation(experiment, run, workshop, journal)
        return set(preparation.products())


def test_an_optional_subject_is_left_out_where_it_would_leave_too_little_time(
    session: Session, tmp_path: Path
) -> None:
    assert prepared(session, tmp_path, measured=()) == {"rel", "control"}


def test_what_blocks_have_already_is_never_left_out(session: Session, tmp_path: Path) -> None:
    every = ("rel", "control", "pgo")
    assert prepared(session, tmp_path, measured=every) == set(every)
