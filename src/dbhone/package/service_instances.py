"""The running servers of a distribution: whether they execute the installed program, and answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import sleep

import psutil

from dbhone import process
from dbhone.command import Command
from dbhone.dbms.base_service import DistributionService, ServiceInstance
from dbhone.errors import MachineError, UsageError
from dbhone.session import Notify
from dbhone.untrusted_files import read_untrusted

_PROC = Path("/proc")
_SYSTEMD = Path("/run/systemd/system")
_TIMEOUT = 1800.0
_PAUSE = 1.0
_SILENCE, _RECOVERY = 30, 3600
"""How often a server is asked that does not answer, and one that says that it starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningInstance:
    """An instance that runs, and whether it ``accepted`` connections before anything changed."""

    service: DistributionService
    instance: ServiceInstance
    accepted: bool

    @property
    def label(self) -> str:
        """Its series and its name, for people."""
        return self.instance.label

    @property
    def pid(self) -> int | None:
        """The id of its process, None if its data directory names none."""
        try:
            return int(_text(self.instance.data / self.service.pid_file).split("\n")[0])
        except (OSError, ValueError):
            return None

    def check_data(self) -> None:
        """Raise UsageError if another series has made its data directory."""
        made_by = self._data_series()
        if made_by != self.instance.series:
            raise UsageError(
                f"the data directory {self.instance.data} is of version {made_by}, which a server"
                f" of {self.instance.series} cannot read"
            )

    def _data_series(self) -> str:
        """Return what a data directory, which is the servers' account's, says of itself."""
        file = self.instance.data / self.service.data_series
        try:
            return _text(file)
        except OSError as error:
            raise MachineError(f"cannot read {file}: {error.strerror}") from error

    def renew(self, log: Path, notify: Notify) -> None:
        """Have it execute the installed program, and wait until it accepts connections.

        The packages' own scripts may have restarted it. Another program that starts it has to
        restart it. Raises MachineError if it does not start, or accepts no more connections.
        """
        supervisor = self.instance.supervisor
        if not supervisor and not self._executes_installed():
            self._restart(log, notify)
        if not self._executes_installed() and (supervisor or self._process() is not None):
            notify(
                f"{self.label} runs under {supervisor or 'something else than its service'}: have"
                " it restarted there; until then the old program runs"
            )
            return
        self._wait(log, notify)

    def _restart(self, log: Path, notify: Notify) -> None:
        notify(f"restarting {self.label}")
        systemd = ("systemctl", "restart", self.service.unit)
        argv = self.instance.in_words(systemd if _SYSTEMD.is_dir() else self.service.restart)
        finished = process.run(_command(argv, log=log, lasting=True))
        if not finished.ok:
            raise MachineError(f"{' '.join(argv[:2])} {finished.ending()}", log=log)

    def _wait(self, log: Path, notify: Notify) -> None:
        """Wait until it accepts connections, as long as there is hope."""
        silent = starting = 0
        while not (finished := _asked(self.service, self.instance, log)).ok:
            starts = finished.status == self.service.starting
            alive = starts or self._process() is not None
            if alive and not self.accepted:
                notify(f"{self.label} runs; it accepts no connections, as before")
                return
            starting += starts
            silent += not starts
            if not alive or silent == _SILENCE or starting == _RECOVERY:
                raise MachineError(
                    f"{self.label} does not accept connections:"
                    f" {self.service.ask[0]} {finished.ending()}",
                    log=log,
                )
            if starts and starting == 1:
                notify(f"{self.label} is recovering")
            sleep(_PAUSE)

    def _executes_installed(self) -> bool:
        """Whether its process executes the program that is now in its place."""
        return self._process() == self.instance.in_word(self.service.program)

    def _process(self) -> str | None:
        """Return the program that its process executes, as the kernel names it; None without one.

        The name of a program that was replaced ends with a word that says so.
        """
        try:
            return str(_executed_by(self.pid).readlink())
        except OSError:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmanagedServer:
    """A server that executed the installed ``program``, and that the distribution does not list.

    Such are servers that pg_auto_failover, or a unit of the user's own, has started.
    """

    process: psutil.Process
    program: Path

    @property
    def label(self) -> str:
        """Its process, and the folder that this works in: a server's is its data directory."""
        try:
            return f"process {self.process.pid} in {self.process.cwd()}"
        except (psutil.Error, OSError):  # it has ended, or the folder has too long a path
            return f"process {self.process.pid}"

    def executes_replaced(self) -> bool:
        """Return whether it still runs, and another program is in its program's place by now."""
        return self.process.is_running() and not _executes(self.process.pid, self.program)


def running(service: DistributionService, series: str) -> tuple[RunningInstance, ...]:
    """Return the instances of a series that run."""
    return tuple(
        RunningInstance(service=service, instance=one, accepted=_asked(service, one, log=None).ok)
        for one in _instances(service, series)
        if one.running
    )


def unmanaged(
    service: DistributionService, series: str, managed: Iterable[RunningInstance]
) -> tuple[UnmanagedServer, ...]:
    """Return the servers that execute the program of a series, besides those that are managed.

    Processes that a server has started for its clients execute it, too.
    """
    program = Path(service.program.format(series=series))
    found = psutil.process_iter(["ppid"])
    executing = {each.pid: each for each in found if _executes(each.pid, program)}
    known = {instance.pid for instance in managed}
    return tuple(
        UnmanagedServer(process=each, program=program)
        for pid, each in executing.items()
        if pid not in known and each.info["ppid"] not in executing
    )


def _executes(pid: int, program: Path) -> bool:
    """Return whether a process executes this very file: one in a container has its own."""
    try:
        return _executed_by(pid).samefile(program)
    except OSError:
        return False


def _executed_by(pid: int | None) -> Path:
    return _PROC / str(pid) / "exe"


def started_by_scripts(service: DistributionService, series: str) -> tuple[str, ...]:
    """Return the instances that are stopped, and that the packages' scripts start."""
    stopped = [one for one in _instances(service, series) if not one.running]
    return tuple(one.label for one in stopped if service.starts(_start_text(service, one)))


def _start_text(service: DistributionService, instance: ServiceInstance) -> str:
    try:
        return _text(Path(instance.in_word(service.start_file)))
    except OSError:
        return ""


def _instances(service: DistributionService, series: str) -> Sequence[ServiceInstance]:
    printed = process.output_of(service.listing)
    if printed is None:
        raise MachineError(f"{service.listing[0]} does not report which servers there are")
    return [one for one in service.instances(printed) if one.series == series]


def _asked(
    service: DistributionService, instance: ServiceInstance, log: Path | None
) -> process.Finished:
    return process.run(_command(instance.in_words(service.ask), log=log, lasting=False))


def _command(argv: tuple[str, ...], *, log: Path | None, lasting: bool) -> Command:
    """Return a command without the user's variables: PGPORT would lead to another server."""
    return Command(
        argv=argv,
        cwd=Path("/"),
        env={"LC_ALL": "C.UTF-8"},
        isolated=True,
        log=log,
        timeout=_TIMEOUT,
        lasting=lasting,
    )


def _text(file: Path) -> str:
    return read_untrusted(file, limit=4096).decode("ascii", "replace").strip()
