"""The only place that starts programs.

Every program runs under a supervisor (``supervisor.py``), so that nothing of it outlives hone, even
when hone is killed with SIGKILL. A stranger's program runs in a sandbox besides (``sandbox.py``).
No user's or stranger's text goes through a shell: a program is a tuple of words.
"""

from __future__ import annotations

import contextlib
import functools
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dbhone.account import LENT, lendable
from dbhone.command import Command
from dbhone.errors import MachineError, ToolError
from dbhone.sandbox import PACKAGE, PROGRAM, argv_of, trial_argv

_SUPERVISOR = (sys.executable, "-I", "-S", str(Path(__file__).with_name("supervisor.py")))
CAPTURE_LIMIT = 64 * 1024 * 1024
"""Bytes of output that are kept of a program; one that prints more is stopped."""
_PIECE = 64 * 1024
_GRACE = 10.0
_NO_LIMITS = "-"
_TRIAL_TIMEOUT = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a program ended. ``status`` is its exit code, or minus the signal that ended it.

    ``cpu_seconds`` are its own, and those of its children that were waited for.
    """

    status: int
    seconds: float
    cpu_seconds: float
    output: bytes
    timed_out: bool
    overflowed: bool

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with exit code 0."""
        return self.status == 0 and not self.timed_out and not self.overflowed

    @property
    def cut_off(self) -> bool:
        """Whether it was stopped or killed, so that it may not have come to its end."""
        return self.timed_out or self.overflowed or self.status < 0

    def text(self) -> str:
        """Return the captured output as text, undecodable bytes replaced."""
        return self.output.decode("utf-8", "replace")

    def ending(self) -> str:
        """Return in words how it ended."""
        if self.timed_out:
            return f"did not end within {self.seconds:.0f} s and was stopped"
        if self.overflowed:
            return "produced more output than allowed and was stopped"
        if self.status < 0:
            with contextlib.suppress(ValueError):
                return f"was ended by {signal.Signals(-self.status).name}"
            return f"was ended by signal {-self.status}"
        return f"ended with exit code {self.status}"


OnChunk = Callable[[bytes, float, int], None]
"""Gets a piece of output, the monotonic time of its arrival, and the program's process id."""


