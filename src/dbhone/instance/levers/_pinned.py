"""The base of the levers that pin programs to CPUs."""

from __future__ import annotations

from dbhone.cpus import cpu_list, parse_cpus
from dbhone.instance.levers.base import HostCapabilities, Lever, LeverContext, Unavailable


class Pinned(Lever):
    """Runs a program on some CPUs only."""

    typical = None

    def canonical(self, value: str) -> str:
        """Return the shortest list. Raises UsageError."""
        return cpu_list(parse_cpus(value))

    def refusal(self, context: LeverContext, host: HostCapabilities) -> Unavailable | None:
        """Return which of the CPUs hone may not use: nothing that it starts may either."""
        absent = parse_cpus(context.value) - host.cpus
        if not absent:
            return None
        word = "CPUs" if len(absent) > 1 else "CPU"
        return Unavailable(
            reason=f"hone cannot use the {word} {cpu_list(absent)}, but {cpu_list(host.cpus)} only"
        )
