"""Switches logging on at a user's server for a while, and restores every setting.

Whatever ends hone, the settings are put back: by hone itself; if it was killed, by a watcher, a
process that waits for its end and has a connection of its own; and if both are gone, by the next
`hone capture`, which finds a note of what is to be put back in hone's home.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shlex
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

from dbhone.capture.capture import Captured, CaptureOptions, NoStatementError, capture
from dbhone.capture.catalogues.base import load_catalogue
from dbhone.capture.made_up import Catalogue, write_made_up
from dbhone.capture.servers.base import (
    Address,
    Connection,
    LoggingStatements,
    NoAnswerError,
    RefusedError,
    ServerLog,
    load_server,
)
from dbhone.errors import MachineError, UsageError
from dbhone.files import digest_of, text_if_there, write_whole
from dbhone.home import Home, make_root

_FOLDER = "logging"
_LOOK = 1.0
_PATIENCE = 600.0
"""Seconds for which the watcher tries to put settings back while the server does not answer."""
_START = 18
"""The field of /proc/PID/stat with a process's start, counted from the one behind its state."""
_DONE = b"."

Ask = Callable[[str], str | None]
"""Asks the user for a password; None where there is no terminal to ask at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOn:
    """A note that logging was switched on at a server: what puts its settings back."""

    file: Path
    address: Address
    put_back: tuple[str, ...]


def left_on(home: Home) -> tuple[tuple[LeftOn, ...], tuple[Path, ...]]:
    """Return the notes whose hone and whose watcher are gone, and the files that are no notes."""
    notes, unreadable = [], []
    for file in sorted((home.root / _FOLDER).glob("*.json")):
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
            if not _is_alive(found["watcher"]) and not _is_alive(found["hone"]):
                notes.append(
                    LeftOn(
                        file=file,
                        address=Address(**found["address"]),
                        put_back=tuple(map(str, found["put_back"])),
                    )
                )
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError):
            unreadable.append(file)
    return tuple(notes), tuple(unreadable)


def put_back(note: LeftOn, ask: Ask) -> None:
    """Put back what a hone that was killed left. Raises MachineError if the server refuses."""
    with _logged_in(note.address, ask)[0] as connection:
        _execute(connection, note.put_back)
    note.file.unlink(missing_ok=True)


def write_made_up_dump(address: Address, file: IO[str], *, ask: Ask) -> Catalogue:
    """Write a dump of a server's tables with made-up rows; return what the server says of them.

    Raises MachineError where the server refuses, UsageError for what cannot be made up.
    """
    reader = load_catalogue(address.protocol)
    connection, password = _logged_in(address, ask)
    with connection:
        catalogue = reader.read(connection, connection.address, password)
    write_made_up(catalogue, reader.dialect, file)
    return catalogue


def capture_live(
    home: Home,
    address: Address,
    seconds: float,
    output: Path,
    options: CaptureOptions,
    *,
    ask: Ask,
    tell: Callable[[str], None],
    waiting: Callable[[float], None],
) -> Captured:
    """Have a server log for this many seconds, and write the workload to a file.

    ``waiting`` gets the seconds that are left, every second. Raises MachineError where the server
    refuses, and UsageError where no client asked anything, with its settings put back. What was
    logged stays in a file, which ``tell`` gets, if the workload cannot be written.
    """
    try:
        with _spooled(output, options, tell) as spool:
            _fetch_log(home, address, seconds, spool, ask=ask, tell=tell, waiting=waiting)
            return capture((spool.path,), output, spool.options, server=address.text)
    except NoStatementError as error:
        raise UsageError(
            f"no client asked {address.text} anything in {seconds:.0f} s",
            hint="capture for longer, or while clients ask",
        ) from error


@dataclass(slots=True)
class _Spool:
    """A file that gets what a server logs, and how that is to be read."""

    path: Path
    file: BinaryIO
    options: CaptureOptions

    def command(self, output: Path) -> str:
        """Return the command that reads the file."""
        words = ["hone", "capture", str(self.path), "-o", str(output)]
        if self.options.anonymise:
            words.append("--anonymise")
        if self.options.line_prefix is not None:
            words += ["--line-prefix", self.options.line_prefix]
        if self.options.database is not None:
            words += ["--database", self.options.database]
        return shlex.join(words)


@contextlib.contextmanager
def _spooled(
    output: Path, options: CaptureOptions, tell: Callable[[str], None]
) -> Iterator[_Spool]:
    """Yield a file beside the output: if the output cannot be written, neither can this.

    An error leaves the file where it has statements, and ``tell`` gets its name.
    """
    try:
        descriptor, name = tempfile.mkstemp(
            prefix=f"{output.stem}.", suffix=".log", dir=output.parent
        )
    except OSError as error:
        raise UsageError(
            f"cannot write {output}: {error.strerror}", hint="name another file"
        ) from error
    path = Path(name)
    kept = False
    try:
        with os.fdopen(descriptor, "wb") as file:
            spool = _Spool(path, file, options)
            yield spool
    except NoStatementError:
        raise
    except BaseException:
        kept = path.stat().st_size > 0
        if kept:
            tell(
                f"what the server logged is in {path}, with the values of its statements:"
                f" '{spool.command(output)}' reads it"
            )
        raise
    finally:
        if not kept:
            path.unlink(missing_ok=True)


def _fetch_log(
    home: Home,
    address: Address,
    seconds: float,
    spool: _Spool,
    *,
    ask: Ask,
    tell: Callable[[str], None],
    waiting: Callable[[float], None],
) -> None:
    """Have a server log for this many seconds, and fetch what it logged."""
    connection, password = _logged_in(address, ask)
    server = load_server(address.protocol)
    with connection:
        if not server.claim(connection):
            raise MachineError(
                f"another capture of {address.text} is under way",
                hint="wait for its end: it restores the settings that it found",
            )
        statements = server.logging_statements(connection)
        log = server.log(connection)
        with _logging(home, address, password, connection, statements) as put_back:
            tell(f"the server logs all statements for {seconds:.0f} s")
            for words in (*statements.told, *log.told):
                tell(words)
            _wait(log, seconds, waiting)
            put_back()
            tell("its settings are restored")
            prefix = spool.options.line_prefix or log.line_prefix
            spool.options = dataclasses.replace(spool.options, line_prefix=prefix)
            log.fetch(spool.file)
            spool.file.flush()


def _logged_in(address: Address, ask: Ask) -> tuple[Connection, str | None]:
    server = load_server(address.protocol)
    password = server.password(address)
    try:
        return server.connect(address, password), password
    except RefusedError:
        if password is not None:
            raise
        password = ask(f"password of {address.user} at {address.host}")
        if password is None:
            raise
        return server.connect(address, password), password


def _wait(log: ServerLog, seconds: float, waiting: Callable[[float], None]) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        waiting(left)
        time.sleep(min(left, _LOOK))
        log.look()


def _execute(connection: Connection, statements: Sequence[str]) -> None:
    for statement in statements:
        connection.rows(statement)


def _switch_on(connection: Connection, statements: LoggingStatements, note: Path) -> None:
    """Switch logging on; where the server refuses that, put back what it did not refuse."""
    try:
        _execute(connection, statements.switch_on)
    except RefusedError:
        for statement in statements.put_back:
            # Who may not put a setting back may not have changed it either.
            with contextlib.suppress(RefusedError):
                connection.rows(statement)
        note.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _logging(
    home: Home,
    address: Address,
    password: str | None,
    connection: Connection,
    statements: LoggingStatements,
) -> Iterator[Callable[[], None]]:
    """Switch logging on; yield what puts the settings back before the log is fetched.

    Whatever ends it, the settings are put back in the end, and what was logged is removed.
    """
    make_root(home)
    folder = home.root / _FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    note = folder / f"{digest_of(address.text)[:16]}.json"
    with _watched(connection.address, password, statements, note) as watcher:
        content = {
            "address": dataclasses.asdict(address),
            "hone": _identity(os.getpid()),
            "watcher": _identity(watcher),
            "put_back": (*statements.put_back, *statements.remove),
        }
        write_whole(note, json.dumps(content))
        _switch_on(connection, statements, note)
        left = [*statements.put_back, *statements.remove]

        def put_back() -> None:
            _put_back_surely(password, connection, statements.put_back)
            del left[: len(statements.put_back)]

        try:
            yield put_back
        finally:
            _put_back_surely(password, connection, left)
            note.unlink(missing_ok=True)


def _put_back_surely(
    password: str | None, connection: Connection, statements: Sequence[str]
) -> None:
    """Execute what puts settings back, on a new connection where the old one is lost."""
    try:
        _execute(connection, statements)
    except MachineError:
        address = connection.address
        with load_server(address.protocol).connect(address, password) as again:
            _execute(again, statements)


@contextlib.contextmanager
def _watched(
    address: Address, password: str | None, statements: LoggingStatements, note: Path
) -> Iterator[int]:
    """Yield the id of a process that puts settings back if we end without having done it."""
    reader, writer = os.pipe()
    watcher = os.fork()
    if watcher == 0:
        os.close(writer)
        _watch(reader, address, password, statements, note)
    os.close(reader)
    try:
        yield watcher
    except BaseException:
        os.close(writer)  # it looks whether the settings are back, and puts them back if not
        os.waitpid(watcher, 0)
        raise
    with contextlib.suppress(BrokenPipeError):  # the watcher may have been killed
        os.write(writer, _DONE)
    os.close(writer)
    os.waitpid(watcher, 0)


def _watch(
    reader: int, address: Address, password: str | None, statements: LoggingStatements, note: Path
) -> None:
    """Be the watcher: wait for hone's end, and put settings back unless it says that it did."""
    status = 1
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if os.read(reader, 1) == _DONE or not note.exists():
            status = 0
        else:
            _put_back_patiently(address, password, statements)
            note.unlink(missing_ok=True)
            status = 0
    finally:
        os._exit(status)


def _put_back_patiently(
    address: Address, password: str | None, statements: LoggingStatements
) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            with load_server(address.protocol).connect(address, password) as connection:
                _execute(connection, (*statements.put_back, *statements.remove))
            return
        except NoAnswerError:
            if time.monotonic() > deadline:
                raise
            time.sleep(1)


def _identity(process: int) -> list[int]:
    """Return the number of a process and its start, since numbers are used again.

    The start is in the kernel's ticks, by proc_pid_stat(5), 0 for a process that has ended.
    """
    stat = text_if_there(Path(f"/proc/{process}/stat"))
    state, *fields = stat.rpartition(")")[2].split() or ["X"]
    return [process, 0 if state in ("X", "Z") else int(fields[_START])]


def _is_alive(identity: list[int]) -> bool:
    process, start = identity
    return bool(start) and _identity(process)[1] == start
