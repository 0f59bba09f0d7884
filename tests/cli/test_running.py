"""What the commands share that execute a run: what they say of its end, however it ended."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from dbhone.cli import running
from dbhone.cli.context import Context
from dbhone.cli.running import perform, present, resume_hint
from dbhone.errors import HoneError, NoSpaceError, StoreBusyError
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.execution.execute import Execution
from dbhone.home import Home
from dbhone.measurement.record import Run
from dbhone.measurement.store import Store
from dbhone.session import Session, open_session
from tests.cli.finished_run import keep_finished
from tests.experiment.experiment_files import GOOD
from tests.report.sample_run import a_run


class Bench:
    """A finished run, the store that holds it, and a command line whose words are kept."""

    def __init__(self, run: Run, session: Session, store: Store) -> None:
        self.run = run
        self.session = session
        self.store = store
        self.context = Context(
            home_option=session.home.root,
            debug=False,
            out=Console(file=io.StringIO(), width=140),
            err=Console(file=io.StringIO(), width=140),
        )

    def said(self) -> tuple[str, str]:
        """Return what was printed as a result, and as a message."""
        out, err = self.context.out.file, self.context.err.file
        assert isinstance(out, io.StringIO)
        assert isinstance(err, io.StringIO)
        return out.getvalue(), err.getvalue()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    home = Home(tmp_path / "home")
    run = keep_finished(home)
    with open_session(home) as session, Store.open(home.database) as store:
        yield Bench(run, session, store)


@pytest.mark.parametrize(("seconds", "missing", "minutes"), [(480.0, 32.0, 9), (60.0, 600.0, 14)])
def test_what_goes_on_to_a_verdict_has_time_for_the_missing_blocks(
    seconds: float, missing: float, minutes: int
) -> None:
    run = replace(a_run(), id=3, seconds=seconds)
    assert (
        resume_hint(run, missing) == f"'hone resume 3 --budget {minutes}m' continues to a verdict."
    )


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (HoneError("it failed"), "'hone resume 1' continues from what is finished"),
        (
            NoSpaceError("no space left"),
            "free some space: 'hone clean' shows what can be removed;"
            " 'hone resume 1' continues from what is finished",
        ),
        (
            StoreBusyError("the store failed", hint="wait for that program to end"),
            "wait for that program to end; 'hone resume 1' continues from what is finished",
        ),
        (HoneError("the source changed", hint="begin a new run"), "begin a new run"),
    ],
)
def test_what_ends_a_run_says_how_to_continue_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, error: HoneError, hint: str
) -> None:
    def fail(_execution: object) -> None:
        raise error

    monkeypatch.setattr(Execution, "execute", fail)
    experiment = parse(GOOD, name="x.toml")
    with pytest.raises(HoneError) as caught:
        perform(bench.context, experiment, bench.run, session=bench.session, store=bench.store)
    assert caught.value is error
    assert error.hint == hint


def test_what_was_found_is_shown_though_the_disk_has_no_room_for_the_reports(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(running, "write_whole", fill)
    page = present(bench.context, bench.run, bench.store)
    out, err = bench.said()
    assert page.headline in " ".join(out.split())
    assert "the reports were not written (No space left on device): 'hone report 1' shows" in err
    assert "report.html" not in err
