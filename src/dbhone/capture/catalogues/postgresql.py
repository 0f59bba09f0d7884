"""PostgreSQL's catalogue: pg_dump writes the tables, pg_stats has the statistics.

What the user may not read has no statistics in pg_stats; such a column counts as unique.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from dbhone import process
from dbhone.capture.catalogues.base import CatalogueReader, by_table, foreign_keys
from dbhone.capture.made_up import Catalogue, Column, RowDialect, Table
from dbhone.capture.servers.base import Address, Connection, Row
from dbhone.command import Command
from dbhone.errors import MachineError
from dbhone.units import count_of
from dbhone.workload.client_programs import postgresql_program

_HEADER = 4
"""Bytes in a type's modifier that are not part of the limit."""
_NUMERIC = 16
_TABLES = """\
SELECT c.oid, format('%I.%I', n.nspname, c.relname), c.reltuples::bigint, c.relkind = 'p'
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'
  AND NOT EXISTS (SELECT FROM pg_depend d
                  WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
ORDER BY 2"""
_COLUMNS = """\
SELECT a.attrelid, a.attname, coalesce(b.typname, t.typname), format_type(a.atttypid, a.atttypmod),
  CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END,
  a.attnotnull OR t.typnotnull, coalesce(b.typtype, t.typtype) = 'e',
  coalesce(b.typcategory, t.typcategory) = 'A', s.n_distinct, s.null_frac, s.avg_width
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype
LEFT JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname
  AND s.attname = a.attname AND NOT s.inherited
WHERE a.attnum > 0 AND NOT a.attisdropped {stored} AND c.relkind = 'r'
ORDER BY a.attrelid, a.attnum"""
_UNIQUE = """\
SELECT i.indrelid, i.indexrelid, a.attname
FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY k (n, place)
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.n
WHERE i.indisunique AND i.indexprs IS NULL {keys}
ORDER BY 1, 2, k.place"""
_FOREIGN = """\
SELECT f.conrelid, f.oid, a.attname, format('%I.%I', n.nspname, c.relname), r.attname
FROM pg_constraint f
CROSS JOIN LATERAL unnest(f.conkey, f.confkey) WITH ORDINALITY k (own, other, place)
JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.own
JOIN pg_attribute r ON r.attrelid = f.confrelid AND r.attnum = k.other
JOIN pg_class c ON c.oid = f.confrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE f.contype = 'f'
ORDER BY 1, 2, k.place"""
_REFERENCES = """\
SELECT format(E'ALTER TABLE ONLY %I.%I\n    ADD CONSTRAINT %I FOREIGN KEY ',
              n.nspname, c.relname, f.conname), format('%I.%I', m.nspname, r.relname)
FROM pg_constraint f
JOIN pg_class c ON c.oid = f.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_class r ON r.oid = f.confrelid JOIN pg_namespace m ON m.oid = r.relnamespace
WHERE f.contype = 'f' AND c.relkind = 'r' AND NOT c.relispartition
ORDER BY 1"""
_CHECKS = """\
SELECT format('ALTER TABLE %I.%I DROP CONSTRAINT %I', n.nspname, c.relname, k.conname)
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype = 'c' AND k.convalidated AND k.conislocal AND c.relkind = 'r'
  AND n.nspname NOT IN ('pg_catalog', 'information_schema')
UNION ALL
SELECT format('ALTER DOMAIN %I.%I DROP CONSTRAINT %I', n.nspname, t.typname, k.conname)
FROM pg_constraint k JOIN pg_type t ON t.oid = k.contypid
JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE k.contype = 'c' AND k.convalidated
  AND n.nspname NOT IN ('pg_catalog', 'information_schema')
ORDER BY 1"""
"""Those that hold for all rows: pg_dump adds the others to filled tables, without a check."""
_BY_EXPRESSION = """\
SELECT format('INDEX %I ON ', c.relname)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indisunique AND i.indexprs IS NOT NULL"""
_MATERIALIZED = """\
SELECT format('%I.%I', n.nspname, c.relname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'm' AND c.relispopulated
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'
  AND NOT EXISTS (SELECT FROM pg_depend d
                  WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
ORDER BY c.oid"""
"""The materialized views that have rows, each behind those of which it was made."""
_REFRESH = """\
DO $refresh$
BEGIN
  REFRESH MATERIALIZED VIEW {view};
EXCEPTION WHEN OTHERS THEN
  RAISE WARNING 'a materialized view stays empty: %', SQLERRM;
END $refresh$;
"""
"""Made-up rows may not do for a view, which is no reason not to have the others."""
_QUOTED = r"(?:[^'\";]|'[^']*'|\"[^\"]*\")*"
_USER_MAPPING = re.compile(rf"^CREATE USER MAPPING FOR {_QUOTED};\n", re.MULTILINE)
_SERVER = re.compile(
    rf"^(CREATE (?:SERVER|FOREIGN DATA WRAPPER) {_QUOTED}?) OPTIONS \({_QUOTED}\);$", re.MULTILINE
)
_SEQUENCES = """\
DO $$
DECLARE owned record;
BEGIN
  FOR owned IN
    SELECT d.objid::regclass AS sequence, d.refobjid::regclass AS owner, a.attname AS name
    FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
    JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
    WHERE d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
  LOOP
    EXECUTE format('SELECT setval(%L, greatest(max(%I), 1)) FROM %s',
                   owned.sequence, owned.name, owned.owner);
  END LOOP;
END $$"""
_ENUM, _ARRAY = "an enumeration", "an array"
_VALUES = {
    "bool": "$n % 2 = 1",
    "bytea": "decode(md5($n::text), 'hex')",
    "cidr": "inet '10.0.0.0' + $n",
    "date": "DATE '2000-01-01' + ($n % 100000)::integer",
    "float4": "$n",
    "float8": "$n",
    "inet": "inet '10.0.0.0' + $n",
    "int2": "$n % 32768",
    "int4": "$n % 2147483648",
    "int8": "$n",
    "interval": "$n * interval '1 second'",
    "json": "json_build_object('n', $n)",
    "jsonb": "jsonb_build_object('n', $n)",
    "money": "$n",
    "oid": "$n",
    "point": "point($n, $n)",
    "time": "time '00:00' + $n * interval '1 second'",
    "timestamp": "timestamp '2000-01-01' + $n * interval '1 minute'",
    "timestamptz": "timestamptz '2000-01-01' + $n * interval '1 minute'",
    "timetz": "time '00:00' + $n * interval '1 second'",
    "tsvector": "to_tsvector('simple', md5($n::text))",
    "uuid": "md5($n::text)",
    _ARRAY: "'{}'",
}
"""The value of the number $n, by the type's name."""
_SINCE_GENERATED, _SINCE_INCLUDED = 120000, 110000
"""The versions, as server_version_num has them, since which columns can be so."""


