"""Runs one program and makes sure that nothing of it outlives hone. A program of its own.

hone never starts a program directly: it starts a supervisor, and the supervisor starts the program.
The supervisor holds the reading end of a pipe whose writing end only hone has. When hone ends,
however it ends, the kernel closes that pipe; the supervisor sees it and kills the program with
all its descendants. It can reach descendants that daemonised, because it is their
"child subreaper" (prctl(2)): orphans below it become its own children.

Usage: ``python -I -S supervisor.py CONTROL_FD STATUS_FD ENVIRONMENT_FD INPUT_FDS ACCOUNT GROUPS
CPUS SCHEDULING LIFETIME LIMITS -- PROGRAM …``

The program (not the supervisor itself) gets the variables that ENVIRONMENT_FD holds, each ended by
a zero byte. It runs as ACCOUNT, ``UID:GID``, in the control groups whose folders GROUPS names, one
in a line, and only on CPUS, ``0,2``. With ``idle`` as its SCHEDULING it runs only on CPUs that
nothing else uses. With ``lasting`` as its LIFETIME it comes to its end, and what it has started
stays; otherwise all of it ends with hone. It has the LIMITS, ``RLIMIT_CORE=0,…``. ``-`` leaves each
as it is.

INPUT_FDS, ``12,13,14``, say that the program is bubblewrap, which makes a sandbox by the options
and files in them: then it is the enclosed program that gets the signals, and whose process id is
given. Without a sandbox they are empty.

Over CONTROL_FD hone sends one byte for each signal to the program. Over STATUS_FD the supervisor
sends lines: ``pid N`` when the program runs, ``failed ERRNO`` when it could not be started,
``unenclosed`` when its sandbox could not be made, and ``exit STATUS USER SYSTEM`` when it has ended
and its descendants are gone, with STATUS as waitpid(2) gives it and the CPU seconds of both kinds.

This file imports nothing of dbhone and little else: it starts once for each program.
"""

import ctypes
import errno
import fcntl
import os
import re
import resource
import select
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LIBC = ctypes.CDLL(None, use_errno=True)
_INFO_FD, _GO_FD = 8, 9  # as in sandbox.py
_INPUT_FDS = (7, 10, 11)  # options, users and groups, as there
_CHILD_PID = re.compile(rb'"child-pid": *([0-9]+)')
_OUT_OF_MEMORY_SCORE = "500"  # the OOM killer prefers sandboxed programs
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # which are hone's own to answer
_FREE_FD = 32  # above the numbers that a program gets
_POLL = 0.001
_SIGNALLED = 128  # bubblewrap's exit code for a program that a signal ended is this and its number


def _prctl(option: int, value: int) -> None:
    if _LIBC.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl failed")


