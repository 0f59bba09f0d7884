"""Copies of a user's data directory: real servers serve them, and the user's stays as it was."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
from pathlib import Path

import pytest

from dbhone.dbms.base_server import InstanceDir
from dbhone.errors import UsageError
from dbhone.instance import data
from dbhone.instance.client import connect
from dbhone.instance.data_in_use import check_unused
from dbhone.instance.server import Server
from tests.files import put
from tests.instance.conftest import Machine

LOCKED = {
    "postgresql": (
        "ALTER SYSTEM SET listen_addresses = '*'",
        "ALTER SYSTEM SET port = 6543",
        "CREATE ROLE boss SUPERUSER LOGIN PASSWORD 'x'",
    ),
    "mariadb": ("ALTER USER root@localhost IDENTIFIED BY 'secret'",),
}
"""What a user's server has that hone's must not keep."""
TABLE = {"postgresql": "orders", "mariadb": "shop.orders"}
"""hone's own client of MariaDB asks no database."""


def ask(server: Server, question: str) -> object:
    with contextlib.closing(connect(server.endpoint)) as client:
        return client.ask(question)[0][0]


def users_folder(machine: Machine, folder: Path) -> Path:
    """Return the data directory of a server that has been stopped, with a database of its own."""
    place = machine.made()
    with machine.server(place) as server:
        with contextlib.closing(connect(server.endpoint)) as client:
            client.tell("CREATE DATABASE shop")
        in_shop = server_of(machine, place)
        with contextlib.closing(connect(in_shop.endpoint)) as client:
            client.tell(f"CREATE TABLE {TABLE[machine.dbms.name]} (id int)")
            client.tell(f"INSERT INTO {TABLE[machine.dbms.name]} VALUES (1), (2), (3)")
            for statement in LOCKED[machine.dbms.name]:
                client.tell(statement)
    shutil.copytree(place.data, folder)
    return folder


def server_of(machine: Machine, place: InstanceDir) -> Server:
    server = machine.server(place)
    server.database = "shop"
    return server


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.integration
def test_a_copy_is_served_to_hone_though_the_original_lets_nobody_in(
    machine: Machine, open_folder: Path
) -> None:
    folder = users_folder(machine, open_folder / "users")
    before = contents(folder)
    place = machine.place()
    data.copy_from(folder, machine.dbms, machine.installation, place, machine.session)
    with server_of(machine, place) as server:
        assert ask(server, f"SELECT count(*) FROM {TABLE[machine.dbms.name]}") == 3
        if machine.dbms.name == "postgresql":
            assert ask(server, "SHOW listen_addresses") == ""
            assert ask(server, "SHOW port") == "5432"
    assert contents(folder) == before


@pytest.mark.integration
def test_a_copy_of_a_publisher_and_subscriber_keeps_no_log_and_asks_no_publisher(
    machine: Machine, open_folder: Path
) -> None:
    if machine.dbms.name != "postgresql":
        pytest.skip("MySQL's kind has no slots and subscriptions")
    users = machine.made()
    with (
        machine.server(users, wal_level="logical", max_wal_senders="4") as server,
        contextlib.closing(connect(server.endpoint)) as client,
    ):
        client.tell("SELECT pg_create_physical_replication_slot('of_a_replica', true)")
        client.tell(
            "CREATE SUBSCRIPTION orders CONNECTION 'host=/nowhere' PUBLICATION orders"
            " WITH (connect = false)"
        )
        client.tell("ALTER SUBSCRIPTION orders ENABLE")
    folder = open_folder / "users"
    shutil.copytree(users.data, folder)
    copy = machine.place()
    data.copy_from(folder, machine.dbms, machine.installation, copy, machine.session)
    with machine.server(copy) as server:
        assert ask(server, "SELECT count(*) FROM pg_subscription WHERE subenabled") == 1
        assert ask(server, "SELECT count(*) FROM pg_replication_slots") == 0
        launcher = "SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'logical%'"
        assert ask(server, launcher) == 0


@pytest.mark.integration
def test_the_folder_of_a_running_server_is_refused(machine: Machine) -> None:
    used = machine.made()
    with machine.server(used), pytest.raises(UsageError, match="a running server uses"):
        copy = machine.place()
        data.copy_from(used.data, machine.dbms, machine.installation, copy, machine.session)
    assert not any(copy.data.iterdir())
    data.copy_from(used.data, machine.dbms, machine.installation, copy, machine.session)


def test_a_snapshot_of_a_running_server_is_not_in_use(tmp_path: Path) -> None:
    for process in (os.getpid(), 1):
        (tmp_path / "postmaster.pid").write_text(f"{process}\n/var/lib/postgresql/15/main\n")
        check_unused(tmp_path)
    (tmp_path / "ibdata1").touch()
    check_unused(tmp_path)


@pytest.mark.integration
def test_sockets_of_a_server_are_left_out(machine: Machine, open_folder: Path) -> None:
    folder = users_folder(machine, open_folder / "users")
    (folder / "mysql.sock").symlink_to("/run/mysqld/mysqld.sock")
    with socket.socket(socket.AF_UNIX) as line:
        line.bind(str(folder / "mysqlx.sock"))
    copy = machine.place()
    data.copy_from(folder, machine.dbms, machine.installation, copy, machine.session)
    assert not [path for path in copy.data.iterdir() if path.suffix == ".sock"]
    with server_of(machine, copy) as server:
        assert ask(server, f"SELECT count(*) FROM {TABLE[machine.dbms.name]}") == 3


LOGS = {
    "postgresql": ("log/postgresql-Mon.log",),
    "mariadb": (
        *("mysql-bin.index", "mysql-bin.000001", "mysql-bin.000002"),
        *("db1-relay-bin.index", "db1-relay-bin.000007", "db1.err", "db1-slow.log"),
    ),
}


@pytest.mark.integration
def test_logs_of_the_user_s_server_are_not_given_to_each_server(
    machine: Machine, open_folder: Path
) -> None:
    folder = users_folder(machine, open_folder / "users")
    logs = LOGS[machine.dbms.name]
    for name in logs:
        put(folder / name, "what was logged")
    before = contents(folder)
    copy = machine.place()
    data.copy_from(folder, machine.dbms, machine.installation, copy, machine.session)
    assert [name for name in logs if (copy.data / name).exists()] == []
    assert contents(folder) == before
    logging = {"log_bin": "mysql-bin"} if machine.dbms.name == "mariadb" else {}
    with machine.server(copy, **logging) as server:
        server.database = "shop"
        assert ask(server, f"SELECT count(*) FROM {TABLE[machine.dbms.name]}") == 3


@pytest.mark.integration
def test_a_folder_that_cannot_be_copied_whole_is_refused(
    machine: Machine, open_folder: Path
) -> None:
    place = machine.place()
    empty = open_folder / "empty"
    empty.mkdir()
    with pytest.raises(UsageError, match="is not a data directory"):
        data.copy_from(empty, machine.dbms, machine.installation, place, machine.session)
    marker = machine.dbms.take_over(machine.installation, place, {}).marker
    (empty / marker).write_text("15\n")
    (empty / "tablespace").symlink_to("/etc")
    with pytest.raises(UsageError, match="is a link or a special file"):
        data.copy_from(empty, machine.dbms, machine.installation, place, machine.session)
    assert not any(place.data.iterdir())
