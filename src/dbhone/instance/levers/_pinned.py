"""What the levers that pin to CPUs have in common."""

from __future__ import annotations

from dbhone.instance.cpu_list import cpu_list, parse_cpus
from dbhone.instance.levers.base import HostCapabilities, Lever, Need, Unavailable


class Pinned(Lever):
    """Some program runs on some CPUs only."""

    takes = "a list of CPUs, 0-3 or 0,2"
    typical = None

    def canonical(self, value: str) -> str:
        """Return the shortest list. Raises UsageError."""
        return cpu_list(parse_cpus(value))

    def refusal(self, need: Need, offer: HostCapabilities) -> Unavailable | None:
        """Say that hone may not use such a CPU, so that nothing it starts may."""
        absent = parse_cpus(need.value) - offer.cpus
        if not absent:
            return None
        word = "CPUs" if len(absent) > 1 else "CPU"
        return Unavailable(
            reason=f"hone cannot use the {word} {cpu_list(absent)}, but {cpu_list(offer.cpus)} only"
        )
