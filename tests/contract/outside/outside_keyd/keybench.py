"""keybench drives keyd. What it loads are keys, neither tables nor rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from dbhone.dbms.base_protocol import Endpoint
from dbhone.errors import DriverError
from dbhone.workload.drivers.base import (
    Chunk,
    DriverReport,
    DriverRequest,
    ServerDriver,
    StepResult,
    validated,
)
from dbhone.workload.task import DataSet

_SCRIPT = Path(__file__).with_name("keybench_program.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys(DataSet):
    """So many keys, each with a value."""

    keys: int
    seed: int | None = None

    @property
    def label(self) -> str:
        """How many."""
        return f"{self.keys:,} keys"

    @property
    def key(self) -> tuple[str | int, ...]:
        """How many."""
        return (self.keys,)

    @property
    def volume(self) -> float:
        """How many."""
        return float(self.keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """Which share of what clients do is reading."""

    share_of_reads: float


class _Size(BaseModel):
    model_config = ConfigDict(extra="forbid")

    keys: int = Field(ge=1)


class _Job(BaseModel):
    model_config = ConfigDict(extra="forbid")

    share_of_reads: float


class Keybench(ServerDriver):
    """A Python program beside this file."""

    name = "keybench"
    program = "python3"
    package = "python3"
    data_keys = frozenset({"keys"})

    def data_set(self, keys: Mapping[str, Any], scripts: Path, seed: int | None) -> Keys:
        """Return the keys."""
        del scripts
        return Keys(keys=validated(_Size, keys, self.name).keys, seed=seed)

    def job(self, keys: Mapping[str, Any]) -> Mix:
        """Return the mix."""
        return Mix(share_of_reads=validated(_Job, keys, self.name).share_of_reads)

    def argv(self, request: DriverRequest) -> tuple[str, ...]:
        """Return the command of a run."""
        run, endpoint = request.task.run, request.database
        if run is None or isinstance(endpoint, Path):
            raise DriverError("keybench drives servers")
        assert isinstance(run.job, Mix)
        words = (str(run.seconds), str(run.job.share_of_reads))
        return self._command(request.program, endpoint, run.data, "run", *words)

    def read(self, request: DriverRequest, transcript: tuple[Chunk, ...]) -> DriverReport:
        """Read its one line."""
        text = b"".join(chunk.data for chunk in transcript).decode()
        try:
            counts = json.loads(text)
        except ValueError:
            raise DriverError(f"keybench printed no counts: {text[:80]!r}") from None
        step = StepResult(
            key="",
            title=request.task.set,
            seconds=counts["seconds"],
            operations=counts["operations"],
        )
        return DriverReport(version=None, steps=(step,), verification=None)

    def load(self, program: Path, endpoint: Endpoint, data: DataSet) -> tuple[str, ...]:
        """Write every key."""
        return self._command(program, endpoint, data, "load")

    def load_scripts(self, data: DataSet) -> tuple[Path, ...]:
        """The program decides what is loaded."""
        del data
        return (_SCRIPT,)

    def readable(self, data: DataSet) -> tuple[Path, ...]:
        """The program's text."""
        del data
        return (_SCRIPT,)

    def finish_background_work(
        self, program: Path, endpoint: Endpoint, data: DataSet
    ) -> tuple[str, ...]:
        """There is nothing to wait for."""
        return self._command(program, endpoint, data, "settle")

    def verify(self, program: Path, endpoint: Endpoint, data: DataSet) -> tuple[str, ...]:
        """Read every key."""
        return self._command(program, endpoint, data, "verify")

    def answers(self, printed: str) -> dict[str, str]:
        """Return the digest that it printed, of all keys together."""
        return {"all keys": printed.strip()}

    def _command(
        self, program: Path, endpoint: Endpoint, data: DataSet, command: str, *words: str
    ) -> tuple[str, ...]:
        assert isinstance(data, Keys)
        return (str(program), str(_SCRIPT), str(endpoint.socket), str(data.keys), command, *words)


PLUGIN = Keybench()