def _children(parent: int) -> list[int]:
    with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def _kill_all_children() -> None:
    """Kill until no descendant is left: orphans of the killed become our children in turn.

    One that may not be killed, such as sudo, is waited for.
    """
    while True:
        for pid in _children(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
        try:
            os.wait()
        except ChildProcessError:
            return


def _become(account: str) -> None:
    """Give up root for good: no other groups, then the group, then the user; the order matters."""
    if account == "-":
        return
    uid, _, gid = account.partition(":")
    os.setgroups([])
    os.setgid(int(gid))
    os.setuid(int(uid))


def _join(groups: str) -> None:
    """Move this process into control groups, before it gives up the right to do so."""
    for folder in () if groups == "-" else groups.split("\n"):
        with open(f"{folder}/cgroup.procs", "w", encoding="ascii") as file:
            file.write("0")


def _constrain(cpus: str, scheduling: str) -> None:
    """Run on some CPUs only, and with the priority that is given, see sched(7)."""
    if cpus != "-":
        os.sched_setaffinity(0, [int(cpu) for cpu in cpus.split(",")])
    if scheduling == "idle":
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def _limit(limits: str) -> None:
    """Set a program's limits, not higher than those that it inherits.

    Only of open files it may need more: root may raise that limit.
    """
    for name, _, value in (limit.partition("=") for limit in limits.split(",")):
        kind, most = getattr(resource, name), int(value)
        if kind == resource.RLIMIT_NOFILE:
            try:
                resource.setrlimit(kind, (most, most))
            except (ValueError, OSError):
                pass
            else:
                continue
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write(_OUT_OF_MEMORY_SCORE)
    except OSError:
        pass


def _read_environment(descriptor: int) -> dict[bytes, bytes]:
    with open(descriptor, "rb") as file:
        variables = (word.partition(b"=") for word in file.read().split(b"\0") if word)
        return {name: value for name, _, value in variables}


def _execute(argv: list[str], environment: dict[bytes, bytes]) -> None:
    """Become the program, looked for in PATH as execvp(3) does. Raises OSError.

    Python's own os.execvpe imports modules, which the account may not be able to read.
    """
    if "/" in argv[0]:
        os.execve(argv[0], argv, environment)
    reason = OSError(errno.ENOENT, "not found")
    for folder in os.fsdecode(environment.get(b"PATH", b"/usr/bin:/bin")).split(":"):
        try:
            os.execve(f"{folder or '.'}/{argv[0]}", argv, environment)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            reason = error  # another folder may have a program that runs; if none has, this is why
    raise reason


class _Program:
    """What is to be started, as the command line has it."""

    def __init__(self, words: list[str]) -> None:
        environment, inputs, self.account, self.groups, self.cpus, *more = words
        self.scheduling, self.lifetime, self.limits, _, *self.argv = more
        self.environment = _read_environment(int(environment))
        self.inputs = [_moved(int(descriptor)) for descriptor in inputs.split(",") if descriptor]
        self.enclosed = bool(self.inputs)

    def run(self, supervisor: int) -> None:
        """Become the program, in a child of the supervisor. Raises OSError."""
        _join(self.groups)
        _constrain(self.cpus, self.scheduling)
        if self.limits != "-":
            _limit(self.limits)
        _become(self.account)
        if self.lifetime != "lasting":
            # After the account: a change of credentials clears it, see prctl(2).
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != supervisor:  # it was killed before PR_SET_PDEATHSIG took effect
            os._exit(127)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, *_ENDING):
            signal.signal(number, signal.SIG_DFL)
        _execute(self.argv, self.environment)


def _start(program: _Program, status: int, inherited: dict[int, int]) -> int:
    """Start the program with descriptors that it inherits, each by the number that it gets.

    Return its process id, or end the supervisor if it cannot be started.
    """
    failure_reader, failure_writer = os.pipe()
    supervisor = os.getpid()
    pid = os.fork()
    if pid == 0:
        failure_writer = fcntl.fcntl(failure_writer, fcntl.F_DUPFD_CLOEXEC, _FREE_FD)
        try:
            for number, descriptor in inherited.items():
                os.dup2(descriptor, number)
            program.run(supervisor)
        except OSError as error:
            os.write(failure_writer, str(error.errno).encode())
        finally:
            os._exit(127)
    os.close(failure_writer)
    failure = os.read(failure_reader, 16)
    os.close(failure_reader)
    if failure:
        os.waitpid(pid, 0)
        os.write(status, b"failed " + failure + b"\n")
        os._exit(0)
    return pid


