"""PostgreSQL's own pgbench: its built-in scripts, or one of the user's.

It is the distribution's newest, the same for all subjects. Its clients cannot be paused: it counts
paused time as its own, and tells what it did at the end only.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from dbhone.dbms.base_protocol import Endpoint
from dbhone.errors import DriverError
from dbhone.requirements import InstallationSetting, Requirement, RequirementKind
from dbhone.workload.client_programs import distributed_program
from dbhone.workload.drivers._sysbench_output import intervals_began
from dbhone.workload.drivers.base import (
    INTERVAL,
    SHORTEST_WITH_INTERVALS,
    Chunk,
    DriverReport,
    DriverRequest,
    Keys,
    ServerDriver,
    StepResult,
    part_results,
    text_of,
    validated,
)
from dbhone.workload.task import ClientRun, DataSet, Task

_WRAPPER = "pg_wrapper"
"""Debian's, which is there without pgbench, and asks for clusters."""
_DISTRIBUTED = "usr/lib/postgresql/*/bin/pgbench"
_NO_CLUSTER = InstallationSetting(
    path="/etc/postgresql-common/createcluster.d/dbhone.conf", line="create_main_cluster = false"
)
"""Its package makes a server otherwise, which would run beside what is measured."""
_ACCOUNTS = 100_000
_TOLERANCE = 0.02
_HALF_DIGIT = 0.0005
"""How far a mean latency in milliseconds may be from the truth: pgbench prints three decimals."""
_PRECISION = 0.002
"""As a share of a mean latency, how well it must be known for its script to be measured by it."""
_OWN = "own"
"""The name of the user's script in a set."""

