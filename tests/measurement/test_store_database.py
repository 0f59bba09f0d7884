"""The database of the store: how it is opened, migrated, and what is said when it is unwell."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from dbhone.errors import HoneError, MachineError, StoreBusyError, StoreError
from dbhone.measurement import database, migrations
from dbhone.measurement.record import Role, RunState
from dbhone.measurement.store import Store
from dbhone.measurement.tables import METADATA, SCHEMA
from tests.analysis.columns import columns
from tests.measurement.store_records import (
    MOMENT,
    NEW_RUN,
    STEPS,
    begin,
    invocation,
    subject,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with one run and one invocation, closed."""
    path = tmp_path / "store.db"
    with Store.open(path) as store:
        store.record(begin(store), invocation(1, "rel"))
    return path


def execute(path: Path, *statements: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        return [row for each in statements for row in connection.execute(each).fetchall()]
    finally:
        connection.close()


def differences(path: Path) -> list[object]:
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection), METADATA)
    engine.dispose()
    return list(found)


def test_a_new_store_has_the_tables_that_the_code_knows(path: Path) -> None:
    assert differences(path) == []
    (index,) = execute(path, "SELECT sql FROM sqlite_schema WHERE name LIKE '%that_count'")
    assert str(index[0]).endswith("WHERE superseded IS 0")
    (table,) = execute(path, "SELECT sql FROM sqlite_schema WHERE name = 'measurements'")
    assert "WITHOUT ROWID" in str(table[0])


def test_the_newest_migration_is_the_schema_of_the_code() -> None:
    script = ScriptDirectory.from_config(database.migrations())
    assert script.get_heads() == [SCHEMA]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A store with the tables of 0.1.0, with a run and its measurements."""
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.executescript(Path(__file__).with_name("store_0012.sql").read_text())
    connection.close()
    return path


def test_a_store_of_the_first_release_is_read_with_all_it_has(old: Path) -> None:
    with Store.open(old) as store:
        run = store.run(1)
        assert run.subjects == (subject("rel", Role.BASE), subject("pgo"))
        assert run.steps == STEPS
        assert (run.machine, run.design) == (NEW_RUN.machine, NEW_RUN.design)
        assert (run.state, run.seconds, run.finished_at) == (RunState.DONE, 9.5, MOMENT)
        assert [each.code for each in run.warnings] == ["steal"]
        assert [(each.block, each.subject) for each in store.done(1)] == [
            (1, "rel"),
            (1, "pgo"),
            (2, "pgo"),
        ]
        samples = columns(store.samples(1))
        assert samples.values["throughput"].tolist() == [2.0, 3.0, 4.0] * 2
        assert "latency_p95" not in samples.values

        store.record(1, invocation(2, "rel"))
        assert len(columns(store.samples(1)).block) == 9
    assert execute(old, "SELECT version_num FROM alembic_version") == [(SCHEMA,)]
    assert len(execute(old, "SELECT latency_p95, threads FROM results")) == 9


def test_a_store_of_the_first_release_gets_the_same_tables_as_a_new_one(
    old: Path, path: Path
) -> None:
    Store.open(old).close()
    assert differences(old) == []
    shape = "SELECT type, name, tbl_name FROM sqlite_schema ORDER BY 1, 2"
    assert execute(old, shape) == execute(path, shape)
    for table in (*METADATA.tables, "results"):
        columns = f"SELECT name, type, \"notnull\", pk FROM pragma_table_info('{table}')"
        assert sorted(execute(old, columns)) == sorted(execute(path, columns))


_NEXT = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "next", "{SCHEMA}"

def upgrade():
    op.add_column("runs", sa.Column("remark", sa.Text, server_default="none"))
"""


