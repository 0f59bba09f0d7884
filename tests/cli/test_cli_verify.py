"""``hone verify RUN``: against which base it verifies; nothing is tested really."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import Result

from dbhone.cli.commands import verify
from dbhone.compilation.manifest import Build
from dbhone.experiment.execution.builds import BuildService
from dbhone.experiment.plan.events import Detail
from dbhone.home import Home
from dbhone.requirements import Missing
from dbhone.untrusted_files import remove_tree
from dbhone.verification.outcome import Outcome
from dbhone.verification.verify import Verification
from dbhone.workload.workload import Workload
from tests.cli.finished_run import invoke, keep_finished
from tests.experiment.pretended import pretended_build


class Bench:
    """A home with a finished run whose winner is verified; remembers against which builds."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder / "home")
        run = keep_finished(self.home)
        assert run.base is not None
        self.base = run.base.build_digest
        self.usual = pretended_build(folder / "usual")
        self.bases: list[str] = []

    def verify_build(
        self, verification: Verification, service: BuildService, _: Sequence[Workload]
    ) -> Outcome:
        service.listen(Detail(text="all tests at once"))
        self.bases.append(verification.base.digest)
        return Outcome(
            grade=verification.grade,
            build=verification.candidate.digest,
            base=verification.base.digest,
            lists=(),
            finished_at=datetime.now(UTC),
        )

    def usual_base(self, _: Build, service: BuildService) -> Build:
        del service
        return self.usual

    def verify(self, *options: str) -> Result:
        return invoke(self.home, *options, "verify", "last")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench(tmp_path)
    monkeypatch.setattr(verify, "verify_build", bench.verify_build)
    monkeypatch.setattr(verify, "usual_base", bench.usual_base)
    monkeypatch.setattr(verify, "missing", lambda _: Missing(requirements=()))
    return bench


def test_the_base_is_the_runs(bench: Bench) -> None:
    bench.verify()
    assert bench.bases == [bench.base]


def test_the_base_is_the_usual_one_if_the_runs_is_no_longer_kept(bench: Bench) -> None:
    remove_tree(bench.home.builds / bench.base)
    bench.verify()
    assert bench.bases == [bench.usual.digest]


def test_what_is_being_done_is_printed_if_that_is_wanted(bench: Bench) -> None:
    assert "all tests at once" in bench.verify("--verbose").stderr
    assert "all tests at once" not in bench.verify().stderr
