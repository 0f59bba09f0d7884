"""The suite on which most tests of suites work."""

from __future__ import annotations

from dbhone.workload import suite as suites
from dbhone.workload.suite import Suite


def micro() -> Suite:
    return suites.load("sysbench:micro")
