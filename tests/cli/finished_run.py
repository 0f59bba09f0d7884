"""A home with a finished run, its sources and the builds of all its subjects; and hone in it."""

from __future__ import annotations

from click.testing import CliRunner, Result

from dbhone.cli.main import hone
from dbhone.compilation.manifest import write_manifest
from dbhone.home import Home
from dbhone.measurement.record import Run
from dbhone.measurement.store import Store
from dbhone.session import open_session
from tests.experiment.pretended import pretended_build
from tests.report.sample_run import Shape, a_run, samples
from tests.serve.stored import keep


def invoke(home: Home, *words: str, catch_exceptions: bool = False) -> Result:
    """Run a command of hone in a home, within this process."""
    arguments = ("--home", str(home.root), *words)
    return CliRunner().invoke(hone, arguments, catch_exceptions=catch_exceptions)


def keep_finished(home: Home, run: Run | None = None, shape: Shape | None = None) -> Run:
    """Keep a finished run in a home that is made, with its sources and builds; return it."""
    run = run or a_run()
    with open_session(home), Store.open(home.database) as store:
        number = keep(store, run, samples(run, shape))
        kept = store.run(number)
    for subject in kept.subjects:
        (home.sources / subject.source_digest).mkdir(exist_ok=True)
        folder = home.builds / subject.build_digest
        if not folder.exists():
            write_manifest(folder, pretended_build(folder).manifest)
    return kept
