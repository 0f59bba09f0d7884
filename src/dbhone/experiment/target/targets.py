"""Chooses the kind of target of a workload: one for embedded systems, or one for servers."""

from __future__ import annotations

from dbhone.experiment.target.embedded_target import EmbeddedTarget
from dbhone.experiment.target.server_target import ServerTarget
from dbhone.experiment.target.target import Target
from dbhone.workload.drivers.base import ServerDriver
from dbhone.workload.workload import Workload


def target_class(workload: Workload) -> type[Target]:
    """Return the kind of target that the driver of a workload drives."""
    return ServerTarget if isinstance(workload.driver, ServerDriver) else EmbeddedTarget
