"""A home with a finished run, its sources and the builds of all its subjects."""

from __future__ import annotations

from dbhone.compilation.manifest import write_manifest
from dbhone.home import Home, open_session
from dbhone.measurement.record import Run
from dbhone.measurement.store import Store
from tests.experiment.pretended import pretended_build
from tests.report.sample_run import a_run, samples
from tests.serve.stored import keep


def keep_finished(home: Home, run: Run | None = None) -> Run:
    """Keep a finished run in a home that is made, with its sources and builds; return it."""
    run = run or a_run()
    with open_session(home), Store.open(home.database) as store:
        number = keep(store, run, samples(run))
        kept = store.run(number)
    for subject in kept.subjects:
        (home.sources / subject.source_digest).mkdir(exist_ok=True)
        folder = home.builds / subject.build_digest
        write_manifest(folder, pretended_build(folder).manifest)
    return kept
