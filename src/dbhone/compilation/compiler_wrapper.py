"""Runs a compiler, and records its arguments and the time that it took.

This is a program of its own, which builds call in the compiler's place. It imports nothing of
dbhone, because it starts once for each compile command.

Usage: ``python -I -S compiler_wrapper.py RECORD COMPILER [ARGUMENT ...]``, with the phase of the
build in DBHONE_PHASE and the build's folder in DBHONE_FOLDER. It appends one line of JSON to
the file RECORD and ends as the compiler did. A record that cannot be written does not fail
the build; a build without records does (``builder.py``).

Link-time optimisation would use all CPUs of the machine, and memory for each. It runs the jobs in
DBHONE_LINK_JOBS instead, which the record does not show: what it makes does not depend on them.

The record has the arguments that stand in a response file, ``@FILE``, in its place: ninja removes
the file afterwards.
"""

import json
import os
import sys
import time


def main() -> int:
    """Run the compiler; return its exit code."""
    record, compiler, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
    recorded = [word for argument in arguments for word in expanded(argument)]
    jobs = os.environ.get("DBHONE_LINK_JOBS")
    # With this one gcc shares make's own jobs.
    shared = "--jobserver-auth=fifo:" in os.environ.get("MAKEFLAGS", "")
    if jobs and "-c" not in recorded and not shared:
        arguments = [word for argument in arguments for word in limited(argument, jobs)]
    began, clock = time.time(), time.monotonic()
    pid = os.posix_spawn(compiler, [compiler, *arguments], os.environ)
    _, status, usage = os.wait4(pid, 0)
    line = {
        "phase": os.environ.get("DBHONE_PHASE", ""),
        "began": round(began, 4),
        "seconds": round(time.monotonic() - clock, 4),
        "cpu": round(usage.ru_utime + usage.ru_stime, 4),
        "memory": usage.ru_maxrss * 1024,
        "status": os.waitstatus_to_exitcode(status),
        "program": compiler.rpartition("/")[2],
        "folder": os.path.relpath(".", os.environ.get("DBHONE_FOLDER", ".")),
        "argv": recorded,
    }
    data = (json.dumps(line) + "\n").encode()
    try:
        descriptor = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, data)
        os.close(descriptor)
    except OSError:
        pass
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def limited(argument: str, jobs: str) -> list[str]:
    """Return the arguments of a link that stand for one, with this many jobs."""
    if argument == "-flto=auto":
        return [f"-flto={jobs}"]
    if argument == "-flto=thin":
        return [argument, f"-flto-jobs={jobs}"]
    return [argument]


def expanded(argument: str) -> list[str]:
    """Return the arguments that stand for one: of a response file those that it holds."""
    if argument.startswith("@"):
        # Hardly any compile command needs these.
        from pathlib import Path  # noqa: PLC0415
        from shlex import split  # noqa: PLC0415

        try:
            words = split(Path(argument[1:]).read_text("utf-8", "surrogateescape"))
            return [word for inner in words for word in expanded(inner)]
        except (OSError, ValueError, RecursionError):
            pass
    return [argument]


if __name__ == "__main__":
    sys.exit(main())
