"""What of an experiment is the servers': what starts them, and how each subject's server runs."""

from __future__ import annotations

from dbhone.compilation.manifest import Build
from dbhone.dbms.base_server import load_server_dbms
from dbhone.dbms.base_settings import RequestedSetting
from dbhone.errors import UsageError
from dbhone.experiment.declaration.levers import apply_levers
from dbhone.experiment.declaration.model import Experiment, SubjectDeclaration
from dbhone.experiment.declaration.observe import as_requests
from dbhone.experiment.target.server_pool import ServerPool, ServerSpec
from dbhone.instance.programs import installation_of
from dbhone.session import Notify, Session
from dbhone.workload.drivers.base import ServerDriver


def check_servers(experiment: Experiment) -> None:
    """Raise UsageError for an embedded DBMS."""
    if not isinstance(experiment.workload.driver, ServerDriver):
        (dbms, *_) = (subject.inputs.dbms for subject in experiment.subjects)
        raise UsageError(
            f"{dbms} is not a server: it is part of the program that uses it",
            hint="'hone build' prints where a build's files are",
        )


def pool_of(experiment: Experiment, session: Session, notify: Notify) -> ServerPool:
    """Return what starts servers, of which each has its part of the machine's memory.

    It is the same part even if fewer servers are up than in the experiment.
    """
    return ServerPool(
        session,
        experiment.workload,
        notify,
        drop_unknown=experiment.drop_unknown,
        servers=experiment.servers_up,
    )


def spec_of(experiment: Experiment, subject: SubjectDeclaration, build: Build) -> ServerSpec:
    """Return the server of a subject: its build, its settings and its levers."""
    dbms = load_server_dbms(build.manifest.dbms)
    levers = apply_levers(experiment, subject)
    of_levers = levers.whole.settings.items()
    return ServerSpec(
        dbms=dbms,
        installation=installation_of(dbms, build),
        layouts=tuple(
            installation_of(dbms, layout)
            for layout in experiment.own_layouts(subject.name, build.layouts)
        ),
        settings=(
            *as_requests(dbms, experiment.observe.settings(dbms), subject.settings),
            *subject.settings,
            *(RequestedSetting(name=name, value=value) for name, value in of_levers),
        ),
        levers=levers,
    )
