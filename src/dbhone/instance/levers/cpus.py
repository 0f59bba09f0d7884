"""The server pinned to some CPUs, see sched_setaffinity(2)."""

from __future__ import annotations

from dbhone.instance.cpu_list import parse_cpus
from dbhone.instance.levers._pinned import Pinned
from dbhone.instance.levers.base import HostCapabilities, Need, ObservedState, Pull, Slot


class _Cpus(Pinned):
    name = "cpus"
    summary = "the server on these CPUs only"
    slot = Slot.SERVER_CPUS
    remedy = "the server may choose its CPUs itself: look at its settings"

    def pull(self, need: Need, offer: HostCapabilities) -> Pull:
        """Return the CPUs."""
        del offer
        return Pull(cpus=parse_cpus(need.value))

    def took_effect(self, pull: Pull, traces: ObservedState) -> bool:
        """Return whether every thread is kept to them."""
        return traces.cpus == {pull.cpus}


PLUGIN = _Cpus()
