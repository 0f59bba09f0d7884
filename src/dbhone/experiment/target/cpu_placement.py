"""Which CPUs clients and servers run on: cores of their own, where there are enough.

A client and the server's thread for it wake each other up. If the kernel chooses where, it puts
both on one CPU at one time and on two at another, and an operation takes half as long or twice as
long. That is noise to whoever compares two servers, and ``docs/benchmarks.md`` has how much.
"""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass

from dbhone.cgroup import usable_cores
from dbhone.cpus import cores_of, fastest_cpus
from dbhone.experiment.declaration.model import Experiment, Placement
from dbhone.experiment.target.order import BlockSeed
from dbhone.experiment.target.server_pool import ServerSpec
from dbhone.instance import applied_levers
from dbhone.instance.levers.base import LeverChanges, Slot

_PINNED = frozenset({Slot.SERVER_CPUS, Slot.CLIENT_CPUS})


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuPlacement:
    """``clients`` of the ``cores`` for all clients together, and the others for servers.

    A core is the set of its CPUs. Without any, the kernel chooses.
    """

    cores: tuple[frozenset[int], ...] = ()
    clients: int = 0

    def in_block(self, spec: ServerSpec, block: BlockSeed) -> ServerSpec:
        """Return the server, and its clients, on the CPUs that the block gives to each.

        Which ones clients get is random, and the same for all subjects of a block.
        """
        if not self.cores:
            return spec
        clients = frozenset[int]().union(*block.client_cores(self.cores, self.clients))
        servers = frozenset[int]().union(*self.cores) - clients
        placed = LeverChanges(cpus=servers, client_cpus=clients)
        return dataclasses.replace(spec, levers=dataclasses.replace(spec.levers, placed=placed))


def cpu_placement(experiment: Experiment) -> CpuPlacement:
    """Return where the clients and servers of an experiment run on this machine.

    The experiment may leave it to the kernel, by its design or by a lever of any subject.
    """
    words = (word for subject in experiment.subjects for word in subject.levers)
    if experiment.placement is Placement.FREE or any(map(_is_pinned, words)):
        return CpuPlacement()
    return placement_for(experiment.workload.most_clients, usable_alike())


def placement_for(clients: int, cores: tuple[frozenset[int], ...]) -> CpuPlacement:
    """Return the placement with a core for each client, if servers have at least as many left."""
    if not 0 < 2 * clients <= len(cores):
        return CpuPlacement()
    return CpuPlacement(cores=cores, clients=clients)


def usable_alike() -> tuple[frozenset[int], ...]:
    """Return the cores of this machine, or none if it matters which of them a server gets.

    They are of one kind and have as many CPUs each, and no quota makes them worth less.
    """
    usable = frozenset(os.sched_getaffinity(0))
    cores = cores_of(usable)
    is_alike = len(set(map(len, cores))) == 1 and fastest_cpus() == usable
    return cores if is_alike and usable_cores() == len(usable) else ()


def _is_pinned(word: str) -> bool:
    return applied_levers.load_lever(word.partition("=")[0]).slot in _PINNED
