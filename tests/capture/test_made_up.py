"""Made-up rows: as many as there were, and every unique and foreign key holds.

SQLite executes the dumps of generated schemas; real servers execute those of their own catalogues.
"""

from __future__ import annotations

import contextlib
import io
import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.capture.catalogues.base import load_catalogue
from dbhone.capture.live import write_made_up_dump
from dbhone.capture.made_up import (
    Catalogue,
    Column,
    ForeignKey,
    RowDialect,
    Table,
    write_made_up,
)
from dbhone.errors import UsageError
from dbhone.workload.drivers.replay import UsersData
from tests.capture.addresses import address_of
from tests.workload.live import started
from tests.workload.written_workload import workload_of

ROWS = st.integers(min_value=1, max_value=60)


class SqliteDialect(RowDialect):
    """SQLite's SQL: a value is its number."""

    def quoted(self, name: str) -> str:
        return f'"{name}"'

    def divided(self, number: str, by: int) -> str:
        return f"({number} / {by})"

    def hashed(self, number: str, salt: int) -> str:
        return f"abs((({number}) * 2654435761 + {salt} * 40503) % 2147483647)"

    def value(self, column: Column, number: str) -> str | None:
        return None if column.kind == "strange" else number

    def begin(self, most_rows: int) -> Iterator[str]:
        yield "CREATE TABLE numbers AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1" + (
            f" FROM n WHERE i < {most_rows}) SELECT i FROM n"
        )

    def numbers(self, first: int, last: int) -> str:
        return f"numbers WHERE i BETWEEN {first} AND {last}"

    def end(self) -> Iterator[str]:
        yield "DROP TABLE numbers"


def creation(table: Table) -> str:
    parts = [f'"{column.name}" INTEGER' for column in table.columns]
    parts += [f"UNIQUE ({', '.join(key)})" for key in table.unique]
    parts += [
        f"FOREIGN KEY ({', '.join(key.columns)}) REFERENCES {key.table} ({', '.join(key.referred)})"
        for key in table.foreign
    ]
    return f"CREATE TABLE {table.name} ({', '.join(parts)});\n"


def made(*tables: Table) -> sqlite3.Connection:
    """Return a database with made-up rows; what they refer to must be there."""
    catalogue = Catalogue(before="".join(map(creation, tables)), after="", tables=tables)
    text = io.StringIO()
    write_made_up(catalogue, SqliteDialect(), text)
    database = sqlite3.connect(":memory:")
    database.executescript(text.getvalue())
    assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    return database


def column(name: str, distinct: int = 5, **other: object) -> Column:
    return Column(name=name, kind="int", spelled="int", distinct=distinct, **other)  # type: ignore[arg-type]


def parent(name: str, rows: int) -> Table:
    return Table(name=name, rows=rows, columns=(column("id"), column("x")), unique=(("id",),))


@given(ROWS, ROWS, ROWS)
def test_rows_refer_to_rows_that_are_there(rows: int, parents: int, distinct: int) -> None:
    child = Table(
        name="child",
        rows=rows,
        columns=(column("id"), column("p"), column("v", distinct)),
        unique=(("id",),),
        foreign=(ForeignKey(columns=("p",), table="parent", referred=("id",)),),
    )
    database = made(parent("parent", parents), child)
    assert database.execute("SELECT count(*) FROM child").fetchone() == (rows,)
    (found,) = database.execute("SELECT count(DISTINCT v) FROM child").fetchone()
    assert found <= min(rows, distinct)


@pytest.mark.parametrize(
    ("kind", "spelled", "rows"),
    [("tinyint", "tinyint(4)", 128), ("tinyint", "tinyint(3) unsigned", 256)],
)
def test_a_small_integer_tells_as_many_rows_apart_as_it_has_values(
    kind: str, spelled: str, rows: int
) -> None:
    column = Column(name="id", kind=kind, spelled=spelled, distinct=rows)
    written = load_catalogue("mysql").dialect.value(column, "$")
    assert written is not None
    made = {eval(written.replace("$", str(n))) for n in range(1, rows + 1)}
    assert made == set(range(rows))


@pytest.mark.parametrize(("required", "rows"), [(False, 9), (True, 0)])
def test_nothing_refers_to_a_table_without_rows(required: bool, rows: int) -> None:
    child = Table(
        name="child",
        rows=9,
        columns=(column("id"), column("p", required=required)),
        unique=(("id",), ("p",)),
        foreign=(ForeignKey(columns=("p",), table="parent", referred=("id",)),),
    )
    database = made(parent("parent", 0), child)
    assert database.execute("SELECT count(*), count(p) FROM child").fetchone() == (rows, 0)


