"""TPC-C by the packages of go-tpc, whose clients hone starts itself.

The program is the Go module beside the suite. It reaches a server by its socket, without a
password, and its clients count as sysbench's do, so that they can be paused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from dbhone.dbms.base_protocol import Endpoint
from dbhone.errors import DriverError
from dbhone.workload.drivers.base import (
    DriverRequest,
    Keys,
    ServerDriver,
    validated,
)
from dbhone.workload.task import DataSet, Task

_LOADERS = 4
_VERIFIED_TRANSACTIONS = 200
_WEIGHTS = r"\d{1,3}(,\d{1,3}){4}"
_ERROR = re.compile(r"^(?:tpcc|panic): (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Warehouses(DataSet):
    """TPC-C's tables for this many warehouses."""

    warehouses: int
    seed: int | None = None

    @property
    def label(self) -> str:
        """The number of warehouses."""
        return f"{self.warehouses:,} warehouse{'s' if self.warehouses > 1 else ''}"

    @property
    def key(self) -> tuple[str | int, ...]:
        """The number of warehouses."""
        return (self.warehouses,)

    @property
    def volume(self) -> float:
        """The number of warehouses."""
        return float(self.warehouses)

    @property
    def loaders(self) -> int:
        """A client for each warehouse, as far as there are enough."""
        return min(self.warehouses, _LOADERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """The weights of new order, payment, order status, delivery and stock level: 100 together."""

    weights: str


class _DataKeys(Keys):
    warehouses: int = Field(ge=1, le=100_000)


class _JobKeys(Keys):
    weights: str = Field(pattern=f"^{_WEIGHTS}$")


class Tpcc(ServerDriver):
    """Runs a mix of TPC-C's transactions for a number of seconds, without waiting times."""

    name = "tpcc"
    program = "go"
    package = "golang"
    module = Path(__file__).resolve().parents[1] / "suites" / "tpcc"
    data_keys = frozenset({"warehouses"})

    def data_set(self, keys: Mapping[str, Any], scripts: Path, seed: int | None) -> Warehouses:
        """Return the tables; the key is ``warehouses``."""
        del scripts
        given = validated(_DataKeys, keys, self.name)
        return Warehouses(warehouses=given.warehouses, seed=seed)

    def job(self, keys: Mapping[str, Any]) -> Mix:
        """Return the mix; the key is ``weights``."""
        return Mix(weights=validated(_JobKeys, keys, self.name).weights)

    def can_pause(self, task: Task) -> bool:
        """Return that its clients can be paused: they count what they do."""
        return task.run is not None

    def counting_argv(self, request: DriverRequest, counts: Path) -> tuple[str, ...]:
        """Return the command of a run without an end, whose transactions are counted in a file."""
        run = request.run
        assert isinstance(run.job, Mix), "a run of this driver has a mix"
        words = (f"--threads={run.threads}", f"--weights={run.job.weights}", f"--counts={counts}")
        parts = f"--parts={','.join(run.parts)}"
        return _command(request.program, request.endpoint, run.data, "run", *words, parts)

    def error_in_output(self, printed: str) -> DriverError | None:
        """Return the first error that the program tells, None if there is none."""
        said = _ERROR.search(printed)
        return None if said is None else DriverError(f"tpcc failed: {said[1][:300]}")

    def load(self, program: Path, endpoint: Endpoint, data: DataSet) -> tuple[str, ...]:
        """Return the command that makes and fills the tables, and checks them."""
        return _command(program, endpoint, data, "load", f"--threads={data.loaders}")

    def load_scripts(self, data: DataSet) -> tuple[Path, ...]:
        """Return the program's sources, and the checksums of what it is built of."""
        del data
        return tuple(self.module / name for name in ("main.go", "go.sum"))

    def finish_background_work(
        self, program: Path, endpoint: Endpoint, data: DataSet
    ) -> tuple[str, ...]:
        """Return the command that has statistics made and changed pages written."""
        return _command(program, endpoint, data, "settle")

    def verify(self, program: Path, endpoint: Endpoint, data: DataSet) -> tuple[str, ...]:
        """Return the command that runs transactions, then checks the specification's conditions.

        The data is random, so what two servers have in common are numbers of rows.
        """
        events = f"--events={_VERIFIED_TRANSACTIONS}"
        return _command(program, endpoint, data, "verify", events)

    def check(self, program: Path, endpoint: Endpoint, data: DataSet) -> tuple[str, ...]:
        """Return the command that only checks the specification's conditions."""
        return _command(program, endpoint, data, "verify", "--events=0")


def _command(
    program: Path, endpoint: Endpoint, data: DataSet, command: str, *options: str
) -> tuple[str, ...]:
    assert isinstance(data, Warehouses), "TPC-C loads its own tables"
    return (
        str(program),
        f"--protocol={endpoint.protocol.name}",
        f"--socket={endpoint.socket}",
        f"--port={endpoint.port}",
        f"--user={endpoint.user}",
        f"--database={endpoint.database}",
        f"--warehouses={data.warehouses}",
        *options,
        command,
    )


PLUGIN = Tpcc()