_PROGRESS = re.compile(r"^progress: \d+\.\d s, (\d+\.\d) tps, lat ", re.MULTILINE)
_PROCESSED = re.compile(r"^number of transactions actually processed: (\d{1,15})$", re.MULTILINE)
_FAILED = re.compile(r"^number of failed transactions: (\d{1,15}) \(", re.MULTILINE)
_SECONDS = re.compile(r"^duration: (\d{1,9}) s$", re.MULTILINE)
_RATE = re.compile(
    r"^tps = (\d+\.\d+) \((?:without initial connection time"
    r"|excluding connections establishing)\)$",
    re.MULTILINE,
)
_SCRIPT = re.compile(r"^SQL script \d+: ", re.MULTILINE)
_OF_SCRIPT = re.compile(r"^ - (\d{1,15}) transactions \(", re.MULTILINE)
_LATENCY = re.compile(r"^ - latency average = (\d+\.\d+) ms$", re.MULTILINE)
_ERROR = re.compile(r"^(?:pgbench|psql)(?::[^\n:]*)*: (?:error|fatal|ERROR|FATAL): +(.*)$", re.M)
_FIRST = re.compile(rb"^progress: \d", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts(DataSet):
    """pgbench's tables at a scale. ``script`` is the user's, which clients read."""

    scale: int
    folder: Path = field(repr=False)
    script: Path | None = field(default=None, compare=False)
    seed: int | None = None

    @property
    def label(self) -> str:
        """The scale, and what it stands for."""
        return f"scale {self.scale:,} ({self.scale * _ACCOUNTS:,} accounts)"

    @property
    def key(self) -> tuple[str | int, ...]:
        """The scale."""
        return (self.scale,)

    @property
    def volume(self) -> float:
        """The scale."""
        return float(self.scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripts:
    """The scripts that clients choose from, with their weights, and how they send statements."""

    words: tuple[str, ...]
    protocol: str

    @property
    def most_frequent(self) -> int:
        """The place of the script with the greatest weight, of several the first."""
        weights = [float(word.partition("@")[2] or 1) for word in self.words]
        return weights.index(max(weights))


class _DataKeys(Keys):
    scale: int = Field(ge=1, le=20_000)
    script: Path | None = None


class _JobKeys(Keys):
    script: str
    protocol: Literal["simple", "extended", "prepared"] = "simple"


class Pgbench(ServerDriver):
    """Runs scripts for a number of seconds."""

    name = "pgbench"
    program = "pgbench"
    package = "postgresql"
    data_keys = frozenset({"scale"})

    def installed(self) -> str | None:
        """Return the distribution's newest, or the one that PATH leads to."""
        return distributed_program(self.program) or (None if _is_wrapped() else super().installed())

    @property
    def requirement(self) -> Requirement:
        """The program, which may be missing where the wrapper is there."""
        wrapped = _is_wrapped()
        return Requirement(
            name=_DISTRIBUTED if wrapped else self.program,
            package=self.package,
            kind=RequirementKind.FILE if wrapped else RequirementKind.PROGRAM,
            setting=_NO_CLUSTER,
        )

    def data_set(self, keys: Mapping[str, Any], scripts: Path, seed: int | None) -> Accounts:
        """Return the tables; the keys are ``scale``, and ``script`` for the user's own."""
        given = validated(_DataKeys, keys, self.name)
        return Accounts(scale=given.scale, folder=scripts, script=given.script, seed=seed)

    def job(self, keys: Mapping[str, Any]) -> Scripts:
        """Return the scripts; the keys are ``script``, NAME or NAME@WEIGHT …, and ``protocol``."""
        given = validated(_JobKeys, keys, self.name)
        return Scripts(words=tuple(given.script.split()), protocol=given.protocol)

    def argv(self, request: DriverRequest) -> tuple[str, ...]:
        """Return the command; pgbench counts in whole seconds."""
        run = request.run
        data, job = _accounts_of(run.data), run.job
        assert isinstance(job, Scripts), "a run of pgbench has scripts"
        seconds = max(1, round(run.seconds))
        words = ["--no-vacuum", f"--client={run.threads}", f"--jobs={run.threads}"]
        words += [f"--time={seconds}", f"--protocol={job.protocol}"]
        if seconds >= SHORTEST_WITH_INTERVALS:
            words.append(f"--progress={INTERVAL}")
        for script in job.words:
            words += (
                [f"--file={data.script}", f"--define=scale={data.scale}"]
                if script == _OWN
                else [f"--builtin={script}"]
            )
        return (str(request.program), *words, *_reach(request.endpoint))

    def read(self, request: DriverRequest, transcript: tuple[Chunk, ...]) -> DriverReport:
        """Return all transactions as a step, and the scripts as its parts.

        The times that pgbench tells are means: there are no percentiles.
        """
        run = request.run
        text = text_of(transcript)
        failure = self.error_in_output(text)
        if failure is not None:
            raise failure
        whole, *scripts = _SCRIPT.split(text)
        processed = int(_only(_PROCESSED, whole))
        rate = float(_only(_RATE, whole))
        if processed == 0 or rate == 0:
            raise DriverError(
                "not one transaction ended in the slice: it is too short for this script",
                hint="give the slices more seconds",
            )
        seconds, wanted = processed / rate, int(_only(_SECONDS, whole))
        if wanted != max(1, round(run.seconds)) or seconds < wanted * (1 - _TOLERANCE):
            raise DriverError(f"pgbench contradicts itself: {processed} transactions, {rate} tps")
        counts = [int(_only(_OF_SCRIPT, script)) for script in scripts]
        # Its threads add to a script's counts without a lock: some are lost (processXactStats).
        missing = abs(processed - sum(counts)) if counts else 0
        if len(counts) != len(run.parts) or missing > 1 + _TOLERANCE * processed:
            raise DriverError("pgbench contradicts itself: its scripts have other transactions")
        failed = _FAILED.search(whole)
        step = StepResult(
            key="",
            title=request.task.set,
            seconds=seconds,
            operations=float(processed),
            errors=int(failed[1]) if failed else 0,
            interval_rates=tuple(float(tps) for tps in _PROGRESS.findall(whole)),
            intervals_began=intervals_began(transcript, _FIRST),
        )
        told = [
            (count, float(_only(_LATENCY, script)) if count else 0.0)
            for count, script in zip(counts, scripts, strict=True)
        ]
        figures = _figures_of_scripts(run, processed, seconds, told)
        parts = part_results(run.parts, figures)
        return DriverReport(version=None, steps=(step, *parts), verification=None)

    def error_in_output(self, printed: str) -> DriverError | None:
        """Return the first error that pgbench or psql tells, None if there is none."""
        found = _ERROR.search(printed)
        return None if found is None else DriverError(f"pgbench failed: {found[1][:300]}")

    def load(self, program: Path, endpoint: Endpoint, data: DataSet) -> tuple[str, ...]:
        """Return the command that makes and fills the tables."""
        scale = f"--scale={_accounts_of(data).scale}"
        return (str(program), "--initialize", "--quiet", scale, *_reach(endpoint))

    def load_scripts(self, data: DataSet) -> tuple[Path, ...]:
        """Return the script that settles; pgbench itself loads."""
        return (_accounts_of(data).folder / "settle.sql",)

    def run_scripts(self, task: Task) -> tuple[Path, ...]:
        """Return the user's script, if there is one: the others are the program's."""
        assert task.run is not None
        own = _accounts_of(task.run.data).script
        return () if own is None else (own,)

    def readable(self, data: DataSet) -> tuple[Path, ...]:
        """Return the scripts."""
        own = _accounts_of(data)
        return (own.folder, *((own.script,) if own.script else ()))

    def finish_background_work(
        self, program: Path, endpoint: Endpoint, data: DataSet
    ) -> tuple[str, ...]:
        """Return the command that has statistics made and changed pages written."""
        script = f"--file={_accounts_of(data).folder / 'settle.sql'}"
        return (str(program), "--no-vacuum", "--transactions=1", script, *_reach(endpoint))

    def verify(self, program: Path, endpoint: Endpoint, data: DataSet) -> tuple[str, ...]:
        """Return psql, which lies beside pgbench, with a script that prints known answers."""
        options = ("-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1")
        script = _accounts_of(data).folder / "verify.sql"
        return (str(program.with_name("psql")), *options, "-f", str(script), *_reach(endpoint))


def _is_wrapped() -> bool:
    """Return whether PATH leads to Debian's wrapper."""
    return Path(shutil.which("pgbench") or "").resolve().name == _WRAPPER


def _only(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.findall(text)
    if len(found) != 1:
        times = f"{len(found)} times" if found else "never"
        raise DriverError(f"pgbench printed {times} what it prints once: {pattern.pattern}")
    return str(found[0])


def _figures_of_scripts(
    run: ClientRun, processed: int, seconds: float, told: Sequence[tuple[int, float]]
) -> Iterator[tuple[float, float, float]]:
    """Yield the transactions of each script, the clients' seconds that they took, and 0 failed.

    ``told`` has each script's transactions and their mean latency in milliseconds. Of the most
    frequent script that is often too coarse, so it has what the others leave of all clients' time.
    Another script whose latency is too coarse has no seconds, so that it is no part.
    """
    assert isinstance(run.job, Scripts), "a run of pgbench has scripts"
    most = run.job.most_frequent
    own = [count * latency / 1000 for count, latency in told]
    for at, (count, latency) in enumerate(told):
        if at == most:
            others = sum(number for number, _ in told) - count
            left = run.threads * seconds - (sum(own) - own[at])
            yield float(processed - others), max(left, 0.0), 0.0
        else:
            known = latency * _PRECISION >= _HALF_DIGIT
            yield float(count), own[at] if known else 0.0, 0.0


def _accounts_of(data: DataSet) -> Accounts:
    assert isinstance(data, Accounts), "pgbench loads its own tables"
    return data


def _reach(endpoint: Endpoint) -> tuple[str, ...]:
    """Return how the socket of a server is reached, and its database."""
    place = ("-h", str(endpoint.socket.parent), "-p", str(endpoint.port))
    return (*place, "-U", endpoint.user, endpoint.database)


PLUGIN = Pgbench()
