"""The settings that hone proposes for servers of MySQL's kind, and why."""

from __future__ import annotations

from dbhone.dbms.base_server import Settings, SizingHints


def proposed(room: SizingHints) -> Settings:
    """Return settings that let the server's own code be what takes the time."""
    return {
        "innodb_buffer_pool_size": str(room.cache_bytes),
        "max_connections": str(room.connections),
        # Each client prepares its statements for each table.
        "max_prepared_stmt_count": "1000000",
        # Else one measures how long the disk takes to confirm each commit. The log is
        # still written at each, and on the disk once a second.
        "innodb_flush_log_at_trx_commit": "2",
        # No replica reads it: on in one version and off in another it would decide all.
        "skip_log_bin": "ON",
        "sync_binlog": "0",
        # Large enough that a measured step does not wait for pages to be written out, and as
        # large in all versions, whether they have it in one file, two or many.
        "innodb_redo_log_capacity": "1G",
        # Pages are not kept twice, by the server and by the kernel, unless the kernel's
        # cache is what is to hold the data.
        "innodb_flush_method": "fsync" if room.os_cached else "O_DIRECT",
        # The cache is as the warm-up leaves it, not as some former instance left it.
        "innodb_buffer_pool_load_at_startup": "OFF",
        "innodb_buffer_pool_dump_at_shutdown": "OFF",
        # On in MySQL and off in MariaDB; its price is up to a tenth of the throughput.
        "performance_schema": "OFF",
        # Nothing leaves the machine. MariaDB 11.4 would make itself a new key at each
        # start, which takes seconds, and clients would encrypt.
        "ssl": "OFF",
        # What versions take by themselves differs: latin1 till MySQL 5.7 and MariaDB 11.5, then
        # utf8mb4 by Unicode's rules, which costs a sort or DISTINCT of texts most of its time.
        "character_set_server": "latin1",
        "collation_server": "latin1_swedish_ci",
        # Would answer what was asked before without asking the engine.
        "query_cache_type": "OFF",
        "query_cache_size": "0",
    }
