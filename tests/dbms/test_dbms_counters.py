"""Counters as real servers told them: ``answers/`` was recorded from them, some names of each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dbhone.dbms.base_counters import CounterSource, Reading, quoted
from dbhone.dbms.base_server import ServerDbms
from dbhone.dbms.mariadb import MariaDb
from dbhone.dbms.myrocks import MyRocks
from dbhone.dbms.mysql import Mysql
from dbhone.dbms.postgresql import Postgresql

ANSWERS = sorted((Path(__file__).parent / "answers").glob("*.json"))
SYSTEMS: dict[str, ServerDbms] = {
    "mysql": Mysql(),
    "mariadb": MariaDb(),
    "myrocks": MyRocks(),
    "postgresql": Postgresql(),
}


def source(dbms: str, name: str) -> CounterSource:
    return next(each for each in SYSTEMS[dbms].counters if each.name == name)


def readings(server: str, name: str) -> dict[str, Reading]:
    rows = json.loads((Path(__file__).parent / "answers" / f"{server}.json").read_text())[name]
    return {each.name: each for each in source(server.partition("-")[0], name).read(rows)}


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: path.stem)
def test_every_answer_is_read_and_what_is_no_number_is_left_out(path: Path) -> None:
    for name, rows in json.loads(path.read_text()).items():
        found = readings(path.stem, name)
        words = {row[0] for row in rows if isinstance(row[1], str) and not row[1][:1].isdigit()}
        assert set(found) == {row[0] for row in rows} - words
        assert all(each.value >= 0 for each in found.values())


@pytest.mark.parametrize("server", ["mysql-8.0.12", "mariadb-10.1.8", "mariadb-11.4.5"])
def test_status_tells_what_goes_up_and_down_from_what_only_grows(server: str) -> None:
    found = readings(server, "status")
    levels = {name for name, each in found.items() if each.level}
    assert {
        *("Innodb_buffer_pool_pages_dirty", "Innodb_row_lock_current_waits", "Threads_running"),
        *("Innodb_page_size", "Open_tables", "Prepared_stmt_count", "Key_blocks_unused"),
    } <= levels
    assert not levels & {
        *("Innodb_buffer_pool_pages_flushed", "Innodb_row_lock_waits", "Threads_created"),
        *("Questions", "Bytes_sent", "Opened_tables", "Innodb_data_fsyncs", "Innodb_rows_updated"),
    }


@pytest.mark.parametrize(
    ("dbms", "name", "levels", "counters"),
    [
        (
            "mariadb",
            "status",
            {
                *("Delayed_insert_threads", "Error_log_buffered_bytes", "Innodb_ibuf_size"),
                *("Innodb_checkpoint_age", "Innodb_checkpoint_target_age"),
                *("Innodb_read_views_memory", "Innodb_descriptors_memory"),
                *("Innodb_adaptive_hash_cells", "Innodb_adaptive_hash_heap_buffers"),
            },
            {
                *("Delayed_writes", "Delayed_errors", "Error_log_expired_events"),
                *("Innodb_ibuf_discarded_inserts", "Innodb_ibuf_discarded_deletes"),
                *("Innodb_ibuf_discarded_delete_marks", "Innodb_ibuf_merged_inserts"),
                *("Innodb_ibuf_merges", "Innodb_adaptive_hash_hash_searches"),
            },
        ),
        (
            "myrocks",
            "status",
            {
                *("rocksdb_memtable_total", "rocksdb_memtable_unflushed", "rocksdb_num_iterators"),
                "rocksdb_manual_compactions_running",
            },
            {
                *("rocksdb_memtable_hit", "rocksdb_manual_compactions_processed"),
                *("rocksdb_number_keys_read", "rocksdb_bytes_written"),
            },
        ),
        ("postgresql", "pg_stat_io", {"op_bytes"}, {"reads", "read_bytes", "hits"}),
    ],
)
def test_other_versions_have_counters_beside_levels_of_like_names(
    dbms: str, name: str, levels: set[str], counters: set[str]
) -> None:
    found = source(dbms, name).read([(each, "1") for each in levels | counters])
    assert {each.name for each in found if each.level} == levels


@pytest.mark.parametrize("server", ["mysql-8.0.12", "mariadb-10.1.8"])
def test_a_metric_of_innodb_is_of_one_kind_whatever_the_version_says(server: str) -> None:
    found = readings(server, "innodb")
    assert {name for name, each in found.items() if each.level} == {
        "buffer_pool_pages_dirty",
        "log_lsn_checkpoint_age",
        "trx_rseg_history_len",
    }


def test_waits_are_told_in_seconds() -> None:
    found = readings("mysql-8.0.12", "waits")["wait/io/file/innodb/innodb_log_file"]
    assert found.value == pytest.approx(4.554678)
    assert not found.level


def test_the_views_of_postgresql_have_other_columns_in_each_version() -> None:
    assert "checkpoints_req" in readings("postgresql-13.16", "pg_stat_bgwriter")
    assert "checkpoints_req" not in readings("postgresql-18.6", "pg_stat_bgwriter")
    assert "num_requested" in readings("postgresql-18.6", "pg_stat_checkpointer")
    found = readings("postgresql-9.6.24", "pg_stat_database")
    assert [name for name, each in found.items() if each.level] == ["numbackends"]


def test_a_question_for_some_names_quotes_them() -> None:
    assert quoted("it's") == "'it''s'"
    assert source("mysql", "status").statement(("Questions", "a'b")) == (
        "SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions', 'a''b')"
    )
    assert (
        source("postgresql", "pg_stat_wal")
        .statement(("wal_bytes",))
        .endswith(" GROUP BY e.key HAVING e.key IN ('wal_bytes')")
    )


def test_a_metric_is_enabled_by_a_pattern() -> None:
    assert source("mariadb", "innodb").enabling("lock_deadlocks") == (
        "SET GLOBAL innodb_monitor_enable = 'lock_deadlocks%'"
    )


@pytest.mark.parametrize("dbms", SYSTEMS)
def test_names_of_sources_are_unique_and_have_no_dot(dbms: str) -> None:
    names = [each.name for each in SYSTEMS[dbms].counters]
    assert len(names) == len(set(names)) > 2
    assert not any("." in name for name in names)