@pytest.fixture
def next_migration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The migration by which a next hone brings a store up to date."""
    folder = tmp_path / "migrations"
    shutil.copytree(Path(migrations.__file__).parent, folder)
    (folder / "versions" / "next.py").write_text(_NEXT.replace("{SCHEMA}", SCHEMA))
    config = Config()
    config.set_main_option("script_location", str(folder))
    monkeypatch.setattr(database, "migrations", lambda: config)
    monkeypatch.setattr(database, "SCHEMA", "next")
    return folder / "versions" / "next.py"


@pytest.mark.usefixtures("next_migration")
def test_an_older_store_is_brought_up_to_date_and_keeps_all_it_had(old: Path) -> None:
    with Store.open(old) as store:
        assert store.run(1).finished_at == MOMENT
        assert len(columns(store.samples(1)).block) == 6
    assert execute(old, "SELECT version_num FROM alembic_version") == [("next",)]
    assert execute(old, "SELECT remark FROM runs") == [("none",)]


def test_an_upgrade_that_fails_leaves_the_older_store_as_it_was(
    old: Path, next_migration: Path
) -> None:
    with next_migration.open("a") as file:
        file.write('    op.execute("UPDATE runs SET no_column = 1")\n')
    shape = "SELECT sql FROM sqlite_schema ORDER BY name"
    before = execute(old, shape, "SELECT * FROM results")
    with pytest.raises(StoreError, match="bringing its tables up to date"):
        Store.open(old)
    assert execute(old, shape, "SELECT * FROM results") == before


def test_a_committed_measurement_is_on_the_disk(path: Path) -> None:
    opened = database.open_database(path)
    with opened.writing("looking") as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    opened.close()
    assert pragmas == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 30_000,
    }


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "store.db").touch()
    with Store.open(tmp_path / "store.db") as store:
        assert begin(store) == 1


def test_a_store_of_a_newer_hone_is_left_alone(path: Path) -> None:
    execute(path, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreError, match="written by a newer hone") as caught:
        Store.open(path)
    assert "update hone" in str(caught.value.hint)
    assert execute(path, "SELECT version_num FROM alembic_version") == [("9999",)]


def test_a_migration_that_fails_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise sa.exc.InvalidRequestError("its revision cannot be noted")

    with monkeypatch.context() as patch:
        patch.setattr(command, "stamp", fail)
        with pytest.raises(StoreError, match="bringing its tables up to date"):
            Store.open(tmp_path / "store.db")
    assert execute(tmp_path / "store.db", "SELECT name FROM sqlite_schema") == []

    with Store.open(tmp_path / "store.db") as store:
        assert store.runs() == ()


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_database_of_another_program_is_left_alone(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "other.db"
    execute(path, f"PRAGMA journal_mode = {mode}", "CREATE TABLE bookmarks (url)")
    with pytest.raises(StoreError, match=f"{path} is a database of another program"):
        Store.open(path)
    assert execute(path, "SELECT name FROM sqlite_schema") == [("bookmarks",)]
    assert execute(path, "PRAGMA journal_mode") == [(mode,)]


def test_a_file_that_is_no_database_is_told_to_be_damaged(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"this is not a database, and it is longer than a header of SQLite" * 100)
    with pytest.raises(StoreError, match=f"{path} failed .* its file is damaged") as caught:
        Store.open(path)
    assert "move the file away" in str(caught.value.hint)


def test_damage_inside_the_file_is_told_when_it_is_met(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    with pytest.raises(StoreError, match="its file is damaged"), Store.open(path) as store:
        store.samples(1)


def test_a_folder_that_does_not_exist_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="its file cannot be opened") as caught:
        Store.open(tmp_path / "nowhere" / "store.db")
    assert "folder exists" in str(caught.value.hint)


def test_a_full_disk_is_told_and_loses_nothing(path: Path) -> None:
    opened = database.open_database(path)
    store = Store(opened)
    with opened.reading("filling the disk") as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")  # as many as there are
    with pytest.raises(MachineError, match=r"no space left on .*store\.db while recording"):
        for block in range(2, 200):
            store.record(1, invocation(block, "rel"))
    kept = [each.block for each in store.done(1)]
    with opened.reading("making room") as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 100000")

    assert kept == list(range(1, len(kept) + 1))
    store.record(1, invocation(len(kept) + 1, "rel"))
    assert len(columns(store.samples(1)).block) == 3 * (len(kept) + 1)
    store.close()


def test_a_store_that_another_program_holds_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_PATIENCE", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Store.open(path) as store:
        assert store.last_run_id() == 1
        with pytest.raises(StoreBusyError, match="another program has held it") as caught:
            store.record(1, invocation(2, "rel"))
        other.execute("ROLLBACK")
        store.record(1, invocation(2, "rel"))
    other.close()
    assert "wait for that program" in str(caught.value.hint)


def test_who_finds_the_file_being_made_tries_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite does not wait for a lock when the journal's mode is set, whatever its timeout."""
    busy = sqlite3.OperationalError("database is locked")
    busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
    refusals = [busy, busy]
    really = database._journal_mode

    def refused_at_first(connection: sqlite3.Connection) -> str:
        if refusals:
            raise refusals.pop()
        return really(connection)

    monkeypatch.setattr(database, "_journal_mode", refused_at_first)
    with Store.open(tmp_path / "store.db") as store:
        assert store.runs() == ()
    assert refusals == []

    refusals.append(busy)
    monkeypatch.setattr(database, "_PATIENCE", -1)
    with pytest.raises(StoreError, match="another program has held it"):
        Store.open(tmp_path / "store.db")


