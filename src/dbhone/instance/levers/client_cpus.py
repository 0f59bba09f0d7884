"""The client pinned to some CPUs: the driver that asks the server.

It is pinned before it begins, and does not begin if the kernel refuses; so nothing of it has to
be looked for afterwards.
"""

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


class _ClientCpus(Pinned):
    name = "client-cpus"
    summary = "the client that asks the server on these CPUs only"
    slot = Slot.CLIENT_CPUS

    def apply(self, context: LeverContext, host: HostCapabilities) -> LeverChanges:
        """Return the CPUs."""
        del host
        return LeverChanges(client_cpus=parse_cpus(context.value))

    def in_service(self, context: LeverContext) -> str:
        """Return how a client is pinned: the service is not."""
        return f"taskset --cpu-list {context.value} before the command of its client"

    def took_effect(self, changes: LeverChanges, observed: ObservedState) -> bool:
        """Return that it does: nothing of it is the server's."""
        del changes, observed
        return True


PLUGIN = _ClientCpus()
