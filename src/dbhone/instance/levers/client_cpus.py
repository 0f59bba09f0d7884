"""The client pinned to some CPUs: the driver that asks the server.

It is pinned before it begins, and does not begin if the kernel refuses; so nothing of it has to
be looked for afterwards.
"""

from __future__ import annotations

from dbhone.instance.cpu_list import parse_cpus
from dbhone.instance.levers._pinned import Pinned
from dbhone.instance.levers.base import HostCapabilities, Need, ObservedState, Pull, Slot


class _ClientCpus(Pinned):
    name = "client-cpus"
    summary = "the client that asks the server on these CPUs only"
    slot = Slot.CLIENT_CPUS

    def pull(self, need: Need, offer: HostCapabilities) -> Pull:
        """Return the CPUs."""
        del offer
        return Pull(client_cpus=parse_cpus(need.value))

    def took_effect(self, pull: Pull, traces: ObservedState) -> bool:
        """Return that it does: nothing of it is the server's."""
        del pull, traces
        return True


PLUGIN = _ClientCpus()
