"""The base of the levers that pin programs to CPUs, and lists of CPUs as taskset(1) has them."""

from __future__ import annotations

import re

from dbhone.errors import UsageError
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


_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


def parse_cpus(text: str) -> frozenset[int]:
    """Return the numbers of the CPUs in a list. Raises UsageError for anything else."""
    cpus: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise UsageError(f"'{text}' is not a list of CPUs", hint="write it as 0-3 or 0,2")
        cpus.update(range(first, last + 1))
    return frozenset(cpus)


def cpu_list(cpus: frozenset[int]) -> str:
    """Return the shortest list of some CPUs, in ascending order."""
    ranges: list[list[int]] = []
    for cpu in sorted(cpus):
        if ranges and cpu == ranges[-1][-1] + 1:
            ranges[-1] = [ranges[-1][0], cpu]
        else:
            ranges.append([cpu])
    return ",".join("-".join(map(str, bounds)) for bounds in ranges)