@given(ROWS, ROWS, ROWS, st.booleans())
def test_a_table_between_two_others_has_each_pair_once(
    rows: int, one: int, other: int, alone: bool
) -> None:
    between = Table(
        name="between_",
        rows=rows,
        columns=(column("a"), column("b"), column("c", 3)),
        unique=(("a", "b"),) if not alone else (("a",),),
        foreign=(
            ForeignKey(columns=("a",), table="one", referred=("id",)),
            ForeignKey(columns=("b",), table="other", referred=("id",)),
        ),
    )
    database = made(parent("one", one), parent("other", other), between)
    possible = one if alone else one * other
    (found,) = database.execute("SELECT count(*) FROM between_").fetchone()
    assert found == min(rows, possible)


@given(ROWS, st.integers(min_value=1, max_value=6), st.integers(min_value=1, max_value=6))
def test_a_key_of_several_columns_is_unique(rows: int, first: int, second: int) -> None:
    table = Table(
        name="t",
        rows=rows,
        columns=(column("a", first), column("b", second), column("c", 2)),
        unique=(("a", "b"), ("a", "c")),
    )
    (found,) = made(table).execute("SELECT count(*) FROM t").fetchone()
    assert found == rows


def test_two_keys_may_have_the_same_columns_in_another_order() -> None:
    table = Table(
        name="t", rows=40, columns=(column("a"), column("b")), unique=(("a", "b"), ("b", "a"))
    )
    (pairs,) = made(table).execute("SELECT count(DISTINCT a || '/' || b) FROM t").fetchone()
    assert pairs == 40


@given(ROWS, ROWS)
def test_a_key_that_refers_to_a_key_of_several_columns_takes_a_whole_row_of_it(
    rows: int, lines: int
) -> None:
    orders = parent("orders", 7)
    line = Table(
        name="line",
        rows=lines,
        columns=(column("o"), column("place", 4)),
        unique=(("o", "place"),),
        foreign=(ForeignKey(columns=("o",), table="orders", referred=("id",)),),
    )
    delivery = Table(
        name="delivery",
        rows=rows,
        columns=(column("o"), column("place"), column("id")),
        unique=(("id",),),
        foreign=(
            ForeignKey(columns=("o",), table="orders", referred=("id",)),
            ForeignKey(columns=("o", "place"), table="line", referred=("o", "place")),
        ),
    )
    (found,) = made(orders, line, delivery).execute("SELECT count(*) FROM delivery").fetchone()
    assert found == rows


def test_a_table_may_refer_to_itself() -> None:
    staff = Table(
        name="staff",
        rows=50,
        columns=(column("id"), column("boss", nulls=0.2)),
        unique=(("id",),),
        foreign=(ForeignKey(columns=("boss",), table="staff", referred=("id",)),),
    )
    (nulls,) = made(staff).execute("SELECT count(*) FROM staff WHERE boss IS NULL").fetchone()
    assert 0 < nulls < 25


def test_a_column_without_a_known_type_is_left_empty_or_refused() -> None:
    strange = Column(name="s", kind="strange", spelled="strange", distinct=3)
    table = Table(name="t", rows=3, columns=(column("id"), strange), unique=(("id",),))
    (nulls,) = made(table).execute("SELECT count(*) FROM t WHERE s IS NULL").fetchone()
    assert nulls == 3
    needed = Column(name="s", kind="strange", spelled="strange", distinct=3, required=True)
    with pytest.raises(UsageError, match=r"type strange can be made up for t\.s"):
        made(Table(name="t", rows=3, columns=(needed,)))


