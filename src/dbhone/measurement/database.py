"""Opens the database of the store, and says in words what is wrong with it."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from dbhone.errors import HoneError, StoreBusyError, StoreError, disk_full
from dbhone.home import check_local
from dbhone.measurement.tables import SCHEMA, make_tables

if TYPE_CHECKING:
    from alembic.config import Config

_PATIENCE = 30.0
"""How long to wait for another process that writes, in seconds."""
_DURABLE = "synchronous = FULL"
"""With this pragma, a commit survives the loss of power."""
_VERSIONS = sa.table("alembic_version", sa.column("version_num", sa.String))


class Database:
    """An open database whose tables are those of ``tables.py``."""

    def __init__(self, path: Path, *, writable: bool = True) -> None:
        self.path = path.absolute()
        if writable:
            self._engine = _engine(_url(path), _DURABLE, "foreign_keys = ON")
        else:  # should the file's mode ever be lost, nothing is written either
            self._engine = _engine(_url_to_read(path), "query_only = ON", wal=False)
        self._writer = self._engine.execution_options(hone_writes=True)

    @contextlib.contextmanager
    def reading(self, doing: str) -> Iterator[sa.Connection]:
        """Give a transaction that sees one state of the database.

        ``doing`` says in a message what was being done ("reading run 3").
        """
        with (
            reporting_errors(self.path, doing),
            _reporting_wrong_values(self.path, doing),
            self._engine.begin() as connection,
        ):
            yield connection

    @contextlib.contextmanager
    def writing(self, doing: str) -> Iterator[sa.Connection]:
        """Give a transaction that may write: all of it is on the disk at the end, or nothing."""
        with reporting_errors(self.path, doing), self._writer.begin() as connection:
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


def open_database(path: Path) -> Database:
    """Open the database in a file, making it or bringing its tables up to date if need be.

    Two processes may do so at once: one of them migrates, the other waits. On a disk that is
    mounted read-only it is opened to be read. Raises StoreError if it cannot be opened, is damaged,
    belongs to another program, or to a newer hone, and MachineError on a network file system.
    """
    if _is_read_only(path):
        return open_to_read(path)
    check_local(path)
    database = Database(path)
    try:
        with database.reading("opening it") as connection:
            version = _version(connection, database.path)
        if version != SCHEMA:
            _migrate(database.path)
    except BaseException:
        database.close()
        raise
    return database


def open_to_read(path: Path) -> Database:
    """Open the database in a file so that nothing can be written to it; others may meanwhile.

    Beside the file SQLite keeps what its readers share with a writer. Raises StoreError if there
    is no such file, or nothing in it yet; if its tables are not those that this hone knows; and
    as ``open_database`` does.
    """
    if not path.is_file():
        raise _nothing(path)
    if _is_read_only(path):
        _check_merged(path)
    else:
        check_local(path)
    database = Database(path, writable=False)
    try:
        with database.reading("opening it") as connection:
            version = _version(connection, database.path)
        if version is None:
            raise _nothing(path)
        if version != SCHEMA:
            _check_known(version, database.path)
            raise StoreError(
                f"the store {path} was written by an older hone (its tables are of revision"
                f" {version}, this hone's are of {SCHEMA}), and it is opened only to be read",
                hint="'hone runs' brings it up to date",
            )
    except BaseException:
        database.close()
        raise
    return database


def _is_read_only(path: Path) -> bool:
    """Return whether a file is there, on a disk that is mounted read-only."""
    with contextlib.suppress(OSError):
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    return False


def _check_merged(path: Path) -> None:
    """Raise StoreError if a file on a read-only disk lacks what was written to it last."""
    log = path.with_name(f"{path.name}-wal")
    if log.is_file() and log.stat().st_size > 0:
        raise StoreError(
            f"the store {path} lacks what is in {log.name}, which a read-only disk keeps apart",
            hint="copy the home to a disk that can be written, and choose that one with --home",
        )


def _nothing(path: Path) -> StoreError:
    return StoreError(
        f"there is nothing in the store {path} yet",
        hint="'hone try' makes a run; another home is chosen with --home or DBHONE_HOME",
    )


def _url(path: Path) -> sa.URL:
    return sa.URL.create("sqlite", database=str(path.absolute()))


def _url_to_read(path: Path) -> sa.URL:
    query = {"mode": "ro", "uri": "true"}
    if _is_read_only(path):
        query["immutable"] = "1"  # SQLite would want to make the memory that it shares with writers
    return sa.URL.create("sqlite", database=f"file:{quote(str(path.absolute()))}", query=query)


def _engine(url: sa.URL, *pragmas: str, wal: bool = True) -> sa.Engine:
    """Return an engine whose connections have these pragmas; with ``wal``, in WAL mode."""
    engine = sa.create_engine(url, connect_args={"timeout": _PATIENCE})

    def on_connect(connection: DBAPIConnection, _record: ConnectionPoolEntry) -> None:
        assert isinstance(connection, sqlite3.Connection)
        connection.isolation_level = None  # BEGIN is ours: Python's own comes too late for DDL
        if wal:
            _use_wal(connection)
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    def on_begin(connection: sa.Connection) -> None:
        # A reader that becomes a writer is refused at once if another has written meanwhile;
        # one that announces the write beforehand waits for the other.
        writes = connection.get_execution_options().get("hone_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    sa.event.listen(engine, "connect", on_connect)
    sa.event.listen(engine, "begin", on_begin)
    return engine


def _use_wal(connection: sqlite3.Connection) -> None:
    """Put the database into WAL mode; that is kept in its file, so mostly it is there already.

    SQLite does not always wait for a lock here, whatever its timeout.
    """
    deadline = time.monotonic() + _PATIENCE
    mode = None
    while mode is None:
        try:
            mode = _journal_mode(connection)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    if mode != "wal":
        raise StoreError(
            "the store must be a file on a disk of this machine: here SQLite cannot keep a"
            f" write-ahead log (its journal mode stays '{mode}')",
            hint="choose another home with --home or DBHONE_HOME",
        )


def _journal_mode(connection: sqlite3.Connection) -> str:
    """Return the journal's mode, after an attempt to make it ``wal`` if it is not."""
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    if mode != "wal":
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
        if names and _VERSIONS.name not in names:
            raise _foreign(connection.execute("PRAGMA database_list").fetchone()[2])
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    return str(mode)


