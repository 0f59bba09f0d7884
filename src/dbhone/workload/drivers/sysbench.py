"""sysbench, which drives servers of MySQL's family and PostgreSQL with scripts in Lua.

The scripts are dbhone's own (``workload/suites/sysbench/scripts``) and use what sysbench 1.0
and 1.1 offer to a script, not the OLTP scripts that come with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import Field

from dbhone.dbms.base_protocol import Endpoint
from dbhone.errors import DriverError
from dbhone.workload.drivers._sysbench_command import command_line, figures, with_used
from dbhone.workload.drivers._sysbench_output import (
    Summary,
    error_in_output,
    read_summary,
)
from dbhone.workload.drivers.base import (
    Chunk,
    DriverReport,
    DriverRequest,
    Keys,
    Latency,
    ServerDriver,
    StepResult,
    text_of,
    validated,
)
from dbhone.workload.task import ClientRun, DataSet, Task

_SUITES = Path(__file__).resolve().parents[1] / "suites"
_SHARED = _SUITES / "sysbench" / "scripts"
_SETTLE = _SHARED / "settle.lua"
_STATEMENTS = _SHARED / "statements.lua"
_SQL = ".sql"
_STEP = re.compile(r"^common\.step\(", re.MULTILINE)
_RANDOM = {"rand-type": "uniform"}
_LOADERS = 8


class Statements(StrEnum):
    """How clients send statements that a script prepares; sysbench calls it db-ps-mode."""

    PREPARED = "prepared"
    TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables(DataSet):
    """``tables`` tables with ``rows`` rows in each, loaded by the scripts in a folder.

    ``statements`` says how clients send what a script prepares.
    """

    tables: int
    rows: int
    statements: Statements = field(default=Statements.PREPARED, compare=False)
    scripts: Path = field(default=_SHARED, repr=False)
    seed: int | None = None

    @property
    def label(self) -> str:
        """Tables times rows, and that statements are text."""
        as_text = ", statements as text" if self.statements is Statements.TEXT else ""
        return f"{self.tables} × {self.rows:,} rows{as_text}"

    @property
    def key(self) -> tuple[str | int, ...]:
        """Tables and rows."""
        return (self.tables, self.rows)

    @property
    def volume(self) -> float:
        """All rows."""
        return float(self.tables * self.rows)

    @property
    def loaders(self) -> int:
        """A client for each table, as far as there are enough."""
        return min(self.tables, _LOADERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A script that clients run, with its options without the dashes."""

    name: str
    options: tuple[tuple[str, str], ...] = ()


_LOAD, _VERIFY = Script(name="load"), Script(name="verify")


class _TableKeys(Keys):
    tables: int = Field(default=1, ge=1)
    rows: int = Field(ge=100)
    statements: Statements = Statements.PREPARED


class _ScriptKeys(Keys):
    script: str = Field(pattern=r"^[\w-]+(\.lua|\.sql)?$")
    options: dict[str, str] = Field(default={})


