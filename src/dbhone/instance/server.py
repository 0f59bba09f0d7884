"""A running server: started, watched, and stopped so that its profiles reach the disk."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path

from dbhone.account import check_reachable, own
from dbhone.command import Command
from dbhone.dbms.base_protocol import Endpoint
from dbhone.dbms.base_server import Installation, InstanceDir, ServerDbms
from dbhone.errors import ServerError, UntrustedFileError
from dbhone.home import Home
from dbhone.instance.applied_levers import AppliedLevers
from dbhone.instance.host_state import read_observed_state
from dbhone.instance.place import admit
from dbhone.instance.programs import check_space, keep_log, read_log, sandbox_of, title_of
from dbhone.process import Finished, Process
from dbhone.sandbox import MOST_PROCESSES, Sandbox

_POLL = 0.02
_STOP_TIMEOUT = 300.0
_TOO_MANY = re.compile(
    r"could not fork|[Cc]an't create a new thread|Resource temporarily unavailable"
)
_NO_AIO = re.compile(r"io_setup\(\) failed with EAGAIN")
"""What InnoDB says where servers' IO threads, of 256 slots each, exceed ``fs.aio-max-nr``."""


@dataclass
class Server:
    """A server at ``place``, whose data directory is filled. Use it as a context manager.

    It runs for the place's tenant.

    Entering starts it and waits until it takes connections, ``timeout`` seconds at most.
    Leaving stops it cleanly, or kills it if an exception is under way. ``values`` are its
    settings; ``env`` is added to its small environment. An instrumented server writes to the
    folder ``counters``, too, and every server may use what is ``shared`` with its clients. Clients
    ask the ``database``, the one that was made with the data if it is None. Raises
    ServerError, with its log kept, when it does not start, crashes, does not stop, or when one of
    its ``levers`` had no effect; MachineError when its log says that the disk is full.
    """

    dbms: ServerDbms
    installation: Installation
    place: InstanceDir
    values: Mapping[str, str]
    _: KW_ONLY
    home: Home
    env: Mapping[str, str] = field(default_factory=dict)
    levers: AppliedLevers = field(default_factory=AppliedLevers)
    counters: Path | None = None
    shared: Sandbox = field(default_factory=Sandbox)
    database: str | None = None
    timeout: float = 120.0
    stop_timeout: float = _STOP_TIMEOUT

    def __post_init__(self) -> None:
        self._process: Process | None = None
        self._log_start = 0

    @property
    def title(self) -> str:
        """What the server is called in messages."""
        return title_of(self.dbms, self.installation)

    @property
    def endpoint(self) -> Endpoint:
        """How clients reach it."""
        endpoint = self.dbms.endpoint(self.place)
        return replace(
            endpoint,
            database=self.database or endpoint.database,
            version=self.installation.version,
        )

    @property
    def open_files(self) -> int:
        """How many files its settings need open at the same time."""
        return self.dbms.files_needed(self.values)

    @property
    def pid(self) -> int:
        """The server's first process, the parent of any others."""
        if self._process is None:
            raise ServerError(f"{self.title} is not running")
        return self._process.pid

    def __enter__(self) -> Server:
        account = self.place.tenant.account
        check_reachable(self.installation.server.parent, account)
        if self.counters is not None:
            own(self.counters, account)
        self.place.settings.write_text(self.dbms.settings_file(self.values), encoding="utf-8")
        admit(self.place.settings, account)
        self._log_start = self.place.log.stat().st_size if self.place.log.exists() else 0
        program = self.dbms.start(self.installation, self.place)
        base = {"LC_ALL": "C", "TZ": "UTC", "TMPDIR": str(self.place.scratch)}
        self._process = Process(
            Command(
                argv=(*self.levers.whole.prefix, *program.argv),
                cwd=self.place.scratch,
                env={**base, **program.env, **self.env, **self.levers.environment()},
                isolated=True,
                log=self.place.log,
                tenant=self.place.tenant,
                cpus=self.levers.whole.cpus,
                sandbox=sandbox_of(
                    self.installation,
                    self.place,
                    writable=(
                        *(() if self.counters is None else (self.counters,)),
                        *self.shared.writable,
                    ),
                    readable=(*self.levers.whole.preload, *self.shared.readable),
                    open_files=self.open_files,
                ),
            ),
            capture=False,
        )
        try:
            self._await_ready(self._process)
            self._check_levers(self._process)
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.stop()
        finally:
            self.kill()

    def _await_ready(self, process: Process) -> None:
        deadline = time.monotonic() + self.timeout
        while not process.wait(_POLL):
            try:
                if self.dbms.is_ready(self.place, self._log()):
                    return
            except UntrustedFileError as error:
                raise self._error(f"is not ready: {error.message}") from error
            if time.monotonic() > deadline:
                raise self._error(f"did not become ready within {self.timeout:.0f} s")
        raise self._error("did not start", process.finish())

    def _check_levers(self, process: Process) -> None:
        """Raise ServerError for a lever without effect: the subject would not be what it claims."""
        if not self.levers.changes:
            return
        lever = self.levers.without_effect(read_observed_state(process.pid))
        if lever is not None:
            error = self._error(f"runs, but the lever {lever.name} had no effect")
            error.hint = lever.remedy
            raise error

    def check(self, *, wait: float = 0.0) -> None:
        """Raise ServerError if the server has died, MachineError if it found the disk full.

        One that is about to end is given ``wait`` seconds: its clients notice it before all of its
        processes are gone. One that has lost a process because it took too much memory is killed,
        which is reported, too: what is left of it is not what is measured.
        """
        if self._process is not None and self._process.wait(wait):
            finished = self._process.finish()
            self._process = None
            raise self._error("crashed", finished)
        check_space(self._log(), self.place, None)
        group = self.place.tenant.group
        if self._process is not None and group is not None and group.out_of_memory():
            self.kill()
            raise self._error("lost a process")

    def stop(self) -> None:
        """Stop it cleanly; do nothing if it was stopped before.

        Raises ServerError if it had crashed, or if it does not stop and has to be killed: its
        profile's counts are lost then.
        """
        if self._process is None:
            return
        self.check()
        self._process.signal(self.dbms.stop_signal)
        if not self._process.wait(self.stop_timeout):
            self._process.signal(signal.SIGKILL)
            self._process.finish()
            self._process = None
            raise self._error(f"did not stop within {self.stop_timeout:.0f} s and was killed")
        finished = self._process.finish()
        self._process = None
        if not finished.ok:
            raise self._error("did not stop cleanly", finished)

    def kill(self) -> None:
        """Kill it at once."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _log(self) -> str:
        return read_log(self.place.log, start=self._log_start)

    def _error(self, what: str, finished: Finished | None = None) -> ServerError:
        """Return the error with how the server ended and why, by its log, which is kept."""
        text = self._log()
        kept = keep_log(self.place.log, self.home, self.dbms.name)
        check_space(text, self.place, kept)
        message = f"{self.title} {what}"
        if finished is not None:
            message += f": it {finished.ending()}"
        exceeded = self.place.tenant.exceeded()
        if exceeded:
            message += f": {exceeded}" if finished is None else f", and {exceeded}"
        own_error = self.dbms.error_in_log(text)
        if own_error:
            message += f", saying: {own_error}"
        return ServerError(message, hint=self._advice(finished, text), log=kept)

    def _advice(self, finished: Finished | None, text: str) -> str | None:
        group = self.place.tenant.group
        smaller = f"choose a smaller cache ({self.dbms.cache_setting})"
        if group is not None and group.out_of_memory():
            return f"{smaller}, or fewer subjects: they share the machine's memory"
        if self.dbms.foreign_data.search(text):
            return f"another version made this data: remove {self.home.data}, which is made again"
        if finished is not None and finished.status == -signal.SIGKILL:
            return f"the kernel kills what takes too much memory: see dmesg, or {smaller}"
        if _NO_AIO.search(text):
            return (
                "the IO threads of all servers together ask the kernel for more than it allows:"
                " lower innodb_read_io_threads and innodb_write_io_threads, or run"
                " 'sysctl fs.aio-max-nr=1048576' as root"
            )
        if _TOO_MANY.search(text):
            return (
                f"a server and its clients may have {MOST_PROCESSES} processes and threads in all:"
                " choose fewer clients"
            )
        return None