SCHEMAS = {
    "postgresql": (
        "CREATE TYPE mood AS ENUM ('sad', 'happy')",
        "CREATE TABLE customer (id bigserial PRIMARY KEY, name varchar(30) NOT NULL,"
        " email text UNIQUE, born date, feels mood, tags text[], extra jsonb,"
        " code uuid NOT NULL, balance numeric(8, 2) CHECK (balance = 1.25), seen timestamptz)",
        "CREATE TABLE item (customer bigint REFERENCES customer, place smallint,"
        " ok boolean NOT NULL, doubled int GENERATED ALWAYS AS (place * 2) STORED,"
        " PRIMARY KEY (customer, place))",
        "INSERT INTO customer (name, email, born, feels, code, balance)"
        " SELECT 'secret' || i % 20, 'secret@' || i, '1970-01-01', 'happy',"
        " md5(i::text)::uuid, 1.25 FROM generate_series(1, 500) i",
        "INSERT INTO item SELECT 1 + i / 3, i % 3, true FROM generate_series(0, 1200) i",
        "CREATE INDEX ON customer (name)",
        "CREATE UNIQUE INDEX ON customer (lower(name) text_pattern_ops, id)",
        "CREATE UNIQUE INDEX ON customer (code) WHERE born IS NOT NULL",
        "CREATE UNIQUE INDEX ON item (place, customer)",
        "CREATE TABLE part (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (9)",
        "INSERT INTO part VALUES (5)",
        "CREATE TABLE of_part (id int REFERENCES part, other int REFERENCES part_1)",
        "INSERT INTO of_part VALUES (5, 5)",
        "CREATE DOMAIN grade AS int CHECK (VALUE = 7)",
        "ALTER TABLE customer ADD grade grade DEFAULT 7",
        "ALTER TABLE customer ADD CONSTRAINT late CHECK (born > '2100-01-01') NOT VALID",
        "ALTER DOMAIN grade ADD CONSTRAINT odd CHECK (VALUE % 2 = 1) NOT VALID",
        "CREATE MATERIALIZED VIEW names AS SELECT DISTINCT name FROM customer",
        "CREATE MATERIALIZED VIEW first_letters AS SELECT DISTINCT left(name, 1) FROM names",
        "CREATE MATERIALIZED VIEW unfit AS"
        " SELECT 1 / count(*) FILTER (WHERE name LIKE 'sec%') FROM customer",
        "ANALYZE",
    ),
    "mariadb": (
        "CREATE TABLE customer (id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(30) NOT NULL,"
        " email VARCHAR(80), born DATE, feels ENUM('sad', 'happy'), extra LONGTEXT,"
        " code BINARY(16) NOT NULL, balance DECIMAL(8, 2) CHECK (balance = 1.25),"
        " seen TIMESTAMP NULL, made TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,"
        " CONSTRAINT kept CHECK (born < '1980-01-01'),"
        " UNIQUE (email), UNIQUE prefixed (email(3), id), KEY (name))",
        "CREATE TABLE item (customer BIGINT, place SMALLINT, ok TINYINT NOT NULL,"
        " doubled INT AS (place * 2) VIRTUAL, PRIMARY KEY (customer, place),"
        " UNIQUE (place, customer), UNIQUE (doubled, customer),"
        " FOREIGN KEY (customer) REFERENCES customer (id))",
        "INSERT INTO customer (name, email, born, feels, code, balance)"
        " WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)"
        " SELECT CONCAT('secret', i % 20), CONCAT('secret@', i), '1970-01-01', 'happy',"
        " UNHEX(MD5(i)), 1.25 FROM n",
        "INSERT INTO item (customer, place, ok) SELECT c.id, p.place, 1 FROM customer c,"
        " (SELECT 0 place UNION SELECT 1 UNION SELECT 2) p WHERE c.id <= 400",
        "CREATE TABLE price (id INT PRIMARY KEY, amount INT) WITH SYSTEM VERSIONING",
        "INSERT INTO price SELECT id, 7 FROM customer",
        "UPDATE price SET amount = 8 WHERE id < 9",
        "CREATE TABLE shelf (id INT PRIMARY KEY) PARTITION BY LIST (id)"
        " (PARTITION a VALUES IN (70), PARTITION b VALUES IN (80))",
        "INSERT INTO shelf VALUES (70), (80)",
        "CREATE SEQUENCE counter",
        "ANALYZE TABLE customer, item, price, shelf",
    ),
}
ALSO_FILLED = {"postgresql": ("names", "first_letters"), "mariadb": ("price", "shelf")}


@pytest.mark.integration
@pytest.mark.parametrize("name", list(SCHEMAS))
def test_a_servers_own_tables_are_made_up_elsewhere(name: str) -> None:
    text = io.StringIO()
    with started(name) as live:
        for statement in SCHEMAS[name]:
            live.ask(statement)
        catalogue = write_made_up_dump(address_of(live), text, ask=lambda _: None)
    dump = text.getvalue()
    assert "secret" not in dump
    expected = {
        table.name.strip("`").removeprefix("public."): table.rows for table in catalogue.tables
    }
    assert expected["customer"] == pytest.approx(500, rel=0.1)
    with contextlib.ExitStack() as stack:
        live = stack.enter_context(started(name))
        file = live.folder / "made-up.sql"
        file.write_text(dump)
        file.chmod(0o644)
        protocol = live.endpoint.protocol.name
        workload = workload_of(live.folder, protocol, [[("text", "SELECT 1", [])]])
        assert live.restore(UsersData(source=file, workload=workload, scripts=file)).ok
        for table, rows in expected.items():
            (found,) = live.ask(f"SELECT count(*) FROM {table}")
            assert int(found) == rows
        for filled in ALSO_FILLED[name]:
            (found,) = live.ask(f"SELECT count(*) FROM {filled}")
            assert int(found) > 0
        (pairs,) = live.ask(
            "SELECT count(*) FROM item JOIN customer ON customer.id = item.customer"
        )
        assert int(pairs) == expected["item"]
        (names,) = live.ask("SELECT count(DISTINCT name) FROM customer")
        assert 5 <= int(names) <= 60  # InnoDB estimates
        (values,) = live.ask("SELECT count(DISTINCT code) FROM customer WHERE feels IS NOT NULL")
        assert int(values) > 20