class Sysbench(ServerDriver):
    """Runs one script for a number of seconds, or a command that is not measured."""

    name = "sysbench"
    program = "sysbench"
    package = "sysbench"
    data_keys = frozenset({"tables", "rows", "statements"})

    def data_set(self, keys: Mapping[str, Any], scripts: Path, seed: int | None) -> Tables:
        """Return the tables; the keys are ``tables``, ``rows`` and ``statements``."""
        size = validated(_TableKeys, keys, "sysbench")
        return Tables(
            tables=size.tables,
            rows=size.rows,
            statements=size.statements,
            scripts=scripts,
            seed=seed,
        )

    def job(self, keys: Mapping[str, Any]) -> Script:
        """Return the script; the keys are ``script`` and ``options``."""
        declared = validated(_ScriptKeys, keys, "sysbench")
        return Script(name=declared.script, options=tuple(declared.options.items()))

    def argv(self, request: DriverRequest) -> tuple[str, ...]:
        """Return the command. sysbench counts in whole seconds: a slice has at least one.

        A run of a fixed number of events has all the time that it takes.
        """
        run = request.run
        seconds = max(1, round(run.seconds)) if run.events is None else 0
        options = {"time": str(seconds), "events": str(run.events or 0), **_RANDOM}
        return _run_command(request, options | figures(seconds))

    def can_pause(self, task: Task) -> bool:
        """Return whether it is run for a time, and its script is a step of ``common.lua``."""
        run = task.run
        if run is None:
            return False
        path, _ = _script(_job_of(run), _tables_of(run.data))
        script = path.read_text(encoding="utf-8")
        return run.events is None and _STEP.search(script) is not None

    def counting_argv(self, request: DriverRequest, counts: Path) -> tuple[str, ...]:
        """Return the command of a run without an end, whose events are counted in the file."""
        return _run_command(request, {"time": "0", "events": "0", **_RANDOM, "counts": str(counts)})

    def read(self, request: DriverRequest, transcript: tuple[Chunk, ...]) -> DriverReport:
        """Return the only step: a transaction of the script is an operation.

        Where a script says how many operations its one event was, the step is that event.
        """
        run = request.run
        summary = read_summary(text_of(transcript))
        if run.events == 1:
            return DriverReport(version=None, steps=(_whole(request, summary),), verification=None)
        if run.events is None and summary.seconds < round(run.seconds) * 0.9:
            raise DriverError(
                f"sysbench ended after {summary.seconds:g} s, before its"
                f" {run.seconds:g} s were over"
            )
        step = summary.step(request.task.set, transcript)
        return DriverReport(version=None, steps=(step,), verification=None)

    def error_in_output(self, printed: str) -> DriverError | None:
        """Return the line of its output that says why it failed, and what to do."""
        return error_in_output(printed)

    def load(self, program: Path, endpoint: Endpoint, data: DataSet) -> tuple[str, ...]:
        """Return the command that makes the tables, several at once."""
        tables = _tables_of(data)
        script, options = _script(_LOAD, tables)
        threads = str(1 if script == _STATEMENTS else tables.loaders)
        options |= {**_table_options(tables), "threads": threads}
        return command_line(program, script, endpoint, options, "prepare")

    def load_scripts(self, data: DataSet) -> tuple[Path, ...]:
        """Return the scripts that load and settle, and those that they use."""
        return _with_statements(_file(_LOAD.name, _tables_of(data)), _SETTLE)

    def run_scripts(self, task: Task) -> tuple[Path, ...]:
        """Return the script of the task, and those that it uses."""
        assert task.run is not None
        return _with_statements(_file(_job_of(task.run).name, _tables_of(task.run.data)))

    def readable(self, data: DataSet) -> tuple[Path, ...]:
        """Return the scripts, of which those of a suite use those of others."""
        return (_SUITES, _tables_of(data).scripts)

    def finish_background_work(
        self, program: Path, endpoint: Endpoint, data: DataSet
    ) -> tuple[str, ...]:
        """Return the command that has statistics made and changed pages written."""
        del data
        return command_line(program, _SETTLE, endpoint, {}, "settle")

    def verify(self, program: Path, endpoint: Endpoint, data: DataSet) -> tuple[str, ...]:
        """Return the command that prints known answers; it changes the tables."""
        tables = _tables_of(data)
        script, options = _script(_VERIFY, tables)
        options |= _table_options(tables)
        return command_line(program, script, endpoint, options, "verify")


def _whole(request: DriverRequest, summary: Summary) -> StepResult:
    """Return the step that is one event, as long as that took and with what it did.

    The histogram would round the seconds, and the total time has what comes after the event.
    """
    if summary.events != 1 or not summary.busy:
        raise DriverError(f"sysbench timed {summary.events} events, where one was asked for")
    if summary.operations == 0:
        raise DriverError(f"{request.task.set} did nothing: it was given no rows")
    took = summary.busy
    return StepResult(
        key="",
        title=request.task.set,
        seconds=took,
        operations=float(summary.operations or summary.events),
        errors=summary.errors,
        latency=Latency(p50=took, p95=took, p99=took),
    )


def _job_of(run: ClientRun) -> Script:
    assert isinstance(run.job, Script), "a run of sysbench has a script"
    return run.job


def _tables_of(data: DataSet) -> Tables:
    assert isinstance(data, Tables), "sysbench loads tables"
    return data


def _run_command(request: DriverRequest, options: dict[str, str]) -> tuple[str, ...]:
    run = request.run
    script, own = _script(_job_of(run), _tables_of(run.data))
    usual = {**_table_options(_tables_of(run.data)), "threads": str(run.threads)}
    if run.parts:
        usual["parts"] = ",".join(run.parts)
    if _tables_of(run.data).statements is Statements.TEXT:
        usual["db-ps-mode"] = "disable"
    # What a set says replaces what every set has.
    options = usual | options | own
    return command_line(request.program, script, request.endpoint, options, "run")


def _table_options(tables: Tables) -> dict[str, str]:
    seed = {} if tables.seed is None else {"data-seed": str(tables.seed)}
    return {"tables": str(tables.tables), "table-size": str(tables.rows), **seed}


def _file(name: str, tables: Tables) -> Path:
    """Return the file of a script: SQL or Lua, the suite's own or else one of sysbench:micro."""
    names = (name,) if name.endswith((_SQL, ".lua")) else (f"{name}.lua", f"{name}{_SQL}")
    paths = [folder / file for folder in (tables.scripts, _SHARED) for file in names]
    return next((path for path in paths if path.is_file()), paths[0])


def _script(job: Script, tables: Tables) -> tuple[Path, dict[str, str]]:
    """Return the script that sysbench starts, and what a set tells it.

    A file of SQL is executed by a script of hone's, which gets what the set says as values.
    """
    path = _file(job.name, tables)
    if path.suffix != _SQL:
        return path, dict(job.options)
    values = "\n".join(f"{name}={value}" for name, value in job.options)
    return _STATEMENTS, {"file": str(path), "values": values}


def _with_statements(*scripts: Path) -> tuple[Path, ...]:
    """Return scripts, those that they use, and what executes SQL if one is a file of it."""
    executes = (_STATEMENTS,) if any(script.suffix == _SQL for script in scripts) else ()
    return with_used(*scripts, *executes)


PLUGIN = Sysbench()