def _version(connection: sa.Connection, path: Path) -> str | None:
    """Return the revision of the tables, None if there are no tables at all."""
    names = sa.inspect(connection).get_table_names()
    if not names:
        return None
    if _VERSIONS.name not in names:
        raise _foreign(str(path))
    version: object = connection.scalar(sa.select(_VERSIONS.c.version_num))
    if version is not None and not isinstance(version, str):
        raise ValueError(f"the revision of its tables is {version!r}")
    return version


def _foreign(name: str) -> StoreError:
    return StoreError(
        f"{name} is a database of another program",
        hint="choose another home with --home or DBHONE_HOME, or move that file away",
    )


def _migrate(path: Path) -> None:
    """Bring the tables up to date, in one transaction that has the database for itself."""
    # To rebuild a table is to drop the old one, which foreign keys would forbid.
    engine = _engine(_url(path), _DURABLE, "foreign_keys = OFF")
    try:
        with (
            reporting_errors(path, "bringing its tables up to date"),
            _reporting_wrong_values(path, "bringing its tables up to date"),
            engine.execution_options(hone_writes=True).begin() as connection,
        ):
            version = _version(connection, path)
            if version != SCHEMA:
                _upgrade(connection, path, version)
    except StoreError as error:
        error.hint = error.hint or (
            "its tables are not those of its revision: move the file away together with those that"
            " end in -wal and -shm, or choose another home with --home or DBHONE_HOME"
        )
        raise
    finally:
        engine.dispose()


