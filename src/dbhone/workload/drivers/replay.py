"""Replays a captured workload: sysbench's clients with a script of ours, on the user's own data.

sysbench gives threads, time and figures. The script (``suites/replay/scripts``) executes the
statements by the client library itself.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from dbhone.dbms.base_protocol import Endpoint
from dbhone.errors import DriverError, UsageError
from dbhone.units import size
from dbhone.workload.drivers._dump import dump_complaint, load_command
from dbhone.workload.drivers._sysbench_command import command_line
from dbhone.workload.drivers._sysbench_output import (
    PERCENTILE,
    complaint,
    digest_of_answers,
    intervals_began,
    read_parts,
    read_summary,
)
from dbhone.workload.drivers.base import (
    INTERVAL,
    Chunk,
    DriverReport,
    DriverRequest,
    Materials,
    ServerDriver,
    StepResult,
    validated,
)
from dbhone.workload.replay_file import Half, write_half
from dbhone.workload.task import DataSet, Task
from dbhone.workload.workload_file import read_header

_SCRIPTS = Path(__file__).resolve().parents[1] / "suites"
_REPLAY_FORMAT = 2
"""Counts up when files that were written for clients must be written anew."""
_SHORTEST_WITH_INTERVALS = 3.0
_LOADERS = 2
_REFUSED = re.compile(r"refused: (\d+)\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump(DataSet):
    """A dump of the user's database, and the workload that is replayed on it.

    ``prepared`` is the folder with the files that clients read, None until they are written.
    """

    dump: Path
    workload: Path
    scripts: Path = field(repr=False)
    prepared: Path | None = field(default=None, compare=False)
    seed: int | None = None

    @property
    def label(self) -> str:
        """The dump's name and size."""
        return f"{self.dump.name} ({size(self.volume)})"

    @property
    def key(self) -> tuple[str | int, ...]:
        """The dump: where it is, how long, and when it was changed."""
        status = self.dump.stat()
        return (str(self.dump), status.st_size, status.st_mtime_ns)

    @property
    def volume(self) -> float:
        """Its size in bytes."""
        return float(max(self.dump.stat().st_size, 1))

    @property
    def loaders(self) -> int:
        """The clients that restore it."""
        return _LOADERS

    def with_materials(self, folder: Path) -> Dump:
        """Return the same data, whose clients find their files in the folder."""
        return dataclasses.replace(self, prepared=folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfOfWorkload:
    """What clients replay: one half of the workload, told apart by time."""

    half: Half


class _DataKeys(BaseModel):
    model_config = ConfigDict(extra="forbid")

    workload: Path
    dump: Path | None = None


class _JobKeys(BaseModel):
    model_config = ConfigDict(extra="forbid")

    half: Half


class Replay(ServerDriver):
    """Runs the script that replays transactions."""

    name = "replay"
    program = "sysbench"
    package = "sysbench"
    data_keys = frozenset({"dump"})

    def data_set(self, keys: Mapping[str, Any], scripts: Path, seed: int | None) -> Dump:
        """Return the dump; the keys are ``workload`` and ``dump``."""
        given = validated(_DataKeys, keys, self.name)
        if given.dump is None:
            raise UsageError(
                "a captured workload needs the data that its queries are about",
                hint='give data = "./mine.dump", made by pg_dump or mariadb-dump, in [workload]',
            )
        if not given.dump.is_file():
            raise UsageError(f"there is no dump {given.dump}")
        return Dump(dump=given.dump, workload=given.workload, scripts=scripts, seed=seed)

    def job(self, keys: Mapping[str, Any]) -> HalfOfWorkload:
        """Return the half; the key is ``half``."""
        return HalfOfWorkload(half=validated(_JobKeys, keys, self.name).half)

    def sets(self, suite: tuple[str, ...], tree: Path) -> tuple[str, ...]:
        """Return all sets: whatever the version, its clients may ask."""
        del tree
        return suite

    def materials(self, data: DataSet) -> Materials:
        """Return the files of both halves, as the script reads them."""
        own = _dump_of(data)
        status = own.workload.stat()
        what = (_REPLAY_FORMAT, str(own.workload), status.st_size, status.st_mtime_ns)

        def write(folder: Path) -> None:
            header = read_header(own.workload)
            for half in Half:
                write_half(own.workload, header, half, folder / half.value)

        return Materials(what=what, doing=f"preparing {own.workload.name} for clients", write=write)

    def argv(self, request: DriverRequest) -> tuple[str, ...]:
        """Return the command; sysbench counts in whole seconds."""
        seconds = max(1, round(request.run.seconds))
        options = {
            "time": str(seconds),
            "events": "0",
            "histogram": "on",
            "percentile": str(PERCENTILE),
        }
        if seconds >= _SHORTEST_WITH_INTERVALS:
            options["report-interval"] = str(INTERVAL)
        return self._command(request, options)

    def can_pause(self, task: Task) -> bool:
        """Return that its clients can be paused: they count what they do."""
        return task.run is not None

    def counting_argv(self, request: DriverRequest, counts: Path) -> tuple[str, ...]:
        """Return the command of a run without an end, whose events are counted in the file."""
        return self._command(request, {"time": "0", "events": "0", "counts": str(counts)})

    def _command(self, request: DriverRequest, options: Mapping[str, str]) -> tuple[str, ...]:
        run = request.run
        data, job = _dump_of(run.data), run.job
        assert isinstance(job, HalfOfWorkload), "a run of this driver replays a half"
        every = {
            "threads": str(run.threads),
            "transactions": str(_prepared(data) / job.half.value),
            "order": str(request.task.order),
        }
        script = data.scripts / "replay.lua"
        return command_line(request.program, script, request.endpoint, {**every, **options}, "run")

    def read(self, request: DriverRequest, transcript: tuple[Chunk, ...]) -> DriverReport:
        """Return the whole transactions as a step, and each part."""
        run = request.run
        text = b"".join(chunk.data for chunk in transcript).decode("utf-8", "replace")
        refused = sum(int(number) for number in _REFUSED.findall(text))
        text, parts = read_parts(_REFUSED.sub("", text), run.parts)
        summary = read_summary(text)
        whole = StepResult(
            key="",
            title=request.task.set,
            seconds=summary.seconds,
            operations=float(summary.events),
            errors=refused,
            latency=summary.latency,
            interval_rates=summary.interval_rates,
            intervals_began=intervals_began(transcript),
        )
        return DriverReport(version=None, steps=(whole, *parts), verification=None)

    def complaint(self, printed: str) -> DriverError | None:
        """Return what sysbench, or a program that restores dumps, says of its failure."""
        return dump_complaint(printed) or complaint(printed)

    def load(self, program: Path, endpoint: Endpoint, data: DataSet) -> tuple[str, ...]:
        """Return the command that restores the dump. Raises UsageError, ToolError."""
        del program
        return load_command(endpoint, _dump_of(data).dump)

    def load_scripts(self, data: DataSet) -> tuple[Path, ...]:
        """Return the scripts that settle; the dump itself is in the key of the data."""
        scripts = _dump_of(data).scripts
        return (scripts / "settle.lua", scripts / "client.lua", scripts / "tables.lua")

    def readable(self, data: DataSet) -> tuple[Path, ...]:
        """Return the scripts, the dump, and what was written for clients."""
        own = _dump_of(data)
        return (_SCRIPTS, own.dump, *((own.prepared,) if own.prepared else ()))

    def settle(self, program: Path, endpoint: Endpoint, data: DataSet) -> tuple[str, ...]:
        """Return the command that has statistics made and changed pages written."""
        return command_line(program, _dump_of(data).scripts / "settle.lua", endpoint, {}, "settle")

    def verify(self, program: Path, endpoint: Endpoint, data: DataSet) -> tuple[str, ...]:
        """Return the command that replays the beginning and prints checksums of the answers."""
        own = _dump_of(data)
        options = {"transactions": str(_prepared(own) / Half.EARLIER.value)}
        return command_line(program, own.scripts / "verify.lua", endpoint, options, "verify")

    def verification(self, printed: str) -> str:
        """Return the digest of the answers; raise DriverError for what is none."""
        return digest_of_answers(printed)


def _dump_of(data: DataSet) -> Dump:
    assert isinstance(data, Dump), "this driver restores a dump"
    return data


def _prepared(data: Dump) -> Path:
    assert data.prepared is not None, "the clients' files are written before clients start"
    return data.prepared


PLUGIN = Replay()
