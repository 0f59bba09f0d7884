"""What a run keeps of its experiment file is the text: what is read from it again."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from dbhone.measurement.record import Run


def version_order(run: Run) -> tuple[str, ...]:
    """Return the versions of a history in their order, none if the run is no history."""
    order = _table(run, "history").get("order", ())
    if not isinstance(order, list):
        return ()
    known = {each.name for each in run.subjects}
    return tuple(str(name) for name in order if str(name) in known)


def workload(run: Run) -> Mapping[str, Any]:
    """Return what the file says of the work, as it stands there."""
    return _table(run, "workload")


def declared_subjects(run: Run) -> tuple[str, ...]:
    """Return the names of all subjects that the file declares, of which some may be missing."""
    return tuple(_table(run, "subjects"))


def keeps_awake(run: Run) -> bool:
    """Return whether the file has all CPUs kept awake while something is measured."""
    return _table(run, "design").get("awake") is True


def observes(run: Run) -> bool:
    """Return whether the file lets servers be observed while they are measured."""
    return _table(run, "observe").get("enabled") is not False


def _table(run: Run, name: str) -> Mapping[str, Any]:
    try:
        found = tomllib.loads(run.experiment).get(name, {})
    except tomllib.TOMLDecodeError:
        return {}
    return found if isinstance(found, dict) else {}