def test_a_disk_error_on_a_full_disk_is_told_as_a_full_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE

    def explained(*, full: bool) -> HoneError:
        monkeypatch.setattr(database, "_no_room", lambda _name: full)
        return database.explain(error, Path("/store.db"), "recording")

    assert isinstance(explained(full=True), MachineError)
    assert "the disk does not read or write" in explained(full=False).message


def test_a_store_on_a_network_file_system_is_refused_and_left_as_it_is(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = path.with_name("mountinfo")
    mounts.write_text(f"30 1 0:30 / {path.parent.resolve()} rw - nfs4 server:/home rw\n")
    monkeypatch.setattr("dbhone.home._MOUNTS", mounts)
    for opening in (Store.open, Store.open_to_read):
        with pytest.raises(MachineError, match=f"{path} is on a network file system"):
            opening(path)
    with pytest.raises(MachineError, match="network file system"):
        Store.open(path.with_name("new.db"))
    assert sorted(path.parent.iterdir()) == [mounts, path]


def test_a_disk_on_which_no_write_ahead_log_can_be_kept_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_journal_mode", lambda _: "delete")
    with pytest.raises(StoreError, match="must be a file on a disk of this machine"):
        Store.open(tmp_path / "store.db")


class TestReading:
    def test_nothing_can_be_written(self, path: Path) -> None:
        before = path.read_bytes()
        with Store.open_to_read(path) as store:
            assert [each.id for each in store.runs()] == [1]
            assert len(columns(store.samples(1)).block) == 3
            with pytest.raises(StoreError, match="may not be written") as caught:
                store.record(1, invocation(2, "rel"))
        assert "permission" in str(caught.value.hint)
        assert path.read_bytes() == before

    def test_what_is_recorded_meanwhile_is_seen_next_time(self, path: Path) -> None:
        with Store.open_to_read(path) as reader, Store.open(path) as writer:
            before = reader.progress(1)
            assert (before.invocations, before.blocks, before.in_block) == (1, 1, 1)
            writer.record(1, invocation(1, "pgo", failure="it crashed"))
            after = reader.progress(1)
        assert (after.invocations, after.blocks, after.in_block, after.failures) == (2, 1, 2, 1)
        assert after.latest is not None
        assert (after.latest.subject, after.latest.block) == ("pgo", 1)

    def test_a_writers_open_transaction_does_not_make_it_wait(self, path: Path) -> None:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE runs SET title = 'half'")
        with Store.open_to_read(path) as store:
            assert store.runs()[0].title == NEW_RUN.title
        other.execute("ROLLBACK")
        other.close()

    def test_a_store_that_is_not_there_is_not_made(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match="there is nothing in the store") as caught:
            Store.open_to_read(tmp_path / "store.db")
        assert "'hone try' makes a run" in str(caught.value.hint)
        (tmp_path / "store.db").touch()
        with pytest.raises(StoreError, match="there is nothing in the store"):
            Store.open_to_read(tmp_path / "store.db")
        assert (tmp_path / "store.db").read_bytes() == b""

    @pytest.mark.usefixtures("next_migration")
    def test_an_older_store_is_told_and_left_as_it_is(self, old: Path) -> None:
        before = old.read_bytes()
        with pytest.raises(StoreError, match=r"by an older hone .* revision 0012") as caught:
            Store.open_to_read(old)
        assert "'hone runs' brings it up to date" in str(caught.value.hint)
        assert old.read_bytes() == before

    def test_a_store_of_before_the_first_release_is_refused(self, old: Path) -> None:
        execute(old, "UPDATE alembic_version SET version_num = '0011'")
        for opening in (Store.open_to_read, Store.open):
            with pytest.raises(StoreError, match=r"was written before hone 0\.1\.0") as caught:
                opening(old)
            assert "choose another home" in str(caught.value.hint)

    def test_a_newer_store_a_foreign_and_a_damaged_one_are_told(self, path: Path) -> None:
        execute(path, "UPDATE alembic_version SET version_num = '9999'")
        with pytest.raises(StoreError, match=f"the store {path} was written by a newer hone"):
            Store.open_to_read(path)
        foreign = path.with_name("foreign.db")
        execute(foreign, "CREATE TABLE bookmarks (url)")
        with pytest.raises(StoreError, match=f"{foreign} is a database of another program"):
            Store.open_to_read(foreign)
        damaged = path.with_name("damaged.db")
        damaged.write_bytes(b"this is not a database, and it is longer than a header" * 100)
        with pytest.raises(StoreError, match=f"{damaged} failed .* its file is damaged"):
            Store.open_to_read(damaged)

    def test_on_a_read_only_disk_it_is_opened_to_be_read(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(database, "_is_read_only", lambda _: True)
        with Store.open(path) as store:
            assert [each.id for each in store.runs()] == [1]
            assert [file.name for file in path.parent.iterdir()] == [path.name]
            with pytest.raises(StoreError, match="may not be written"):
                store.record(1, invocation(2, "rel"))

    def test_a_read_only_disk_that_keeps_the_last_writes_apart_is_told(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path.with_name(f"{path.name}-wal").write_bytes(b"what was written last")
        monkeypatch.setattr(database, "_is_read_only", lambda _: True)
        with pytest.raises(StoreError, match=r"lacks what is in store\.db-wal"):
            Store.open(path)

    @pytest.mark.parametrize("name", ["a b.db", "50%.db", "what?.db", "#1.db"])
    def test_a_file_of_any_name_can_be_read(self, path: Path, name: str) -> None:
        odd = path.with_name(name)
        path.rename(odd)
        with Store.open_to_read(odd) as store:
            assert len(store.runs()) == 1


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE runs SET created_at = 'yesterday'",
        "UPDATE runs SET state = 'sleeping'",
        "UPDATE subjects SET role = 'judge'",
        "UPDATE subjects SET flags = '[1'",
        "UPDATE invocations SET started_at = '2026-99-99 00:00:00'",
        "UPDATE steps SET step_group = x'ff'",
    ],
)
def test_a_value_that_no_hone_has_written_is_an_error_with_a_next_step(
    path: Path, change: str
) -> None:
    execute(path, change)
    with pytest.raises(StoreError, match="it holds a value that is wrong") as caught, read(path):
        pass
    assert caught.value.hint is not None
    assert "restore a copy" in caught.value.hint


def read(path: Path) -> Store:
    with Store.open(path) as store:
        store.run(1)
        store.runs()
        store.done(1)
        store.samples(1)
    return store


@pytest.mark.usefixtures("next_migration")
def test_tables_that_are_not_those_of_their_revision_are_told_with_a_next_step(old: Path) -> None:
    execute(old, "ALTER TABLE runs ADD COLUMN remark TEXT")
    with pytest.raises(StoreError, match="duplicate column name") as caught:
        Store.open(old)
    assert caught.value.hint is not None
    assert "move the file away" in caught.value.hint
