"""Runs one program and makes sure that nothing of it outlives hone. A program of its own.

hone never starts a program directly: it starts a supervisor, and the supervisor starts the program.
The supervisor holds the reading end of a pipe whose writing end only hone has. When hone ends,
however it ends, the kernel closes that pipe; the supervisor sees it and kills the program with
all its descendants. It can reach descendants that daemonised, because it is their
"child subreaper" (prctl(2)): orphans below it become its own children.

Usage: ``python -I -S supervisor.py CONTROL_FD STATUS_FD ACCOUNT CPUS SCHEDULING -- PROGRAM …``

The program (not the supervisor itself) runs as ACCOUNT, ``UID:GID``, and only on CPUS, ``0,2``.
With ``idle`` as its SCHEDULING it runs only on CPUs that nothing else uses. ``-`` leaves each as it
is.

Over CONTROL_FD hone sends one byte for each signal to the program. Over STATUS_FD the supervisor
sends lines: ``pid N`` when the program runs, ``failed ERRNO`` when it could not be started, and
``exit STATUS USER SYSTEM`` when it has ended and its descendants are gone, with STATUS as
waitpid(2) gives it and the CPU seconds of both kinds.

This file imports nothing of dbhone and little else: it starts once for each program.
"""

import ctypes
import errno
import os
import select
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LIBC = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    if _LIBC.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl failed")


def _children(parent: int) -> list[int]:
    with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass  # it has just ended


def _kill_all_children() -> None:
    """Kill until no descendant is left: orphans of the killed become our children in turn."""
    while True:
        for pid in _children(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            os.wait3(0)
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


def _constrain(cpus: str, scheduling: str) -> None:
    """Run on some CPUs only, and with the priority that is given, see sched(7)."""
    if cpus != "-":
        os.sched_setaffinity(0, [int(cpu) for cpu in cpus.split(",")])
    if scheduling == "idle":
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def _execute(argv: list[str]) -> None:
    """Become the program, looked for in PATH as execvp(3) does. Raises OSError.

    Python's own os.execvp imports modules, which the account may not be able to read.
    """
    if "/" in argv[0]:
        os.execv(argv[0], argv)
    reason = OSError(errno.ENOENT, "not found")
    for folder in os.environ.get("PATH", "/usr/bin:/bin").split(":"):
        try:
            os.execv(f"{folder or '.'}/{argv[0]}", argv)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            reason = error  # another folder may have a program that runs; if none has, this is why
    raise reason


def _start(argv: list[str], constraints: list[str], status: int, wakeups: tuple[int, int]) -> int:
    """Start the program; return its process id, or end the supervisor if it cannot be started."""
    account, cpus, scheduling = constraints
    failure_reader, failure_writer = os.pipe()
    supervisor = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            _constrain(cpus, scheduling)
            _become(account)
            # After the account: a change of credentials clears it, see prctl(2).
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != supervisor:  # it was killed before PR_SET_PDEATHSIG took effect
                os._exit(127)
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            for descriptor in (*wakeups, failure_reader):
                os.close(descriptor)
            _execute(argv)
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
    os.write(status, f"pid {pid}\n".encode())
    return pid


def _watch(pid: int, control: int, wakeup: int) -> str:
    """Reap until the program ends or hone does; return the exit line."""
    while True:
        ready, _, _ = select.select([control, wakeup], [], [])
        if wakeup in ready:
            os.read(wakeup, 512)
        while True:
            try:
                reaped, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return "exit 0 0 0"
            if reaped == pid:
                return f"exit {status} {usage.ru_utime:.6f} {usage.ru_stime:.6f}"
            if reaped == 0:
                break
        if control in ready:
            signals = os.read(control, 64)
            if not signals:
                return ""
            for number in signals:
                _send(pid, number)


def main() -> None:
    """Run the program that the command line names, to its end or to hone's."""
    control, status = int(sys.argv[1]), int(sys.argv[2])
    for descriptor in (control, status):
        os.set_inheritable(descriptor, False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    wakeup_reader, wakeup_writer = os.pipe()
    os.set_blocking(wakeup_writer, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakeup_writer, warn_on_full_buffer=False)
    pid = _start(sys.argv[7:], sys.argv[3:6], status, (wakeup_reader, wakeup_writer))
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    line = _watch(pid, control, wakeup_reader)
    _kill_all_children()
    if line:
        try:
            os.write(status, line.encode() + b"\n")
        except BrokenPipeError:
            pass


if __name__ == "__main__":
    main()
