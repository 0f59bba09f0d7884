"""Whether memory and disk are enough, told before anything is fetched or compiled."""

from __future__ import annotations

import shutil

from dbhone.dbms.base import load_dbms
from dbhone.dbms.base_server import load_server_dbms
from dbhone.dbms.base_settings import Origin
from dbhone.errors import MachineError
from dbhone.experiment.declaration.levers import cache_bytes, cache_said_by, uses_huge_pages
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.declaration.requested_settings import requested_values
from dbhone.experiment.plan.plan import Compile, Plan, PostLink
from dbhone.home import Home
from dbhone.instance import open_files
from dbhone.instance.memory import check_memory
from dbhone.units import size

_SCRATCH = 100
"""How many times as large as its code a build's objects are, at most."""
_KEPT = 10
"""How many times as large as its code a kept build is."""


def check_room(experiment: Experiment, plan: Plan, home: Home, hint: str = "") -> None:
    """Raise MachineError if a plan's servers exceed memory or open files, or its files the disk.

    The ``hint`` is what to do where the disk is too small; without one there is a usual one.
    """
    check_caches(experiment)
    check_open_files(experiment)
    check_disk(
        _disk_of_builds(plan) + _disk_of_data(experiment, plan),
        f"the builds and data of {len(experiment.subjects)} subjects",
        home,
        hint,
    )


def check_caches(experiment: Experiment) -> None:
    """Raise MachineError if servers do not fit into the memory with the caches that they ask for.

    What a server's own version makes of its settings is seen only later.
    """
    if not experiment.workload.suite.server_sizes:
        return
    caches = [
        cache_bytes(subject, experiment.workload, experiment.servers_up)
        for subject in experiment.subjects
        if not uses_huge_pages(subject)
    ]
    check_memory(caches, one_by_one=experiment.one_by_one, said_by=cache_said_by(experiment))


def check_open_files(experiment: Experiment) -> None:
    """Raise MachineError if a server's settings need more files open than a process may have.

    Those of a named config do not count: of them a server takes what it can, with a footnote.
    """
    if not experiment.workload.suite.server_sizes:
        return
    clients = {"max_connections": str(experiment.workload.connections)}
    for subject in experiment.subjects:
        dbms = load_server_dbms(subject.inputs.dbms)
        asked = requested_values(dbms, subject.settings, (Origin.FILE, Origin.EXPERIMENT))
        needed = dbms.files_needed({**clients, **asked})
        open_files.check_open_files(needed, f"the server of {subject.name}")


def has_memory(experiment: Experiment) -> bool:
    """Return whether the servers fit into the memory with the caches that they ask for."""
    try:
        check_caches(experiment)
    except MachineError:
        return False
    return True


def _disk_of_builds(plan: Plan) -> int:
    """Return about how many bytes of disk a plan's builds take, by how large each one's code is.

    The objects of one are there at a time, and all builds are kept, in each layout at least their
    code. Those that are here already, or for which there is no time, take none.
    """
    builds = [
        (load_dbms(step.inputs.dbms).text_bytes, step.inputs.layouts)
        for step in plan.steps
        if isinstance(step, Compile | PostLink) and not (step.cost.done or step.tentative)
    ]
    largest = max((text_bytes for text_bytes, _ in builds), default=0)
    kept = sum(text_bytes * (_KEPT + layouts) for text_bytes, layouts in builds)
    return _SCRATCH * largest + kept


def check_disk(needed: int, what: str, home: Home, hint: str = "") -> None:
    """Raise MachineError if fewer bytes are free where the home is."""
    folder = next(path for path in (home.root, *home.root.parents) if path.exists())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise MachineError(
            f"{what} need about {size(needed)} of disk, and {size(free)} are free below"
            f" {home.root}",
            hint=hint or "'hone clean' shows what can be removed; --home chooses another folder",
        )


def _disk_of_data(experiment: Experiment, plan: Plan) -> int:
    """Return about how many bytes the loaded data takes, with a copy for each server that is up."""
    new = sum(data.size for data in plan.data if not data.load.done)
    return new + experiment.servers_up * max((data.size for data in plan.data), default=0)
