"""The levers of an experiment's subjects: checked before anything is built, and applied."""

from __future__ import annotations

from collections.abc import Mapping

from dbhone.dbms.base_server import ServerDbms, load_server_dbms
from dbhone.dbms.base_settings import Origin, Wanted
from dbhone.errors import HoneError, MachineError, SettingsError
from dbhone.experiment.model import Experiment, SubjectDeclaration
from dbhone.instance import applied_levers
from dbhone.instance.applied_levers import AppliedLevers
from dbhone.instance.levers.base import Need, Slot
from dbhone.workload import suite as suites
from dbhone.workload import suite_tasks
from dbhone.workload.suite import Regime


def lacking(experiment: Experiment, subject: SubjectDeclaration, version: str) -> HoneError | None:
    """Return why the subject's levers are not available here, None if they are.

    ``version`` is that of its DBMS, empty where it is not known yet.
    """
    for word in subject.levers:
        refusal = applied_levers.refusal((word,), _need(experiment, subject, word, version))
        if refusal is not None:
            return MachineError(f"the lever {word}: {refusal.reason}", hint=refusal.hint or None)
    brought = pull(experiment, subject).whole.settings
    requested = {
        _server(subject).canonical(setting.name): setting.value
        for setting in subject.settings
        if setting.origin is Origin.EXPERIMENT
    }
    for name, value in brought.items():
        if requested.get(name, value) != value:
            return SettingsError(
                f"the setting {name} = {requested[name]} contradicts its levers, which want"
                f" {value}",
                hint="leave out the one or the other",
            )
    return None


def pull(experiment: Experiment, subject: SubjectDeclaration) -> AppliedLevers:
    """Return what the subject's levers bring, on a machine that has them all."""
    if not subject.levers:
        return AppliedLevers()
    return applied_levers.pull(subject.levers, _need(experiment, subject))


def uses_huge_pages(subject: SubjectDeclaration) -> bool:
    """Return whether the subject's cache lies in memory that was reserved for such use."""
    return any(
        applied_levers.load_lever(word.partition("=")[0]).slot is Slot.PAGES
        for word in subject.levers
    )


def settings_with(subject: SubjectDeclaration, pulled: AppliedLevers) -> tuple[Wanted, ...]:
    """Return the settings requested of the subject's server, with those of its levers."""
    brought = (Wanted(name=name, value=value) for name, value in pulled.whole.settings.items())
    return (*subject.settings, *brought)


def _need(
    experiment: Experiment, subject: SubjectDeclaration, word: str = "", version: str = ""
) -> Need:
    """Return what levers are pulled for: all servers with this one are up at once, unless cold."""
    dbms = _server(subject)
    several = sum(word in other.levers for other in experiment.subjects)
    cold = experiment.scale.regime is Regime.COLD
    proposed = suite_tasks.cache_bytes(suites.load(experiment.suite), experiment.scale)
    return Need(
        value="",
        dbms=dbms,
        cache_bytes=applied_levers.wanted_cache(dbms, _effective(subject), proposed),
        servers=min(1, several) if cold else several,
        version=version,
    )


def _effective(subject: SubjectDeclaration) -> Mapping[str, str]:
    """Return the settings requested of a server; a later origin goes before an earlier one."""
    return {
        setting.name: setting.value
        for origin in Origin
        for setting in subject.settings
        if setting.origin is origin
    }


def _server(subject: SubjectDeclaration) -> ServerDbms:
    return load_server_dbms(subject.inputs.dbms)