def _upgrade(connection: sa.Connection, path: Path, version: str | None) -> None:
    from alembic import command  # noqa: PLC0415 - slow to load, and seldom needed

    config = migrations()
    config.attributes["connection"] = connection
    if version is None:
        make_tables(connection)
        command.stamp(config, "head")
    else:
        _check_known(version, path)
        command.upgrade(config, "head")


def _check_known(version: str, path: Path) -> None:
    """Refuse tables of a revision that this hone does not know, older or newer."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415 - as above

    known = {
        revision.revision for revision in ScriptDirectory.from_config(migrations()).walk_revisions()
    }
    if version < min(known):
        raise StoreError(
            f"the store {path} was written before hone 0.1.0 (its tables are of revision"
            f" {version}), which hone no longer reads",
            hint="choose another home with --home or DBHONE_HOME, or move that file away",
        )
    if version not in known:
        raise StoreError(
            f"the store {path} was written by a newer hone (its tables are of revision"
            f" {version}, this hone supports them up to {SCHEMA})",
            hint="update hone, or choose another home with --home or DBHONE_HOME",
        )


def migrations() -> Config:
    """Return Alembic's configuration: where the migrations are."""
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", "dbhone.measurement:migrations")
    return config


@contextlib.contextmanager
def reporting_errors(path: Path, doing: str) -> Iterator[None]:
    """Turn the database's errors into ours, which say what to do."""
    try:
        yield
    except sa.exc.DBAPIError as error:
        cause = error.orig if error.orig is not None else error
        raise explain(cause, path, doing) from error
    except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
        raise explain(error, path, doing) from error
    except (UnicodeEncodeError, OverflowError) as error:
        raise StoreError(f"{doing} failed: the store cannot keep a value: {error}") from error


@contextlib.contextmanager
def _reporting_wrong_values(path: Path, doing: str) -> Iterator[None]:
    """Turn into ours the errors of values that no hone has written."""
    try:
        yield
    except (ValueError, TypeError, KeyError, OverflowError, zlib.error, RecursionError) as error:
        raise StoreError(
            f"the store {path} failed while {doing}: it holds a value that is wrong: {error}",
            hint="another program has changed it: restore a copy, or choose another home with"
            " --home or DBHONE_HOME. If none has, this is a bug in hone: please report it with what"
            " --debug prints",
        ) from error


def explain(error: BaseException, path: Path, doing: str) -> HoneError:
    """Return the error that says what is wrong with the database, and what to do."""
    code = getattr(error, "sqlite_errorcode", None)
    kind = None if code is None else code & 0xFF
    if kind == sqlite3.SQLITE_FULL or (kind == sqlite3.SQLITE_IOERR and _no_room(path)):
        full = disk_full(OSError(errno.ENOSPC, "", str(path)), doing)
        assert full is not None
        return full
    what, hint = _WORDS.get(kind, (f"{error}", None))
    failed = StoreBusyError if kind == sqlite3.SQLITE_BUSY else StoreError
    return failed(f"the store {path} failed while {doing}: {what}", hint=hint)


def _no_room(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return shutil.disk_usage(path.parent).free < 2**20
    return False


_DAMAGED = (
    "its file is damaged",
    "move the file away together with those that end in -wal and -shm, and a new store is made;"
    " 'sqlite3 FILE .recover' may save what the old one holds",
)
_FORBIDDEN = (
    "its file or folder may not be written",
    "give yourself the permission, or choose another home with --home or DBHONE_HOME",
)
_WORDS: dict[int | None, tuple[str, str | None]] = {
    sqlite3.SQLITE_BUSY: (
        f"another program has held it for more than {_PATIENCE:.0f} seconds",
        "wait for that program to end",
    ),
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_READONLY: _FORBIDDEN,
    sqlite3.SQLITE_PERM: _FORBIDDEN,
    sqlite3.SQLITE_CANTOPEN: (
        "its file cannot be opened",
        "check that the folder exists and is yours, or choose another home with --home",
    ),
    sqlite3.SQLITE_IOERR: (
        "the disk does not read or write (a quota, or a disk that fails)",
        "look at the kernel's log, or choose another home with --home or DBHONE_HOME",
    ),
}
