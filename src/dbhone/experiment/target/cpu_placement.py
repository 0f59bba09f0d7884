"""Which CPUs clients and servers run on: cores of their own, where there are enough.

A client and the server's thread for it wake each other up. If the kernel chooses where, it puts
both on one CPU at one time and on two at another, and an operation takes half as long or twice as
long. That is noise to whoever compares two servers, and ``docs/benchmarks.md`` has how much.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from dbhone.cpus import cores_of, cpu_list, fastest_cpus
from dbhone.experiment.declaration.model import Experiment, Placement
from dbhone.experiment.target.order import BlockSeed
from dbhone.experiment.target.server_pool import ServerSpec
from dbhone.instance import applied_levers
from dbhone.instance.levers.base import LeverContext, Slot

_PINNED = frozenset({Slot.SERVER_CPUS, Slot.CLIENT_CPUS})


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuPlacement:
    """``clients`` cores for clients, and the rest of the ``cores`` for servers.

    A core is the set of its CPUs. Without any, the kernel chooses.
    """

    cores: tuple[frozenset[int], ...] = ()
    clients: int = 0

    @property
    def cpus(self) -> frozenset[int]:
        """All CPUs that clients or servers use."""
        return frozenset().union(*self.cores)

    def in_block(self, spec: ServerSpec, block: BlockSeed) -> ServerSpec:
        """Return the server, and its clients, on the CPUs that the block gives to each.

        Which ones clients get is random, and the same for all subjects of a block.
        """
        if not self.cores:
            return spec
        own = frozenset().union(*block.sample(self.cores, self.clients))
        words = (f"client-cpus={cpu_list(own)}", f"cpus={cpu_list(self.cpus - own)}")
        context = LeverContext(value="", dbms=spec.dbms, cache_bytes=0, servers=1)
        placed = applied_levers.apply(words, context)
        return dataclasses.replace(spec, levers=spec.levers.and_those_of(placed))


def cpu_placement(
    experiment: Experiment, cores: tuple[frozenset[int], ...] | None = None
) -> CpuPlacement:
    """Return where the clients and servers of an experiment run on this machine.

    They have cores of their own if at least half of the cores are left to servers when each client
    has one, unless the experiment wants it otherwise: by its design, or by a lever of any subject.
    """
    if experiment.placement is Placement.FREE or any(map(_is_pinned, _levers(experiment))):
        return CpuPlacement()
    tasks = experiment.workload.tasks()
    clients = max((task.run.threads for task in tasks if task.run), default=0)
    cores = cores_of(fastest_cpus()) if cores is None else cores
    if not 0 < 2 * clients <= len(cores):
        return CpuPlacement()
    return CpuPlacement(cores=cores, clients=clients)


def _levers(experiment: Experiment) -> tuple[str, ...]:
    return tuple(word for subject in experiment.subjects for word in subject.levers)


def _is_pinned(word: str) -> bool:
    return applied_levers.load_lever(word.partition("=")[0]).slot in _PINNED
