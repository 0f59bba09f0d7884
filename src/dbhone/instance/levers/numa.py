"""The server's memory spread over all NUMA nodes, by numactl(8)."""

from __future__ import annotations

from dbhone.errors import UsageError
from dbhone.instance.levers.base import (
    HostCapabilities,
    Lever,
    LeverChanges,
    LeverContext,
    ObservedState,
    Slot,
    Unavailable,
)

_INTERLEAVE = "interleave"
_PROGRAM = "numactl"


class _Numa(Lever):
    name = "numa"
    summary = "the server's memory spread over all NUMA nodes, page by page"
    slot = Slot.NUMA
    typical = _INTERLEAVE
    programs = (_PROGRAM,)
    remedy = "the server may set a policy itself, such as innodb_numa_interleave"

    def canonical(self, value: str) -> str:
        """Return the one value that there is."""
        if value != _INTERLEAVE:
            raise UsageError(
                f"the lever {self.name} cannot be '{value}'", hint=f"write numa={_INTERLEAVE}"
            )
        return value

    def refusal(self, context: LeverContext, host: HostCapabilities) -> Unavailable | None:
        """Say that there is nothing to spread over, or that numactl is missing."""
        del context
        if host.numa_nodes < 2:
            return Unavailable(
                reason="this machine has one NUMA node: there is nothing to spread over"
            )
        if _PROGRAM not in host.programs:
            return Unavailable(
                reason=f"{_PROGRAM} is not installed", hint=f"apt-get install {_PROGRAM}"
            )
        return None

    def apply(self, context: LeverContext, host: HostCapabilities) -> LeverChanges:
        """Return numactl, which sets the policy and becomes the server."""
        return LeverChanges(prefix=(str(host.programs[_PROGRAM]), f"--{context.value}=all"))

    def in_service(self, context: LeverContext) -> str:
        """Return the policy as systemd has it."""
        policy = f"NUMAPolicy={context.value} and NUMAMask=all"
        return f"{policy} under [Service] of its unit"

    def took_effect(self, changes: LeverChanges, observed: ObservedState) -> bool:
        """Return whether the kernel spreads any of its memory."""
        del changes
        return _INTERLEAVE in observed.numa_policies


PLUGIN = _Numa()