class _Target:
    """The process that gets the signals; one that was enclosed is not our child."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._descriptor = os.pidfd_open(pid)

    def send(self, number: int) -> None:
        try:
            signal.pidfd_send_signal(self._descriptor, number)
        except (ProcessLookupError, PermissionError):
            pass  # it has just ended, or is another user's, as sudo is


def _start_enclosed(program: _Program, status: int, control: int) -> tuple[int, _Target | None]:
    """Start bubblewrap; return its process id and the enclosed program, None if there is none."""
    info_reader, info_writer = (_moved(descriptor) for descriptor in os.pipe())
    go_reader, go_writer = (_moved(descriptor) for descriptor in os.pipe())
    inherited = dict(zip(_INPUT_FDS, program.inputs, strict=True))
    inherited |= {_INFO_FD: info_writer, _GO_FD: go_reader}
    bubblewrap = _start(program, status, inherited)
    os.close(info_writer)
    os.close(go_reader)
    first = _first_process(info_reader)
    target = None if first is None else _enclosed_child(first, bubblewrap, control)
    if target is not None:
        # The program begins once it is known, so that none is too short to be found.
        _tell(go_writer, "go")
    os.close(go_writer)
    return bubblewrap, target


def _moved(descriptor: int) -> int:
    """Move a descriptor away from the numbers by which the program gets some."""
    moved: int = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FREE_FD)
    os.close(descriptor)
    return moved


def _first_process(info: int) -> int | None:
    """Return the sandbox's first process, by what bubblewrap tells of it."""
    told = b""
    while b"}" not in told:
        piece = os.read(info, 512)
        if not piece:
            break
        told += piece
    os.close(info)
    found = _CHILD_PID.search(told)
    return int(found[1]) if found else None


def _enclosed_child(first: int, bubblewrap: int, control: int) -> _Target | None:
    """Wait until the sandbox's first process has a child, which becomes the program, and waits.

    Between the two bubblewrap sees to it that the first process, and so the sandbox, ends with
    bubblewrap itself. If that was killed earlier, the sandbox would stay for ever.
    """
    while True:
        try:
            children = _children(first)
            if children and _waits(first):
                return _Target(children[0])
        except OSError:
            return None
        ended = os.waitid(os.P_PID, bubblewrap, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is not None or select.select([control], [], [], _POLL)[0]:
            return None


def _waits(pid: int) -> bool:
    """Return whether a process sleeps, by proc_pid_stat(5). Raises OSError."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0] == "S"


def _watch(pid: int, target: _Target, control: int, wakeup: int) -> int | None:
    """Reap until the program ends or hone does; return its status, None if hone has ended."""
    while True:
        ready, _, _ = select.select([control, wakeup], [], [])
        if wakeup in ready:
            os.read(wakeup, 512)
        reaped = -1
        while reaped != 0:
            reaped, status = os.waitpid(-1, os.WNOHANG)
            if reaped == pid:
                return status
        if control in ready:
            signals = os.read(control, 64)
            if not signals:
                return None
            for number in signals:
                target.send(number)


def _status_of_enclosed(status: int) -> int:
    """Return the status of the enclosed program, by that of bubblewrap."""
    code = os.waitstatus_to_exitcode(status)
    number = code - _SIGNALLED
    return number if number in set(signal.Signals) else status


def main() -> None:
    """Run the program that the command line names, to its end or to hone's."""
    control, status = int(sys.argv[1]), int(sys.argv[2])
    for descriptor in (control, status):
        os.set_inheritable(descriptor, False)
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    wakeup_reader, wakeup_writer = os.pipe()
    os.set_blocking(wakeup_writer, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakeup_writer, warn_on_full_buffer=False)
    program = _Program(sys.argv[3:])
    target: _Target | None
    if program.enclosed:
        pid, target = _start_enclosed(program, status, control)
    else:
        pid = _start(program, status, {})
        target = _Target(pid)
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    if target is None:
        _kill_all_children()
        _tell(status, "unenclosed")
        return
    _tell(status, f"pid {target.pid}")
    ended = _watch(pid, target, control, wakeup_reader)
    if program.lifetime == "lasting":
        ended = os.waitpid(pid, 0)[1] if ended is None else ended
    else:
        _kill_all_children()
    if ended is not None:
        ended = _status_of_enclosed(ended) if program.enclosed else ended
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        _tell(status, f"exit {ended} {used.ru_utime:.6f} {used.ru_stime:.6f}")


def _tell(descriptor: int, line: str) -> None:
    try:
        os.write(descriptor, line.encode() + b"\n")
    except BrokenPipeError:
        pass  # whoever read it, hone or the program, has ended


if __name__ == "__main__":
    main()
