"""Chooses the kind of target of a suite: one for embedded systems, or one for servers."""

from __future__ import annotations

from dbhone.experiment.embedded_target import EmbeddedTarget
from dbhone.experiment.server_target import ServerTarget
from dbhone.experiment.target import Target
from dbhone.workload import suite as suites
from dbhone.workload.drivers.base import ServerDriver, load_driver


def target_class(suite: str) -> type[Target]:
    """Return the kind of target that the driver of a suite drives."""
    driver = load_driver(suites.load(suite).driver)
    return ServerTarget if isinstance(driver, ServerDriver) else EmbeddedTarget
