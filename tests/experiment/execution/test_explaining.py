"""Which steps can be explained, and what is observed meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.dbms.base_server import Installation, load_server_dbms
from dbhone.dbms.base_settings import Origin, RequestedSetting
from dbhone.errors import UsageError
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.execution.explaining import find_task, requests_for_waits
from dbhone.experiment.target.server_pool import ServerSpec

DECLARED = """\
title = "t"
base = "rel"

[sources]
pg = "apt:postgresql"

[subjects]
rel = { dbms = "postgresql", source = "pg" }
o3 = { like = "rel", variant = "o3" }

[workload]
suite = "batch:insert-select"
size = "smoke"

[design]
"""


def test_a_batch_can_be_explained_and_servers_that_are_up_one_at_a_time_cannot() -> None:
    assert find_task(parse(DECLARED, name="x.toml"), "run-2").set == "run-2"
    one_by_one = parse(DECLARED + 'servers = "one"\n', name="x.toml")
    with pytest.raises(UsageError, match="run-2 cannot be explained: two servers"):
        find_task(one_by_one, "run-2")


def _spec(dbms: str, **settings: str) -> ServerSpec:
    program = Path("/opt/server/bin/server")
    return ServerSpec(
        dbms=load_server_dbms(dbms),
        installation=Installation(dbms=dbms, version="1", prefix=program.parent, server=program),
        settings=tuple(RequestedSetting(name=name, value=it) for name, it in settings.items()),
    )


def test_waits_are_counted_with_settings_and_a_subjects_own_go_before() -> None:
    requests = requests_for_waits(_spec("mysql", innodb_flush_log_at_trx_commit="1"))
    assert {it.name: it.value for it in requests} == {
        "performance_schema": "ON",
        "performance_schema_instrument": "wait/synch/%=ON",
    }
    assert {it.origin for it in requests} == {Origin.CONFIG}
    (instrument,) = requests_for_waits(_spec("mariadb", performance_schema="OFF"))
    assert instrument.name == "performance_schema_instrument"
    assert requests_for_waits(_spec("postgresql")) == ()