class PostgresqlDialect(RowDialect):
    """PostgreSQL's SQL."""

    inserting = " OVERRIDING SYSTEM VALUE"

    def quoted(self, name: str) -> str:
        """Return the name in double quotes."""
        return '"' + name.replace('"', '""') + '"'

    def divided(self, number: str, by: int) -> str:
        """Return a quotient of whole numbers, which has no fraction."""
        return f"({number} / {by})"

    def hashed(self, number: str, salt: int) -> str:
        """Return what hash indexes use."""
        return f"(hashint8(({number})::bigint # {salt}) & 2147483647)"

    def begin(self, most_rows: int) -> Iterator[str]:
        """Yield a setting only: rows have generate_series."""
        del most_rows
        yield "SET synchronous_commit = off"

    def numbers(self, first: int, last: int) -> str:
        """Return a series."""
        return f"generate_series({first}::bigint, {last}) AS i"

    def end(self) -> Iterator[str]:
        """Yield what makes sequences continue after the rows."""
        yield _SEQUENCES

    def value(self, column: Column, number: str) -> str | None:
        """Return a value of the usual types: numbers as they are, texts with the number in them."""
        n = f"({number})"
        if column.kind in _OWN:
            written = _OWN[column.kind](column, n)
        elif column.kind in _VALUES:
            written = _VALUES[column.kind].replace("$n", n)
        else:
            return None
        return f"({written})::{column.spelled}"


