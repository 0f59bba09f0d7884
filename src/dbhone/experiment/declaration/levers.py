"""The levers of an experiment's subjects: checked before anything is built, and applied."""

from __future__ import annotations

from dbhone.dbms.base_server import ServerDbms, load_server_dbms
from dbhone.dbms.base_settings import Origin
from dbhone.errors import HoneError, MachineError, SettingsError
from dbhone.experiment.declaration.model import Experiment, SubjectDeclaration
from dbhone.experiment.declaration.requested_settings import requested_values
from dbhone.instance import applied_levers
from dbhone.instance.applied_levers import AppliedLevers
from dbhone.instance.levers.base import LeverContext, Slot
from dbhone.instance.memory import Yardstick, cache_bytes_of, memory_for
from dbhone.workload.workload import Workload


def levers_refusal(experiment: Experiment, subject: SubjectDeclaration) -> HoneError | None:
    """Return why the subject's levers are not available here, None if they are."""
    for word in subject.levers:
        unavailable = applied_levers.refusal((word,), _context(experiment, subject, word))
        if unavailable is not None:
            reason, hint = unavailable.reason, unavailable.hint
            return MachineError(f"the lever {word}: {reason}", hint=hint or None)
    of_levers = apply_levers(experiment, subject).whole.settings
    requested = requested_values(_server(subject), subject.settings, (Origin.EXPERIMENT,))
    for name, value in of_levers.items():
        if requested.get(name, value).lower() != value.lower():
            return SettingsError(
                f"the setting {name} = {requested[name]} contradicts its levers, which want"
                f" {value}",
                hint="leave out the one or the other",
            )
    return None


def apply_levers(experiment: Experiment, subject: SubjectDeclaration) -> AppliedLevers:
    """Return what the subject's levers change, on a machine that can apply them all."""
    if not subject.levers:
        return AppliedLevers()
    return applied_levers.apply(subject.levers, _context(experiment, subject))


def uses_huge_pages(subject: SubjectDeclaration) -> bool:
    """Return whether the subject's cache lies in memory that was reserved for such use."""
    return any(
        applied_levers.load_lever(word.partition("=")[0]).slot is Slot.PAGES
        for word in subject.levers
    )


def _context(experiment: Experiment, subject: SubjectDeclaration, word: str = "") -> LeverContext:
    """Return what levers are applied for: all servers with it are up, or just one."""
    dbms = _server(subject)
    several = sum(word in other.levers for other in experiment.subjects)
    return LeverContext(
        value="",
        dbms=dbms,
        cache_bytes=cache_bytes(subject, experiment.workload, experiment.servers_up),
        servers=min(1, several) if experiment.one_by_one else several,
    )


def cache_bytes(subject: SubjectDeclaration, workload: Workload, servers: int) -> int:
    """Return how large the cache of the subject's server is to be, in bytes.

    It may be a share of the memory, of which ``servers`` servers have an equal part each.
    """
    yardstick = Yardstick(memory=memory_for(servers), cache=workload.cache_bytes)
    dbms = _server(subject)
    return cache_bytes_of(dbms, requested_values(dbms, subject.settings), yardstick)


def cache_said_by(experiment: Experiment) -> str:
    """Return what says how large caches are: a setting, where one is requested, goes first."""
    for subject in experiment.subjects:
        dbms = _server(subject)
        if dbms.cache_setting in requested_values(dbms, subject.settings):
            return f'{dbms.cache_setting}, such as "50% of memory", in the settings'
    return "[workload] cache"


def _server(subject: SubjectDeclaration) -> ServerDbms:
    return load_server_dbms(subject.inputs.dbms)
