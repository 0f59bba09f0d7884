"""CPUs: lists of them, as taskset(1) has them, and those of the fastest kind."""

from __future__ import annotations

import os
import re
from pathlib import Path

from dbhone.errors import UsageError
from dbhone.files import text_if_there

_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
_INTELS_FASTEST = Path("sys/devices/cpu_core/cpus")
_CAPACITY = "sys/devices/system/cpu/cpu{cpu}/cpu_capacity"
_SIBLINGS = "sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
_ALIKE = 0.9
"""CPUs of one kind differ a little in what firmware says of them."""


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


def fastest_cpus(root: Path = Path("/")) -> frozenset[int]:
    """Return those of the fastest kind among the CPUs that hone may use: all if they are alike.

    Of Intel's CPUs the kernel lists each kind, of Arm's it tells the capacity of each.
    """
    allowed = frozenset(os.sched_getaffinity(0))
    listed = text_if_there(root / _INTELS_FASTEST)
    if listed.strip():
        return allowed & parse_cpus(listed) or allowed
    told = {cpu: text_if_there(root / _CAPACITY.format(cpu=cpu)) for cpu in allowed}
    capacities = {cpu: int(text) for cpu, text in told.items() if text.strip().isdigit()}
    least = _ALIKE * max(capacities.values(), default=0)
    return frozenset(cpu for cpu in allowed if capacities.get(cpu, least) >= least)


def cores_of(cpus: frozenset[int], root: Path = Path("/")) -> tuple[frozenset[int], ...]:
    """Return the cores that these CPUs are of, each as those of its hardware threads among them.

    A CPU of which the kernel tells no siblings is a core. They are in the order of their numbers.
    """
    cores: set[frozenset[int]] = set()
    for cpu in cpus:
        listed = text_if_there(root / _SIBLINGS.format(cpu=cpu)).strip()
        siblings = parse_cpus(listed) if listed else frozenset[int]()
        cores.add(siblings & cpus | {cpu})
    return tuple(sorted(cores, key=sorted))