def _numeric(column: Column, n: str) -> str:
    if not column.limit:
        return f"{n}::numeric"
    return f"(({n} % {10**column.limit}::numeric) / {10**column.scale}::numeric)"


def _text(column: Column, n: str) -> str:
    """Return the number in hexadecimal digits, filled up to the usual length."""
    longest = column.limit or 10**9
    width = min(max(column.width, 1), longest)
    if width <= len(f"{column.distinct:x}"):
        return f"left(to_hex({n}), {min(longest, 16)})"
    filler = math.ceil(width / 32)
    return f"left(to_hex({n}) || '.' || repeat(md5({n}::text), {filler}), {width})"


def _label(column: Column, n: str) -> str:
    labels = f"enum_range(NULL::{column.spelled})"
    return f"({labels})[(1 + {n} % cardinality({labels}))::integer]"


_OWN: Mapping[str, Callable[[Column, str], str]] = {
    "numeric": _numeric,
    _ENUM: _label,
    **dict.fromkeys(("text", "varchar", "bpchar", "citext", "name"), _text),
}
"""Types whose values depend on more than the number."""


class PostgresqlCatalogue(CatalogueReader):
    """Reads PostgreSQL's catalogue, of one database."""

    dialect = PostgresqlDialect()

    def read(self, connection: Connection, address: Address, password: str | None) -> Catalogue:
        """Return the tables of all schemas but the system's and those of extensions."""
        connection.rows("SELECT set_config('search_path', '', false)")  # as pg_dump's text has it
        checks = [row[0] for row in connection.rows(_CHECKS)]
        tables, partitioned = _tables(connection)
        left_out = [f"{len(checks)} checks, which made-up rows may not pass"] if checks else []
        if partitioned:
            left_out.append(f"rows of partitioned tables: {', '.join(partitioned)}")
        before, secrets = _without_secrets(_schema(address, password, "pre-data"))
        left_out += secrets
        after = _schema(address, password, "post-data")
        by_expression = [row[0] for row in connection.rows(_BY_EXPRESSION)]
        for index in by_expression:
            after = after.replace(f"CREATE UNIQUE {index}", f"CREATE {index}")
        after, dropped = _without_references(
            after, connection.rows(_REFERENCES), {table.name for table in tables}
        )
        if dropped:
            left_out.append(f"{count_of(dropped, 'foreign key')} to tables without made-up rows")
        if by_expression:
            left_out.append("the uniqueness of indexes by expressions")
        views = [row[0] for row in connection.rows(_MATERIALIZED)]
        return Catalogue(
            before="".join((before, *(f"{check};\n" for check in checks))),
            after="".join((after, *(_REFRESH.format(view=view) for view in views))),
            tables=tables,
            left_out=tuple(left_out),
        )


