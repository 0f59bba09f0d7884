"""The server pinned to some CPUs, see sched_setaffinity(2)."""

from __future__ import annotations

from dbhone.cpus import parse_cpus
from dbhone.instance.levers._pinned import Pinned
from dbhone.instance.levers.base import (
    HostCapabilities,
    LeverChanges,
    LeverContext,
    ObservedState,
    Slot,
)


class _Cpus(Pinned):
    name = "cpus"
    summary = "the server on these CPUs only"
    slot = Slot.SERVER_CPUS
    remedy = "the server may choose its CPUs itself: look at its settings"

    def apply(self, context: LeverContext, host: HostCapabilities) -> LeverChanges:
        """Return the CPUs."""
        del host
        return LeverChanges(cpus=parse_cpus(context.value))

    def in_service(self, context: LeverContext) -> str:
        """Return the CPUs as systemd has them."""
        return f"CPUAffinity={context.value} under [Service] of its unit"

    def took_effect(self, changes: LeverChanges, observed: ObservedState) -> bool:
        """Return whether every thread is kept to them."""
        return observed.cpus == {changes.cpus}


PLUGIN = _Cpus()
