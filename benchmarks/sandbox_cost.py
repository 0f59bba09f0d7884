"""What a sandbox costs: a server and its clients inside, beside the same outside, in one run.

Usage: ``.venv/bin/python -m benchmarks.sandbox_cost --home FOLDER [--dbms DBMS --source SOURCE
--mark NAME=VALUE] [--runs N] [--budget DURATION] [--pairs N] [--programs FOLDER]``

The one outside, which is in no control group either, is known by a setting that costs nothing. It
is the candidate, the one inside the base, and another inside the control. Then programs run inside
and outside in turn: one that does nothing, one that does nothing but system calls, and a backend of
PostgreSQL that reads and writes for nobody. Of one program the CPU time is known far better than
that of two servers.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import pwd
import random
import statistics
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import combinations_with_replacement
from pathlib import Path
from unittest import mock

from benchmarks.alarms import PLANTED, experiments, measured
from dbhone import process
from dbhone.account import Account, Tenant
from dbhone.command import Command
from dbhone.dbms.base_server import Installation, load_server_dbms
from dbhone.experiment.target.server_clients import ServerClients
from dbhone.home import locate
from dbhone.instance import data
from dbhone.instance.place import make_place, remove_place
from dbhone.instance.server import Server
from dbhone.measurement.metric import CPU_SECONDS, THROUGHPUT
from dbhone.report.findings import findings_of, findings_of_joined
from dbhone.sandbox import Sandbox
from dbhone.session import Session, open_session
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
_FOLDER = Path("/")
_ROWS, _STATEMENTS, _WRITES = 100_000, 10_000, 0.2
_NORMAL = 1.96
_TABLE = f"""\
CREATE TABLE t AS SELECT i AS id, 0 AS n, repeat('x', 100) AS pad FROM generate_series(1, {_ROWS}) i
CREATE UNIQUE INDEX t_id ON t (id)
ANALYZE t
"""
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
    parser.add_argument(
        "--programs",
        type=Path,
        default=Path("/usr/lib/postgresql/15/bin"),
        help="PostgreSQL's, for a backend without clients",
    )
    options = parser.parse_args()
    if options.runs:
        _print_servers(options)
    with open_session(locate(options.home)) as session, tenancy(session) as tenant:
        starts = _starts(tenant)
        times = [1000 * statistics.median(one.seconds for one in side) for side in starts]
        print("to start and end a program: {:.1f} ms outside, {:.1f} ms inside".format(*times))
        calls = Command(argv=_CALLS, cwd=_FOLDER, tenant=tenant, sandbox=Sandbox())
        _print_pairs("system calls", calls, starts, options.pairs)
    with open_session(locate(options.home)) as session, _backend(session, options.programs) as one:
        _print_pairs("a backend of PostgreSQL", one, starts, options.pairs)


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
    enter, request = Server.__enter__, ServerClients._command

    def marked(server: Server) -> bool:
        return server.values.get(setting) == value

    def started(server: Server) -> Server:
        if not marked(server):
            return enter(server)
        tenant = dataclasses.replace(server.place.tenant, group=None)
        server.place = dataclasses.replace(server.place, tenant=tenant)
        with mock.patch.object(process, "can_enclose", return_value=False):
            return enter(server)

    def requested(clients: ServerClients, server: Server, task: Task) -> DriverCommand:
        command = request(clients, server, task)
        return (
            dataclasses.replace(command, sandbox=None, tenant=None) if marked(server) else command
        )

    with (
        mock.patch.object(Server, "__enter__", started),
        mock.patch.object(ServerClients, "_command", requested),
    ):
        yield


def _starts(tenant: Tenant) -> tuple[tuple[process.Finished, ...], tuple[process.Finished, ...]]:
    """Return how a program that does nothing went, outside and inside, over and over."""
    nothing = Command(argv=("true",), cwd=_FOLDER, tenant=tenant, sandbox=Sandbox())
    outside, inside = zip(*(_pair(nothing) for _ in range(_STARTS)), strict=True)
    return outside, inside


@contextmanager
def _backend(session: Session, programs: Path) -> Iterator[Command]:
    """Yield the command of a backend that answers a file of statements, on data of its own."""
    installation = Installation(
        dbms="postgresql",
        version="15",
        prefix=programs.parent,
        server=programs / "postgres",
    )
    queries = session.workdir("queries") / "queries"
    chance = random.Random(1)
    with tenancy(session) as lent, ExitStack() as stack:
        # A backend that no server started looks up its account, and a lent one exists inside only.
        entry = pwd.getpwnam("daemon")
        account = Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
        place = make_place(session, dataclasses.replace(lent, account=account))
        stack.callback(remove_place, place)
        data.make(load_server_dbms("postgresql"), installation, place, session)
        command = Command(
            # Without waiting for the disk, whose time is no cost of a sandbox.
            argv=(str(installation.server), "--single", f"-D{place.data}", "-O", "-F", "postgres"),
            cwd=_FOLDER,
            stdin=queries,
            tenant=place.tenant,
            sandbox=Sandbox(writable=(place.data,)),
        )
        queries.write_text(_TABLE)
        loaded = process.run(command)
        assert loaded.ok, loaded.text()
        queries.write_text("".join(_statement(chance) for _ in range(_STATEMENTS)))
        yield command


def _statement(chance: random.Random) -> str:
    row = chance.randrange(_ROWS)
    if chance.random() < _WRITES:
        return f"UPDATE t SET n = n + 1 WHERE id = {row}\n"
    # One row for each: what it prints is read and kept.
    return f"SELECT sum(n), max(pad) FROM t WHERE id BETWEEN {row} AND {row + 9}\n"


def _print_pairs(
    what: str,
    inside: Command,
    starts: tuple[tuple[process.Finished, ...], tuple[process.Finished, ...]],
    pairs: int,
) -> None:
    """Measure and print the ratio of a program's CPU times, with its 95 % interval.

    What it takes to start and end any program, outside and inside, is taken away. On a shared
    machine some runs are far slower than others. So the estimate is the median of the averages of
    all two pairs (J. L. Hodges and E. L. Lehmann, 1963), and the interval that of Wilcoxon's test.
    """
    starting = [statistics.median(one.cpu_seconds for one in side) for side in starts]
    logs = []
    for _ in range(pairs):
        pair = _pair(inside)
        outside, enclosed = (
            one.cpu_seconds - start for one, start in zip(pair, starting, strict=True)
        )
        logs.append(math.log(enclosed / outside))
    averages = sorted((one + other) / 2 for one, other in combinations_with_replacement(logs, 2))
    spread = _NORMAL * math.sqrt(pairs * (pairs + 1) * (2 * pairs + 1) / 24)
    first = max(0, round(pairs * (pairs + 1) / 4 - spread))
    ratios = (statistics.median(averages), averages[first], averages[-1 - first])
    ratio, low, high = (math.exp(log) for log in ratios)
    print(
        f"CPU time of {what}, inside / outside: {ratio:.4f} ({low:.4f} to {high:.4f})", flush=True
    )


def _pair(inside: Command) -> tuple[process.Finished, process.Finished]:
    """Run a program outside and inside, in random order; return how it went."""
    assert inside.tenant is not None
    alone = dataclasses.replace(inside.tenant, group=None)
    commands = (dataclasses.replace(inside, tenant=alone, sandbox=None), inside)
    ends: dict[int, process.Finished] = {}
    for at in random.sample(range(2), 2):
        ends[at] = process.run(commands[at])
        assert ends[at].ok, ends[at].text()
    return ends[0], ends[1]


if __name__ == "__main__":
    main()