def _tables(connection: Connection) -> tuple[tuple[Table, ...], list[str]]:
    """Return the tables, and the names of those that are partitioned."""
    version = int(connection.value("SHOW server_version_num"))
    stored = "AND a.attgenerated = ''" if version >= _SINCE_GENERATED else ""
    keys = "AND k.place <= i.indnkeyatts" if version >= _SINCE_INCLUDED else ""
    columns: dict[object, list[Row]] = defaultdict(list)
    for table, *column in connection.rows(_COLUMNS.format(stored=stored)):
        columns[table].append(column)
    unique = by_table(connection.rows(_UNIQUE.format(keys=keys)))
    foreign = by_table(connection.rows(_FOREIGN))
    found, partitioned = [], []
    for table, name, estimate, is_partitioned in connection.rows(_TABLES):
        if is_partitioned:
            partitioned.append(name)
            continue
        rows: int = estimate
        if rows <= 0:  # perhaps never analysed, which is 0 before version 14
            rows = int(connection.value(f"SELECT count(*) FROM {name}"))
        known = {column[0] for column in columns[table]}
        found.append(
            Table(
                name=name,
                rows=rows,
                columns=tuple(_column(rows, *column) for column in columns[table]),
                unique=tuple(
                    key
                    for names in unique[table].values()
                    if known.issuperset(key := tuple(name for (name,) in names))
                ),
                foreign=foreign_keys(foreign[table]),
            )
        )
    return tuple(found), partitioned


def _column(
    rows: int,
    name: str,
    kind: str,
    spelled: str,
    modifier: int,
    required: bool,
    is_enum: bool,
    is_array: bool,
    distinct: float | None,
    nulls: float | None,
    width: int | None,
) -> Column:
    number = distinct if distinct is not None else -1.0
    limit, scale = modifier - _HEADER, 0
    if kind == "numeric" and limit >= 0:
        limit, scale = limit >> _NUMERIC, limit & 0x7FF
    return Column(
        name=name,
        kind=_ENUM if is_enum else _ARRAY if is_array else kind,
        spelled=spelled,
        # Less than nought, it is a share of the rows.
        distinct=max(1, round(-number * rows if number < 0 else number)),
        nulls=nulls or 0.0,
        limit=max(0, limit),
        scale=scale,
        width=width or 16,
        required=required,
    )


def _without_secrets(schema: str) -> tuple[str, list[str]]:
    """Return what makes tables without what may be a password, and what is left out so."""
    schema, mappings = _USER_MAPPING.subn("", schema)
    schema, servers = _SERVER.subn(r"\1;", schema)
    left_out = [count_of(mappings, "user mapping")] if mappings else []
    if servers:
        left_out.append(f"the options of {count_of(servers, 'foreign server')}")
    return schema, left_out


def _without_references(schema: str, keys: Sequence[Row], made: Collection[str]) -> tuple[str, int]:
    """Return what is added to filled tables without keys that refer to others, and their number.

    ``keys`` are how each foreign key begins in the text, and the table to which it refers.
    """
    dropped = 0
    for beginning, referred in keys:
        start = schema.find(beginning)
        if referred not in made and start >= 0:
            schema = schema[:start] + schema[schema.index(";\n", start) + 2 :]
            dropped += 1
    return schema, dropped


def _schema(address: Address, password: str | None, section: str) -> str:
    """Return what pg_dump writes of a section, without rows. Raises MachineError with its words."""
    host, port = address.host, str(address.port)
    if address.socket:
        socket = Path(address.socket)
        host, port = str(socket.parent), socket.suffix.removeprefix(".")
    with tempfile.TemporaryDirectory(prefix="hone-capture-") as folder:
        file = Path(folder, "schema.sql")
        argv = (
            *(postgresql_program("pg_dump"), "--schema-only", f"--section={section}"),
            *("--no-owner", "--no-privileges", "--no-tablespaces", "--no-password"),
            *("--no-subscriptions", "--no-publications"),
            *("-h", host, "-p", port, "-U", address.user, "-d", address.database, "-f", str(file)),
        )
        env = {"LC_ALL": "C", **({"PGPASSWORD": password} if password is not None else {})}
        finished = process.run(Command(argv=argv, cwd=Path("/"), env=env))
        if not finished.ok:
            last = (finished.text().strip() or finished.ending()).splitlines()[-1]
            raise MachineError(f"pg_dump cannot read the tables: {last}")
        return file.read_text(encoding="utf-8")


PLUGIN = PostgresqlCatalogue()
