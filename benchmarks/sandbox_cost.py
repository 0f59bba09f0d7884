"""What a sandbox costs: a server and its clients inside, beside the same outside, in one run.

Usage: ``.venv/bin/python -m benchmarks.sandbox_cost --home FOLDER [--dbms DBMS --source SOURCE
--mark NAME=VALUE] [--runs N] [--budget DURATION] [--pairs N]``

The one outside, which is in no control group either, is known by a setting that costs nothing. It
is the candidate, the one inside the base, and another inside the control. Then it is measured how
long a program takes to start and end inside and outside, in turn.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import random
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from benchmarks.alarms import PLANTED, experiments, measured
from dbhone import process
from dbhone.account import Tenant
from dbhone.experiment.server_pool import ServerPool
from dbhone.home import locate, open_session
from dbhone.instance.server import Server
from dbhone.measurement.metric import CPU_SECONDS, THROUGHPUT
from dbhone.report.findings import findings_of, findings_of_joined
from dbhone.sandbox import Sandbox
from dbhone.tenant import tenancy
from dbhone.workload.drive import DriverCommand
from dbhone.workload.task import Task

_STEPS = ("point-query", "read-only_range=100", "update-index", "insert")
_EXPERIMENT = """\
title = "What does a sandbox cost?"
base = "server"

[sources]
server = "{source}"

[subjects]
server = {{ dbms = "{dbms}", source = "server", variant = "ready-made" }}
control = {{ like = "server" }}
planted = {{ like = "server", settings = {{ {setting} = "{value}" }} }}

[workload]
"""
_STARTS = 200
_CALLS = ("dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=1000000", "status=none")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--dbms", default="postgresql")
    parser.add_argument("--source", default="deb:postgresql-15")
    parser.add_argument("--mark", default="deadlock_timeout=1001ms", metavar="NAME=VALUE")
    parser.add_argument("--runs", type=int, default=2, help="of servers; 0 for programs alone")
    parser.add_argument("--budget", default="8m", help="of each run")
    parser.add_argument("--pairs", type=int, default=60, help="of programs inside and outside")
    options = parser.parse_args()
    if options.runs:
        _print_servers(options)
    with open_session(locate(options.home)) as session, tenancy(session) as tenant:
        times = _starts(tenant)
        ratio, error = _system_calls(tenant, options.pairs)
    print("to start and end a program: {:.1f} ms outside, {:.1f} ms inside".format(*times))
    print(f"CPU time of system calls, inside / outside: {ratio:.4f} ± {2 * error:.4f}")


def _print_servers(options: argparse.Namespace) -> None:
    """Measure servers inside and outside in runs, and print the summaries of all."""
    texts = experiments(_EXPERIMENT, options, options.mark, _STEPS)
    setting, _, value = options.mark.partition("=")
    with _outside(setting, value):
        runs = list(measured(texts, locate(options.home)))
    found = findings_of_joined(runs) if len(runs) > 1 else findings_of(*runs[0])
    for metric in (THROUGHPUT, CPU_SECONDS):
        for subject, what in (("control", "inside"), (PLANTED, "outside")):
            summary = found.analysis.summary(subject, in_sample=False, metric=metric.name)
            if summary is None or summary.low is None or summary.high is None:
                print(f"{metric.name}, {what} / inside: too few blocks")
                continue
            ends = f"[{summary.low:.4f}, {summary.high:.4f}]"
            print(f"{metric.name}, {what} / inside: {summary.ratio:.4f} {ends}")


@contextmanager
def _outside(setting: str, value: str) -> Iterator[None]:
    """Let the servers with this setting, and their clients, run without sandboxes."""
    enter, request = Server.__enter__, ServerPool._request

    def marked(server: Server) -> bool:
        return server.values.get(setting) == value

    def started(server: Server) -> Server:
        if not marked(server):
            return enter(server)
        tenant = dataclasses.replace(server.place.tenant, group=None)
        server.place = dataclasses.replace(server.place, tenant=tenant)
        with mock.patch.object(process, "can_enclose", return_value=False):
            return enter(server)

    def requested(pool: ServerPool, server: Server, task: Task) -> DriverCommand:
        command = request(pool, server, task)
        return (
            dataclasses.replace(command, sandbox=None, tenant=None) if marked(server) else command
        )

    with (
        mock.patch.object(Server, "__enter__", started),
        mock.patch.object(ServerPool, "_request", requested),
    ):
        yield


def _starts(tenant: Tenant) -> tuple[float, float]:
    """Return the median times of a program that does nothing, in milliseconds."""
    times = [_pair(tenant, ("true",), _seconds) for _ in range(_STARTS)]
    outside, inside = (statistics.median(column) for column in zip(*times, strict=True))
    return 1000 * outside, 1000 * inside


def _system_calls(tenant: Tenant, pairs: int) -> tuple[float, float]:
    """Return the ratio of the CPU times of two million system calls, and its standard error.

    What bubblewrap itself uses is in it: a few milliseconds of a second.
    """
    logs = []
    for _ in range(pairs):
        outside, inside = _pair(tenant, _CALLS, lambda finished: finished.usage.cpu)
        logs.append(math.log(inside / outside))
    return math.exp(statistics.fmean(logs)), statistics.stdev(logs) / math.sqrt(pairs)


def _seconds(finished: process.Finished) -> float:
    return finished.seconds


def _pair(
    tenant: Tenant, argv: tuple[str, ...], figure: Callable[[process.Finished], float]
) -> tuple[float, float]:
    """Run a program outside and inside, in random order; return a figure of both."""
    inside = process.Command(argv=argv, cwd=Path("/"), tenant=tenant, sandbox=Sandbox())
    alone = dataclasses.replace(tenant, group=None)
    commands = {0: dataclasses.replace(inside, tenant=alone, sandbox=None), 1: inside}
    order = random.sample(sorted(commands), 2)
    found = {at: figure(process.run(commands[at])) for at in order}
    return found[0], found[1]


if __name__ == "__main__":
    main()
