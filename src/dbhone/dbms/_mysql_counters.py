"""What servers of MySQL's kind count of themselves: status, InnoDB's metrics, waits.

Every version from 5.6 on, and every MariaDB from 10.1 on, answers these queries.
"""

from __future__ import annotations

import re

from dbhone.dbms.base_counters import BACKGROUND, CounterSource

# The manuals do not say which of the status variables go up and down, and which metrics do
# INNODB_METRICS says differently in each version. So their names tell it, as in every version
# a name means the same.
_STATUS = re.compile(
    r"Threads_(?:cached|connected|running)|Threadpool_(?:idle_)?threads|Delayed_insert_threads"
    r"|Open_(?:files|streams|tables|table_definitions)|Max_used_connections|Prepared_stmt_count"
    r"|Innodb_buffer_pool_pages_(?:data|dirty|free|misc|old|total|latched)"
    r"|Innodb_buffer_pool_bytes_(?:data|dirty)|Innodb_buffer_pool_load_incomplete"
    r"|Innodb_(?:data|os_log)_pending_\w+|Innodb_row_lock_(?:current_waits|time_avg|time_max)"
    r"|Innodb_(?:page_size|num_open_files|history_list_length|current_row_locks)"
    r"|Innodb_checkpoint_(?:age|max_age|target_age)|Innodb_(?:read_views|descriptors)_memory"
    r"|Innodb_(?:mem|ibuf)_(?!merge|discarded)\w+|Innodb_undo_tablespaces_\w+"
    r"|Innodb_adaptive_hash_(?:cells|heap_buffers)|Error_log_(?:buffered_bytes|latest_write)"
    r"|Innodb_num_page_compressed_trim_op_saved|Innodb_redo_log_(?:capacity_resized|logical_size"
    r"|physical_size|enabled|read_only)"
    r"|Key_blocks_\w+|Qcache_(?:free_\w+|queries_in_cache|total_blocks)|Aria_pagecache_blocks_\w+"
    r"|rocksdb_(?:memtable_(?:total|unflushed)|manual_compactions_(?:pending|running)|num_iterators)"
    r"|Memory_used(?:_initial)?|Global_connection_memory|Current_tls_\w+|Slave_\w+|Rpl_\w+|Ssl_\w+"
    r"|Uptime\w*|Performance_schema_session_connect_attrs_longest_seen|Not_flushed_delayed_rows"
)
_METRICS = re.compile(
    r"buffer_pool_(?:size|pages_\w+|bytes_\w+)|metadata_mem_pool_size|file_num_open_files"
    r"|lock_(?:rec|table)_locks|lock_threads_waiting|lock_row_lock_current_waits"
    r"|lock_row_lock_time_(?:max|avg)|trx_(?:rollback_active|active_transactions)"
    r"|trx_rseg_(?:history_len|current_size)|log_lsn_(?:checkpoint_age|buf_dirty_pages_added)"
    r"|log_max_modified_age_\w+|buffer_flush_(?:n_to_flush|pct_for)_\w+|buffer_flush_lsn_avg_rate"
    r"|\w+_avg_(?:time|pass|page_rate)\w*|\w+_pending_\w+|purge_dml_delay_usec"
    r"|ibuf_size|innodb_page_size|cpu_n|cpu_\w+_pct"
)

_GLOBAL_WAITS = "performance_schema.events_waits_summary_global_by_event_name"
_WAITS_SETTINGS = {
    "performance_schema": "ON",
    # Mutexes and the like are only counted if that is said when the server starts.
    "performance_schema_instrument": "{prefix}%=ON",
}
_PICOSECONDS = 1e-12

SOURCES = (
    CounterSource(
        name="status",
        counts="what SHOW GLOBAL STATUS shows",
        query="SHOW GLOBAL STATUS",
        among=" WHERE Variable_name IN ({names})",
        levels=_STATUS,
    ),
    CounterSource(
        name="innodb",
        counts="what information_schema.INNODB_METRICS counts",
        query="SELECT NAME, COUNT FROM information_schema.INNODB_METRICS",
        among=" WHERE NAME IN ({names})",
        levels=_METRICS,
        # Many are off until they are asked for. Some belong to a group and are refused by their
        # name alone, but not by a pattern.
        enable="SET GLOBAL innodb_monitor_enable = '{name}%'",
    ),
    CounterSource(
        name="waits",
        counts="the seconds that threads waited, by performance_schema's events",
        query=f"SELECT EVENT_NAME, SUM_TIMER_WAIT FROM {_GLOBAL_WAITS}",
        among=" WHERE EVENT_NAME IN ({names})",
        factor=_PICOSECONDS,
        unit="s",
        settings=_WAITS_SETTINGS,
    ),
    CounterSource(
        name="wait-counts",
        counts="how often threads waited, by performance_schema's events",
        query=f"SELECT EVENT_NAME, COUNT_STAR FROM {_GLOBAL_WAITS}",
        among=" WHERE EVENT_NAME IN ({names})",
        settings=_WAITS_SETTINGS,
    ),
    CounterSource(
        name="file-reads",
        counts="the bytes read from each file, named with its folder",
        query="SELECT SUBSTRING_INDEX(FILE_NAME, '/', -2) AS file, SUM(SUM_NUMBER_OF_BYTES_READ)"
        " FROM performance_schema.file_summary_by_instance GROUP BY file",
        among=" HAVING file IN ({names})",
        unit="B",
        settings={"performance_schema": "ON"},
    ),
)

# Summed by account they last longer than the connections. The server's own threads have no user.
# Files and what synchronises threads are innermost; wait/io/table and wait/lock contain them, and
# the CPU time between. At a condition the server's own threads wait for work.
WAITS = CounterSource(
    name="waits",
    counts="the seconds that threads waited, by performance_schema's events",
    query=f"SELECT CONCAT(IF(USER IS NULL, '{BACKGROUND}', ''), EVENT_NAME) AS told,"
    " SUM(SUM_TIMER_WAIT)"
    " FROM performance_schema.events_waits_summary_by_account_by_event_name"
    " WHERE SUM_TIMER_WAIT > 0 AND (EVENT_NAME LIKE 'wait/io/file/%'"
    " OR EVENT_NAME LIKE 'wait/synch/%' AND NOT"
    " (USER IS NULL AND EVENT_NAME LIKE 'wait/synch/cond/%'))"
    " AND (USER IS NULL OR USER = SUBSTRING_INDEX(USER(), '@', 1)) GROUP BY told",
    factor=_PICOSECONDS,
    unit="s",
    # Files are counted unless they are switched off.
    settings={"performance_schema": "ON", "performance_schema_instrument": "wait/synch/%=ON"},
)
