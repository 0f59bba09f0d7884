"""PostgreSQL as Debian runs it: the clusters of postgresql-common."""

from __future__ import annotations

import re
from pathlib import Path

from dbhone.dbms.base_service import DistributionService, ServiceInstance

_COLUMNS = 6
"""Of pg_lsclusters: version, name, port, status, owner, data directory; a log follows."""
_SUPERVISORS = frozenset({"patroni", "pacemaker"})
"""What pg_lsclusters can name in a status, such as ``online,recovery,patroni``."""


def series_of(version: str) -> str:
    """Return the series of a version, such as 15 of 15.18 and 18 of 18beta1."""
    return re.split(r"\D", version)[0]


def _instances(printed: str) -> tuple[ServiceInstance, ...]:
    lines = (line.split(maxsplit=_COLUMNS) for line in printed.splitlines())
    return tuple(_instance(words) for words in lines if len(words) >= _COLUMNS)


def _instance(words: list[str]) -> ServiceInstance:
    status = words[3].split(",")
    return ServiceInstance(
        series=words[0],
        name=words[1],
        data=Path(words[5]),
        running="online" in status,
        supervisor="".join(word for word in status if word in _SUPERVISORS),
    )


def _starts(text: str) -> bool:
    """Return whether start.conf has the word ``auto``, which is also meant where it has none."""
    words = [line.split("#")[0].strip() for line in text.splitlines()]
    return next(filter(None, words), "auto") == "auto"


SERVICE = DistributionService(
    package="postgresql-{series}",
    series=series_of,
    listing=("pg_lsclusters", "--no-header"),
    instances=_instances,
    data_series="PG_VERSION",
    restart=("pg_ctlcluster", "{series}", "{name}", "restart"),
    unit="postgresql@{series}-{name}.service",
    ask=("pg_isready", "--cluster", "{series}/{name}", "--quiet"),
    starting=1,
    pid_file="postmaster.pid",
    program="/usr/lib/postgresql/{series}/bin/postgres",
    start_file="/etc/postgresql/{series}/{name}/start.conf",
    starts=_starts,
)
