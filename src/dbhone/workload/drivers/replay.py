"""Replays a captured workload: sysbench's clients with a script of ours, on the user's own data.

sysbench gives threads, time and figures. The script (``suites/replay/scripts``) executes the
statements by the client library itself.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbhone.dbms.base_protocol import Endpoint
from dbhone.errors import DriverError, UsageError
from dbhone.instance.data_in_use import check_unused
from dbhone.units import size
from dbhone.untrusted_files import walk
from dbhone.workload.drivers._refusals import REFUSAL, refusals_in_words
from dbhone.workload.drivers._sysbench_command import command_line, with_used
from dbhone.workload.drivers._sysbench_output import error_in_output
from dbhone.workload.drivers.base import (
    DriverRequest,
    Keys,
    Materials,
    ServerDriver,
    validated,
)
from dbhone.workload.dumps.base import Dumps, error_of_dump, load_dumps
from dbhone.workload.replay_file import Half, parts_of, write_half
from dbhone.workload.task import DataFolder, DataSet, Task
from dbhone.workload.workload_file import read_header

_SCRIPTS = Path(__file__).resolve().parents[1] / "suites"
_REPLAY = "replay.lua"
_REPLAY_FORMAT = 5
"""Counts up when files that were written for clients must be written again."""
_LOADERS = 2
_SYSTEM_DATABASES = frozenset({"information_schema", "mysql", "performance_schema", "sys"})
_DIRECTORY_DUMP = "toc.dat"
"""What pg_dump's directory format has in its folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsersData(DataSet):
    """The user's database, and the workload that is replayed on it.

    ``source`` is a dump of the database, or a copy of the server's data directory, in which case
    the ``database`` is named. ``prepared`` is the folder with the files that clients read, None
    until they are written.
    """

    source: Path
    workload: Path
    scripts: Path = field(repr=False)
    database: str | None = None
    prepared: Path | None = field(default=None, compare=False)
    seed: int | None = None

    @property
    def data_folder(self) -> DataFolder | None:
        """The data directory, None for a dump."""
        if self.database is None:
            return None
        return DataFolder(path=self.source, database=self.database)

    @property
    def asked_database(self) -> str | None:
        """That of a data directory, or of a dump of MySQL or MariaDB.

        Statements may name the database. So it has its own name if the dump says that, else the
        name of the one that most queries ask. A database of PostgreSQL sees no other, whatever its
        name is.
        """
        if self.database is not None:
            return self.database
        protocol, usual = _protocol_and_usual_database(self.workload)
        if protocol != "mysql":
            return None
        own = self.dumps.database(self.source)
        return own or (None if usual in _SYSTEM_DATABASES else usual)

    @property
    def other_locale(self) -> str | None:
        """That of a dumped database of PostgreSQL."""
        return None if self.data_folder else self.dumps.other_locale(self.source)

    @property
    def dumps(self) -> Dumps:
        """What is known of dumps of servers that speak the workload's protocol."""
        return load_dumps(_protocol_and_usual_database(self.workload)[0])

    @property
    def label(self) -> str:
        """The name and the size."""
        return f"{self.source.name} ({size(self.volume)})"

    @property
    def key(self) -> tuple[str | int, ...]:
        """Where it is, how long, and when it was changed."""
        files = [path.lstat() for path in self._files]
        changed = max(status.st_mtime_ns for status in files)
        name = () if self.asked_database is None else (self.asked_database,)
        count = () if self.database is None else (len(files),)
        return (str(self.source), sum(status.st_size for status in files), changed, *name, *count)

    @property
    def volume(self) -> float:
        """Its size in bytes."""
        return float(max(sum(path.lstat().st_size for path in self._files), 1))

    @property
    def least_bytes(self) -> int:
        """The size of a dump or of a data directory."""
        return int(self.volume)

    @property
    def _files(self) -> tuple[Path, ...]:
        if self.database is None:
            return (self.source,)
        return tuple(folder / name for folder, _, names in walk(self.source) for name in names)

    @property
    def loaders(self) -> int:
        """The clients that restore it."""
        return _LOADERS

    def with_materials(self, folder: Path) -> UsersData:
        """Return the same data, whose clients find their files in the folder."""
        return dataclasses.replace(self, prepared=folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfOfWorkload:
    """What clients replay: one half of the workload, told apart by time.

    With a ``part`` these are the statements of one kind, by its number, and what begins and ends
    the transactions that have any. ``backwards`` clients begin where the others would end.
    """

    half: Half
    part: int | None = None
    backwards: bool = False


class _DataKeys(Keys):
    workload: Path
    dump: Path | None = None
    folder: Path | None = None
    database: str | None = None


class _JobKeys(Keys):
    half: Half
    part: int | None = None
    backwards: bool = False


class Replay(ServerDriver):
    """Runs the script that replays transactions."""

    name = "replay"
    program = "sysbench"
    package = "sysbench"
    data_keys = frozenset({"dump", "folder", "database"})

    def data_set(self, keys: Mapping[str, Any], scripts: Path, seed: int | None) -> UsersData:
        """Return the user's data; the keys are ``workload``, and ``dump`` or ``folder``.

        With a ``folder`` goes the ``database`` in it, usually that of most queries.
        """
        given = validated(_DataKeys, keys, self.name)
        if given.dump and (given.folder or given.database):
            raise UsageError("a dump is given alone: it is of one database")
        if given.dump is not None:
            source, database = given.dump, None
            _check_dump(source)
        elif given.folder is not None:
            source = given.folder
            database = given.database or _usual_database_for(given.workload, source)
            _check_folder(source)
        else:
            raise UsageError(
                "a captured workload needs the data that its queries are about",
                hint="name a dump by pg_dump or mariadb-dump: --data mine.dump, or"
                ' data = "./mine.dump" beside the suite',
            )
        return UsersData(
            source=source, database=database, workload=given.workload, scripts=scripts, seed=seed
        )

    def job(self, keys: Mapping[str, Any]) -> HalfOfWorkload:
        """Return what clients replay; the keys are named as in HalfOfWorkload."""
        given = validated(_JobKeys, keys, self.name)
        return HalfOfWorkload(half=given.half, part=given.part, backwards=given.backwards)

    def materials(self, data: DataSet) -> Materials:
        """Return the files of both halves, as the script reads them."""
        own = _users(data)
        status = own.workload.stat()
        what = (_REPLAY_FORMAT, str(own.workload), status.st_size, status.st_mtime_ns)

        def write(folder: Path) -> None:
            header = read_header(own.workload)
            for half in Half:
                write_half(own.workload, header, half, folder / half.value)

        return Materials(what=what, doing=f"preparing {own.workload.name} for clients", write=write)

    def can_pause(self, task: Task) -> bool:
        """Return that its clients can be paused: they count what they do."""
        return task.run is not None

    def distinct_events(self, task: Task) -> int | None:
        """Return the transactions of its half; of one kind of statement, how many can have any.

        In the earlier half only half of them: it warms servers up by what lies at the other end.
        """
        assert task.run is not None, "a task of this driver has a server"
        header, job = read_header(_users(task.run.data).workload), task.run.job
        assert isinstance(job, HalfOfWorkload), "a run of this driver replays a half"
        share = 4 if job.half is Half.EARLIER else 2
        if job.part is None:
            return header.transactions // share
        templates = zip(header.templates, parts_of(header)[1], strict=True)
        executions = sum(template.executions for template, part in templates if part == job.part)
        return min(header.transactions, executions) // share

    def counting_argv(self, request: DriverRequest, counts: Path) -> tuple[str, ...]:
        """Return the command of a run without an end, whose events are counted in the file."""
        run = request.run
        data, job = _users(run.data), run.job
        assert isinstance(job, HalfOfWorkload), "a run of this driver replays a half"
        options = {
            "threads": str(run.threads),
            "transactions": str(_prepared(data) / job.half.value),
            "order": str(request.task.order),
            **({} if job.part is None else {"part": str(job.part)}),
            **({"backwards": "on"} if job.backwards else {}),
            "time": "0",
            "events": "0",
            "counts": str(counts),
            "parts": str(len(run.parts)),
        }
        script = data.scripts / _REPLAY
        return command_line(request.program, script, request.endpoint, options, "run")

    def error_in_output(self, printed: str) -> DriverError | None:
        """Return what sysbench, or a program that restores dumps, says of its failure."""
        return error_of_dump(printed) or error_in_output(printed)

    def load(self, program: Path, endpoint: Endpoint, data: DataSet) -> tuple[str, ...]:
        """Return the command that restores the dump. Raises UsageError, ToolError."""
        del program
        own = _users(data)
        return own.dumps.load_command(endpoint, own.source, own.asked_database)

    def statements_before(self, data: DataSet) -> tuple[str, ...]:
        """Return what makes the roles, accounts and the database that the dump takes for granted.

        Raises UsageError.
        """
        own = _users(data)
        return own.dumps.statements_before(own.source, own.asked_database)

    def load_input(self, data: DataSet) -> Path:
        """Return the dump."""
        return _users(data).source

    def load_scripts(self, data: DataSet) -> tuple[Path, ...]:
        """Return the scripts that settle; the dump itself is in the key of the data."""
        return with_used(_users(data).scripts / "settle.lua")

    def run_scripts(self, task: Task) -> tuple[Path, ...]:
        """Return the workload, and the scripts that replay it."""
        assert task.run is not None, "a task of this driver has a server"
        own = _users(task.run.data)
        return (own.workload, *with_used(own.scripts / _REPLAY))

    def readable(self, data: DataSet) -> tuple[Path, ...]:
        """Return the scripts, and what was written for clients."""
        own = _users(data)
        return (_SCRIPTS, *((own.prepared,) if own.prepared else ()))

    def finish_background_work(
        self, program: Path, endpoint: Endpoint, data: DataSet
    ) -> tuple[str, ...]:
        """Return the command that has statistics made and changed pages written."""
        return command_line(program, _users(data).scripts / "settle.lua", endpoint, {}, "settle")

    def verify(self, program: Path, endpoint: Endpoint, data: DataSet) -> tuple[str, ...]:
        """Return the command that replays the beginning and prints checksums of the answers."""
        own = _users(data)
        options = {"transactions": str(_prepared(own) / Half.EARLIER.value)}
        return command_line(program, own.scripts / "verify.lua", endpoint, options, "verify")

    def answers(self, printed: str) -> dict[str, str]:
        """Return the digest of each printed answer; an error is one, too."""
        return super().answers(REFUSAL.sub("", printed))

    def refusals(self, printed: str, data: DataSet) -> str | None:
        """Return which statements failed that did not in the original."""
        return refusals_in_words(printed, read_header(_users(data).workload).templates)


def _check_dump(dump: Path) -> None:
    if dump.is_dir():
        _check_no_dump(dump)
        raise UsageError(
            f"{dump} is a folder, not a dump",
            hint=f'of a data directory: data = {{ folder = "{dump}" }}',
        )
    if not dump.exists():
        raise UsageError(f"there is no dump {dump}")


def _check_no_dump(folder: Path) -> None:
    """Raise UsageError for a folder that pg_dump has made."""
    if (folder / _DIRECTORY_DUMP).is_file():
        raise UsageError(
            f"{folder} is a dump in pg_dump's directory format, which hone cannot restore",
            hint=f"pg_restore -f {folder.name}.sql {folder} makes SQL of it; pg_dump -Fc is taken",
        )


def _check_folder(folder: Path) -> None:
    """Raise UsageError for what is no folder, is empty, cannot be read, or is in use."""
    if not folder.exists():
        raise UsageError(f"there is no folder {folder}")
    if not folder.is_dir():
        raise UsageError(
            f"{folder} is a file, not a data directory", hint=f'of a dump: data = "{folder}"'
        )
    _check_no_dump(folder)
    try:
        if not [name for _, _, names in walk(folder) for name in names]:
            raise UsageError(f"there is nothing in the folder {folder}")
    except OSError as error:
        raise UsageError(
            f"cannot read {error.filename or folder}: {error.strerror}",
            hint="copy the data directory, and own the copy: the server must not use it meanwhile",
        ) from error
    check_unused(folder)


def _usual_database_for(workload: Path, folder: Path) -> str:
    """Return the database that most queries ask. Raises UsageError if the log names none."""
    _, database = _protocol_and_usual_database(workload)
    if database is None:
        raise UsageError(
            "the log does not say which database the queries ask",
            hint=f'data = {{ folder = "{folder}", database = "shop" }}',
        )
    return database


def _protocol_and_usual_database(workload: Path) -> tuple[str, str | None]:
    """Return the protocol, and the database that most queries ask, None if the log names none."""
    return _read_once(workload, workload.stat().st_mtime_ns)


@functools.cache
def _read_once(workload: Path, changed: int) -> tuple[str, str | None]:
    del changed
    header = read_header(workload)
    databases = header.databases
    return header.protocol, max(databases, key=lambda name: databases[name], default=None)


def _users(data: DataSet) -> UsersData:
    assert isinstance(data, UsersData), "this driver has a user's data"
    return data


def _prepared(data: UsersData) -> Path:
    assert data.prepared is not None, "the clients' files are written before clients start"
    return data.prepared


PLUGIN = Replay()
