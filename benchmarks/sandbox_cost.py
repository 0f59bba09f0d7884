"""What a sandbox costs: a server and its clients inside, beside the same outside, in one run.

Usage: ``.venv/bin/python -m benchmarks.sandbox_cost --home FOLDER [--dbms DBMS --source SOURCE
--mark NAME=VALUE] [--runs N] [--budget DURATION]``

The one outside is known by a setting that costs nothing. It is the candidate, the one inside the
base, and another inside the control. Then it is measured how long a program takes to start and end
inside and outside, in turn.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from benchmarks.alarms import PLANTED, WORK, listed, measured, row
from dbhone import process
from dbhone.account import enclosed_account, ids_of
from dbhone.experiment.server_pool import ServerPool
from dbhone.home import locate
from dbhone.instance.server import Server
from dbhone.report.findings import findings_of, findings_of_joined
from dbhone.sandbox import Sandbox
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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--dbms", default="postgresql")
    parser.add_argument("--source", default="deb:postgresql-15")
    parser.add_argument("--mark", default="deadlock_timeout=1001ms", metavar="NAME=VALUE")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--budget", default="8m", help="of each run")
    options = parser.parse_args()
    setting, _, value = options.mark.partition("=")
    texts = [
        (_EXPERIMENT + WORK).format(
            dbms=options.dbms,
            source=options.source,
            setting=setting,
            value=value,
            steps=listed(_STEPS),
            budget=options.budget,
            seed=seed,
        )
        for seed in range(1, options.runs + 1)
    ]
    with _outside(setting, value):
        runs = list(measured(texts, locate(options.home)))
    rows = [row(findings_of(*each)) for each in runs]
    if len(runs) > 1:
        rows.append(row(findings_of_joined(runs)))
    for each in rows:
        for name, found in (("inside", each.control), (f"outside ({PLANTED})", each.planted)):
            if found is not None:
                print(f"{name} / inside: {found.ratio:.4f} [{found.low:.4f}, {found.high:.4f}]")
    print("to start and end a program: {:.1f} ms outside, {:.1f} ms inside".format(*_starts()))


@contextmanager
def _outside(setting: str, value: str) -> Iterator[None]:
    """Let the servers with this setting, and their clients, run without sandboxes."""
    enter, request = Server.__enter__, ServerPool._request

    def marked(server: Server) -> bool:
        return server.values.get(setting) == value

    def started(server: Server) -> Server:
        if not marked(server):
            return enter(server)
        with mock.patch.object(process, "can_enclose", return_value=False):
            return enter(server)

    def requested(pool: ServerPool, server: Server, task: Task) -> DriverCommand:
        command = request(pool, server, task)
        return dataclasses.replace(command, sandbox=None) if marked(server) else command

    with (
        mock.patch.object(Server, "__enter__", started),
        mock.patch.object(ServerPool, "_request", requested),
    ):
        yield


def _starts() -> tuple[float, float]:
    """Return the median times of a program that does nothing, in milliseconds."""
    account = ids_of(enclosed_account())
    outside = process.Command(argv=("true",), cwd=Path("/"), account=account)
    inside = dataclasses.replace(outside, sandbox=Sandbox())
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(_STARTS):
        for command, seen in zip((outside, inside), times, strict=True):
            began = time.perf_counter()
            process.run(command)
            seen.append(1000 * (time.perf_counter() - began))
    return statistics.median(times[0]), statistics.median(times[1])


if __name__ == "__main__":
    main()