class Process:
    """A running program. Use it as a context manager: leaving it ends the program."""

    def __init__(self, command: Command, *, capture: bool) -> None:
        self.command = command
        self.started = time.monotonic()
        self._control: int | None = None
        self._status = b""
        self._timed_out = False
        try:
            self._spawn(command, capture=capture)
        except OSError as error:
            raise MachineError(f"cannot run {command.argv[0]}: {error.strerror}") from error

    def _spawn(self, command: Command, *, capture: bool) -> None:
        if not command.cwd.is_dir():
            raise MachineError(f"the folder {command.cwd} does not exist")
        start = _Start.of(command)
        control_reader, control_writer = os.pipe()
        status_reader, status_writer = os.pipe()
        try:
            with (
                _sinks(command.log, capture=capture) as (output, errors),
                (command.stdin or Path(os.devnull)).open("rb") as source,
                _in_memory(start.environment) as environment_file,
                contextlib.ExitStack() as stack,
            ):
                inputs = [stack.enter_context(_in_memory(text)) for text in start.inputs]
                descriptors = (control_reader, status_writer, environment_file, *inputs)
                words = (*map(str, descriptors[:3]), ",".join(map(str, inputs)), *start.words)
                self._popen = subprocess.Popen(
                    (*_SUPERVISOR, *words, "--", *start.argv),
                    cwd=command.cwd,
                    # The program's own environment may name a stranger's libraries.
                    env=command.helper_environment(),
                    stdin=source,
                    stdout=output,
                    stderr=errors,
                    pass_fds=descriptors,
                    start_new_session=True,
                )
        except BaseException:
            os.close(control_writer)
            os.close(status_reader)
            raise
        finally:
            os.close(control_reader)
            os.close(status_writer)
        self._control = control_writer
        self._status_reader = status_reader
        try:
            self.pid = self._await_start()
        except BaseException:
            self.close()
            raise

    def _await_start(self) -> int:
        word, _, rest = self._status_line().partition(" ")
        if word == "pid":
            return int(rest)
        program = self.command.argv[0]
        if word == "failed":
            raise ToolError(f"cannot run {program}: {os.strerror(int(rest))}")
        if word == "unenclosed":
            raise MachineError(f"the sandbox of {program} cannot be made", log=self.command.log)
        raise MachineError(f"cannot run {program}: its supervisor ended immediately")

    def _status_line(self) -> str:
        while b"\n" not in self._status:
            chunk = os.read(self._status_reader, 512)
            if not chunk:
                break
            self._status += chunk
        line, _, self._status = self._status.partition(b"\n")
        return line.decode()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the program with all its descendants, and wait until they are gone."""
        if self._control is not None:
            os.close(self._control)
            self._control = None
            self._popen.wait()
            os.close(self._status_reader)
        if self._popen.stdout is not None:
            self._popen.stdout.close()

    @property
    def stdout(self) -> IO[bytes] | None:
        """The captured output's pipe, None when output goes to the log."""
        return self._popen.stdout

    def read(self, timeout: float | None) -> bytes | None:
        """Return the next piece of the captured output, empty at its end.

        None if nothing comes within ``timeout`` seconds; without one it waits for ever.
        """
        assert self.stdout is not None, "the output is captured"
        descriptor = self.stdout.fileno()
        ready, _, _ = select.select([descriptor, self._status_reader], [], [], timeout)
        if not ready:
            return None
        return os.read(descriptor, _PIECE) if descriptor in ready else b""

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program."""
        if self._control is not None:
            with contextlib.suppress(BrokenPipeError):
                os.write(self._control, bytes([number]))

    def wait(self, timeout: float | None) -> bool:
        """Wait for the end, at most ``timeout`` seconds; return whether the program has ended.

        It has ended when its descendants are gone as well. None waits for ever.
        """
        if self._control is None or b"\n" in self._status:
            return True
        ready, _, _ = select.select([self._status_reader], [], [], timeout)
        return bool(ready)

    def alive(self) -> bool:
        """Return whether the program runs; does not wait."""
        return not self.wait(0)

    def end(self) -> None:
        """End the program with SIGTERM, after a grace period with SIGKILL."""
        self.signal(signal.SIGTERM)
        if not self.wait(_GRACE):
            self.signal(signal.SIGKILL)

    def time_out(self) -> None:
        """End the program because it took too long; ``finish`` reports that."""
        self._timed_out = True
        self.end()

    def finish(self, *, output: bytes = b"", overflowed: bool = False) -> Finished:
        """Wait for the end and return it."""
        line = self._status_line()
        seconds = time.monotonic() - self.started
        self.close()
        words = line.split()
        if len(words) != 4 or words[0] != "exit":
            raise MachineError(f"the supervisor of {self.command.argv[0]} was killed from outside")
        return Finished(
            status=os.waitstatus_to_exitcode(int(words[1])),
            seconds=seconds,
            cpu_seconds=float(words[2]) + float(words[3]),
            output=output,
            timed_out=self._timed_out,
            overflowed=overflowed,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """What the supervisor starts: the program, or bubblewrap with its ``inputs``.

    ``words`` tell how: the account, the control groups, the CPUs, the scheduling, the lifetime, and
    the limits.
    """

    argv: tuple[str, ...]
    environment: str
    words: tuple[str, ...]
    inputs: tuple[str, ...] = ()

    @classmethod
    def of(cls, command: Command) -> _Start:
        account, *rest = command.constraints()
        sandbox = command.sandbox
        if sandbox is None or not can_enclose():
            limits = _NO_LIMITS if sandbox is None else _limits(sandbox.limits_outside())
            environment = _listed(command.environment())
            return cls(argv=command.argv, environment=environment, words=(account, *rest, limits))
        assert os.geteuid() != 0 or command.account is not None, "root is never enclosed"
        command.check_program()
        argv = argv_of(
            command.argv,
            bwrap=shutil.which(PROGRAM) or PROGRAM,
            environment=command.environment(),
            account=command.account,
        )
        return cls(
            argv=argv,
            environment=_listed(command.helper_environment()),
            words=("-", *rest, _limits(sandbox.limits())),
            inputs=sandbox.inputs(command.cwd, command.account),
        )


def _limits(limits: Mapping[str, int]) -> str:
    return ",".join(f"{name}={value}" for name, value in limits.items())


def _listed(environment: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\0" for name, value in environment.items())


@contextlib.contextmanager
def _in_memory(text: str) -> Iterator[int]:
    """Yield a descriptor from which a child reads the text."""
    with os.fdopen(os.memfd_create("text"), "w+b") as file:
        file.write(os.fsencode(text))
        file.seek(0)  # which flushes
        yield file.fileno()


@functools.cache
def why_not_enclosed() -> str | None:
    """Return why this machine cannot make sandboxes, None if it can; it is tried once."""
    bwrap = shutil.which(PROGRAM)
    if bwrap is None:
        return f"{PROGRAM} is missing (package {PACKAGE})"
    account = lendable(LENT[0]) if os.geteuid() == 0 else None
    argv = trial_argv(bwrap, account)
    tried = run(Command(argv=argv, cwd=Path("/"), isolated=True, timeout=_TRIAL_TIMEOUT))
    if tried.ok:
        return None
    said = tried.text().strip().splitlines()
    return f"{PROGRAM} {tried.ending()}" + (f", saying: {said[-1]}" if said else "")


def can_enclose() -> bool:
    """Return whether this machine can make sandboxes."""
    return why_not_enclosed() is None


@contextlib.contextmanager
def _sinks(log: Path | None, *, capture: bool) -> Iterator[tuple[int | IO[bytes], int | IO[bytes]]]:
    if log is None:
        yield subprocess.PIPE, subprocess.STDOUT
        return
    with log.open("ab") as file:
        yield (subprocess.PIPE if capture else file), file


def run(command: Command, *, capture: bool = False, on_chunk: OnChunk | None = None) -> Finished:
    """Run a program to its end.

    With ``capture`` its output is returned, up to 64 MiB; a program that prints more is stopped.
    Without a log, or with ``on_chunk``, output is always captured. A program that takes longer than
    its timeout gets SIGTERM, then SIGKILL. Raises ToolError if it cannot be started.
    """
    capture = capture or on_chunk is not None
    with Process(command, capture=capture) as process:
        if process.stdout is None:
            return _wait(process)
        return _read(process, on_chunk)


def _remaining(process: Process) -> float | None:
    timeout = process.command.timeout
    return None if timeout is None else max(0.0, process.started + timeout - time.monotonic())


def _wait(process: Process) -> Finished:
    if not process.wait(_remaining(process)):
        process.time_out()
    return process.finish()


def lines(command: Command) -> Generator[str, None, Finished]:
    """Run a program and yield what it prints, a line at a time, however much that is.

    The value that is returned has only the last line of the output. A program that takes longer
    than its timeout is ended. If the caller stops reading, the program is killed. Raises ToolError
    as ``run`` does.
    """
    with Process(command, capture=True) as process:
        last = rest = b""
        for chunk in _chunks(process):
            *complete, rest = (rest + chunk).split(b"\n")
            last = complete[-1] if complete else last
            yield from (line.decode(errors="replace") for line in complete)
        if rest:
            yield rest.decode(errors="replace")
        return process.finish(output=rest or last)


def _read(process: Process, on_chunk: OnChunk | None) -> Finished:
    pieces: list[bytes] = []
    length = 0
    for chunk in _chunks(process):
        if on_chunk is not None:
            on_chunk(chunk, time.monotonic(), process.pid)
        pieces.append(chunk)
        length += len(chunk)
        if length > CAPTURE_LIMIT:
            process.end()
            return process.finish(output=b"".join(pieces), overflowed=True)
    return process.finish(output=b"".join(pieces))


def _chunks(process: Process) -> Iterator[bytes]:
    """Yield the output as it comes; end a program that takes longer than its timeout."""
    while chunk := process.read(_remaining(process)):
        yield chunk
    if chunk is None:
        process.time_out()


def output_of(argv: tuple[str, ...], *, timeout: float = 30.0) -> str | None:
    """Return what a short program prints, or None if it is missing or fails."""
    if shutil.which(argv[0]) is None:
        return None
    finished = run(Command(argv=argv, cwd=Path("/"), env={"LC_ALL": "C"}, timeout=timeout))
    return finished.text() if finished.ok else None
