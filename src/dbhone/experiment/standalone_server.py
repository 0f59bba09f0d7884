"""Runs the server of one subject alone, for somebody who wants to use it and not to measure it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from dbhone.errors import UnknownName, UsageError
from dbhone.experiment.builds import BuildService
from dbhone.experiment.estimates import BuildEstimator
from dbhone.experiment.events import Detail
from dbhone.experiment.model import Experiment, SubjectDeclaration
from dbhone.experiment.planning import plan_builds
from dbhone.experiment.server_pool import ServerPool, ServerWorkload
from dbhone.experiment.server_target import spec_of
from dbhone.instance.server import Server
from dbhone.workload import suite as suites
from dbhone.workload.drivers.base import ServerDriver, load_driver


@contextlib.contextmanager
def standalone_server(experiment: Experiment, name: str, service: BuildService) -> Iterator[Server]:
    """Yield the running server of a subject, on a fresh copy of the experiment's loaded data.

    Its build is found, or made. Building, loading and starting wait for other hones; the running
    server does not keep them waiting. Raises UnknownName, UsageError for an embedded DBMS, and
    what the build and the server raise.
    """
    subject = find_subject(experiment, name)
    workload = server_workload(experiment)
    plan = plan_builds((subject,), BuildEstimator(service.session.home))
    service.perform_all(plan.steps)
    build = service.build(plan.builds[name]).build
    pool = ServerPool(service.session, workload, lambda text: service.listen(Detail(text=text)))
    spec = spec_of(experiment, subject, build)
    with contextlib.ExitStack() as stack:
        yield service.exclusively(
            lambda: stack.enter_context(pool.running(spec, _seed(experiment)))
        )


def server_workload(experiment: Experiment) -> ServerWorkload:
    """Return what the clients of one server do. Raises UsageError for an embedded DBMS."""
    suite = suites.load(experiment.suite)
    driver = load_driver(suite.driver)
    if not isinstance(driver, ServerDriver):
        (dbms, *_) = (subject.inputs.dbms for subject in experiment.subjects)
        raise UsageError(
            f"{dbms} is not a server: it is part of the program that uses it",
            hint="'hone build' prints where a build's files are",
        )
    return ServerWorkload(
        suite=suite, driver=driver, scale=experiment.scale, drop_unknown=experiment.drop_unknown
    )


def find_subject(experiment: Experiment, name: str) -> SubjectDeclaration:
    """Return the subject of this name. Raises UnknownName."""
    for subject in experiment.subjects:
        if subject.name == name:
            return subject
    raise UnknownName("subject", name, (subject.name for subject in experiment.subjects))


def _seed(experiment: Experiment) -> int | None:
    """Return the seed of random data, None for a suite that always loads the same."""
    fresh = suites.load(experiment.suite).fresh_loads
    return experiment.design.seed if fresh else None
