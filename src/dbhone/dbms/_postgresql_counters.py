"""What PostgreSQL counts of itself: its statistics views, and what its processes wait for.

A view is summed over its rows: all databases, tables, kinds of processes. Its columns are asked
for by what they are, not by their names, for those differ from version to version.
"""

from __future__ import annotations

import re

from dbhone.dbms.base_counters import BACKGROUND, NOTHING, CounterSource


def _view(name: str, counts: str, levels: str = "") -> CounterSource:
    return CounterSource(
        name=name,
        counts=counts,
        query=f"SELECT e.key, sum(e.value::float8) FROM {name} AS s,"
        " json_each_text(row_to_json(s)) AS e"
        " WHERE e.value ~ '^-?[0-9]+([.][0-9]+)?(e[+-]?[0-9]+)?$' AND e.key !~ 'id$'"
        " GROUP BY e.key",
        among=" HAVING e.key IN ({names})",
        levels=re.compile(levels) if levels else NOTHING,
    )


SOURCES = (
    _view("pg_stat_database", "transactions, blocks, rows of all databases", "numbackends"),
    _view("pg_stat_bgwriter", "buffers written; until 16 checkpoints, too"),
    _view("pg_stat_checkpointer", "checkpoints, from 17 on"),
    _view("pg_stat_wal", "the write-ahead log, from 14 on"),
    # Until 17 it has the size of a block in each row.
    _view("pg_stat_io", "reads and writes, from 16 on", "op_bytes"),
    _view(
        "pg_stat_user_tables",
        "scans and rows of all tables",
        "n_live_tup|n_dead_tup|n_mod_since_analyze|n_ins_since_vacuum",
    ),
    CounterSource(
        name="pg_stat_activity",
        counts="how many processes wait at the moment, by TYPE:EVENT",
        # The type Activity is the server's own processes when there is nothing to do.
        query="SELECT wait_event_type || ':' || wait_event, count(*) FROM pg_stat_activity"
        " WHERE wait_event_type <> 'Activity' GROUP BY 1",
        levels=re.compile(r".*"),
        passing=True,
    ),
)

# Only clients' processes have a client's port, be it that of a socket file; the kind of a process
# is told from 10 on only. In Timeout a background process sleeps because it is told to.
_ORIGIN = f"CASE WHEN client_port IS NULL THEN '{BACKGROUND}' ELSE '' END"
WAITS = CounterSource(
    name="waits",
    counts="how many processes wait at the moment, by TYPE:EVENT",
    query=f"SELECT {_ORIGIN} || wait_event_type || ':' || wait_event, count(*)"
    " FROM pg_stat_get_activity(NULL)"
    " WHERE wait_event_type NOT IN ('Activity', 'Client') AND pid <> pg_backend_pid()"
    " AND (client_port IS NOT NULL OR wait_event_type <> 'Timeout') GROUP BY 1",
    levels=re.compile(r".*"),
    passing=True,
)
