"""Generated queries by sqlsmith, asked of two builds alike.

sqlsmith knows the tables and functions of a running server and writes random queries about them
(Seltenreich, "Bug squashing with SQLsmith", 2016). Nobody knows what is right; but what a base
answers the same twice, a candidate has to answer as well.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from dbhone.dbms.base_protocol import Endpoint
from dbhone.requirements import Requirement
from dbhone.verification.checks.base import GeneratedQueries, TestList
from dbhone.verification.outcome import Evidence, Grade

_SCHEMA = """
CREATE TABLE numbers (
    id integer PRIMARY KEY, small smallint, big bigint, real_value double precision,
    amount numeric(12, 3), flag boolean
);
CREATE TABLE words (
    id integer PRIMARY KEY, number_id integer REFERENCES numbers, word text, fixed char(8),
    bytes bytea, day date, moment timestamp, span interval, list integer[], document jsonb,
    address inet, place point, extent int4range
);
INSERT INTO numbers
SELECT i, i % 5 - 2, i::bigint * i * 1000003, i * 0.37 - 1.5,
    CASE WHEN i % 4 = 0 THEN NULL ELSE i * 1.25 END, i % 3 = 0
FROM generate_series(1, 12) AS i;
INSERT INTO words
SELECT i, i % 12 + 1, substr('Zebra apple banana', i), 'f' || i % 4,
    decode(lpad(to_hex(i * 77), 4, '0'), 'hex'), date '2020-02-27' + i,
    timestamp '2019-12-31 23:59:00' + i * interval '7 hours', i * interval '13 minutes',
    ARRAY[i, i % 3], jsonb_build_object('k', i % 4, 'list', jsonb_build_array(i, 'x')),
    ('10.0.0.' || i)::inet, point(i, i % 4), int4range(i, i + 5)
FROM generate_series(1, 18) AS i;
CREATE INDEX ON words (word);
CREATE VIEW joined AS
SELECT w.word, w.day, n.big, n.amount FROM words w JOIN numbers n ON n.id = w.number_id;
CREATE ROLE tester;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO tester;
ANALYZE;
SET ROLE tester
"""
_SAMPLE = re.compile(r"tablesample\s+\w+\s*\([^)]*\)", re.IGNORECASE)
"""Takes some of a table's rows, by chance."""
_RANDOM = re.compile(r"random|clock_timestamp|pg_sleep", re.IGNORECASE)
"""What makes a query answer otherwise each time, or take long on purpose."""
_QUERY = re.compile(r"(?:^|;\s)\s*(select\b[^;]*);", re.IGNORECASE | re.DOTALL)


class SqlSmith(GeneratedQueries):
    """sqlsmith 1.4; it speaks with PostgreSQL only here.

    Its other dialect, SQLite's, wants the very version of SQLite that the package was built with.
    """

    name = "sqlsmith"
    title = "generated queries"
    systems = frozenset({"postgresql"})
    evidence = Evidence.BYTES
    requirements = (Requirement(name="sqlsmith", package="sqlsmith"),)
    lists = (TestList(name="queries", grades=frozenset(Grade), seconds=10),)
    schema = _SCHEMA
    # One plan for one query: whatever else decides on plans is off.
    server_settings = MappingProxyType(
        {
            "autovacuum": "off",
            "fsync": "off",
            "jit": "off",
            "max_parallel_workers_per_gather": "0",
            "statement_timeout": "2s",
        }
    )
    undecided = re.compile(r"statement timeout|out of memory|stack depth")

    def generator(self, endpoint: Endpoint, seed: int, count: int) -> tuple[str, ...]:
        """Return sqlsmith, which only prints its queries."""
        target = (
            f"host={endpoint.socket.parent} port={endpoint.port} user={endpoint.user}"
            f" dbname={endpoint.database}"
        )
        return (
            "sqlsmith",
            f"--target={target}",
            f"--seed={seed}",
            f"--max-queries={count}",
            "--dry-run",
            "--exclude-catalog",
        )

    def queries(self, printed: str) -> tuple[str, ...]:
        """Return the printed queries that only read and whose answers do not depend on chance."""
        found = (_SAMPLE.sub("", match).strip() for match in _QUERY.findall(printed))
        return tuple(query for query in found if not _RANDOM.search(query))

    def digesting(self, query: str) -> str:
        """Return a query for the number of a query's rows and the digest of them, sorted."""
        return (
            "SELECT count(*), md5(string_agg(answer::text, chr(10) ORDER BY answer::text))"
            f" FROM ({query}\n) AS answer"
        )


PLUGIN = SqlSmith()
