"""Runs the server of one subject alone, for somebody who wants to use it and not to measure it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.execution.builds import BuildService
from dbhone.experiment.target.server_specs import check_servers, pool_of, spec_of
from dbhone.instance.server import Server


@contextlib.contextmanager
def standalone_server(experiment: Experiment, name: str, service: BuildService) -> Iterator[Server]:
    """Yield the running server of a subject, on a fresh copy of the experiment's loaded data.

    Its build is found, or made. Building, loading and starting wait for other hones; the running
    server does not keep them waiting. Raises UnknownName, UsageError for an embedded DBMS, and
    what the build and the server raise.
    """
    subject = experiment.subject(name)
    check_servers(experiment)
    build = service.make_builds(subject)[name].build
    pool = pool_of(experiment, service.session, service.detail)
    spec = spec_of(experiment, subject, build)
    with contextlib.ExitStack() as stack:
        with service.exclusive():
            server = stack.enter_context(pool.running(spec, _seed(experiment)))
        yield server


def _seed(experiment: Experiment) -> int | None:
    """Return the seed of random data, None for a suite that always loads the same."""
    return experiment.design.seed if experiment.workload.suite.fresh_loads else None
