"""How sysbench is called, which scripts it reads, and how it reaches a server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dbhone.dbms.base_protocol import Endpoint
from dbhone.errors import DriverError
from dbhone.workload.drivers._sysbench_output import PERCENTILE
from dbhone.workload.drivers.base import INTERVAL, SHORTEST_WITH_INTERVALS
from dbhone.workload.users_suite import USED


def command_line(
    program: Path, script: Path, endpoint: Endpoint, options: Mapping[str, str], command: str
) -> tuple[str, ...]:
    """Return the command line that executes a command of a script on a server."""
    words = (f"--{name}={value}" for name, value in options.items())
    return (str(program), str(script), *_connection(endpoint), *words, command)


def figures(seconds: int) -> dict[str, str]:
    """Return the options by which a run of so many seconds prints all that is read of it."""
    options = {"histogram": "on", "percentile": str(PERCENTILE)}
    if seconds >= SHORTEST_WITH_INTERVALS:
        options["report-interval"] = str(INTERVAL)
    return options


def with_used(*scripts: Path) -> tuple[Path, ...]:
    """Return scripts, and those that they use."""
    known: list[Path] = []
    unread = [*scripts]
    while unread:
        script = unread.pop(0)
        if script not in known:
            known.append(script)
            used = USED.findall(script.read_text(encoding="utf-8"))
            unread += [(script.parent / name).resolve() for name in used]
    return tuple(known)


def _connection(endpoint: Endpoint) -> tuple[str, ...]:
    if endpoint.protocol.name == "mysql":
        return (
            "--db-driver=mysql",
            f"--mysql-socket={endpoint.socket}",
            f"--mysql-user={endpoint.user}",
            f"--mysql-db={endpoint.database}",
        )
    if endpoint.protocol.name == "postgresql":
        return (
            "--db-driver=pgsql",
            f"--pgsql-host={endpoint.socket.parent}",
            f"--pgsql-port={endpoint.port}",
            f"--pgsql-user={endpoint.user}",
            f"--pgsql-db={endpoint.database}",
        )
    raise DriverError(f"sysbench does not speak {endpoint.protocol.name}")
