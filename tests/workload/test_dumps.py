"""Dumps: what hone reads in them, how they are restored, and what is said of their errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone import process
from dbhone.dbms._postgresql_protocol import POSTGRESQL
from dbhone.dbms.base_protocol import Endpoint
from dbhone.errors import UsageError
from dbhone.workload.dumps.base import error_of_dump, load_dumps

SQL = """\
CREATE SCHEMA shop;
CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;
COMMENT ON EXTENSION pg_trgm IS 'text similarity measurement';
CREATE EXTENSION IF NOT EXISTS "uuid-ossp" WITH SCHEMA public;
CREATE TABLE public.hints (text text);
COPY public.hints (text) FROM stdin;
CREATE EXTENSION postgis;
\\.
"""
LISTED = """\
;     Dump Version: 1.14-0
2; 3079 16390 EXTENSION - pg_trgm 
3374; 0 0 COMMENT - EXTENSION pg_trgm 
215; 1259 16471 TABLE public hints postgres
"""  # noqa: W291


def test_the_extensions_of_a_dump_in_sql_stand_before_its_rows(tmp_path: Path) -> None:
    dump = tmp_path / "shop.sql"
    dump.write_text(SQL)
    assert load_dumps("postgresql").extensions(dump) == ("pg_trgm", "uuid-ossp")


@pytest.mark.parametrize(("listed", "found"), [(LISTED, ("pg_trgm",)), (None, ())])
def test_the_extensions_of_a_custom_dump_are_those_that_are_listed(
    listed: str | None, found: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = tmp_path / "shop.dump"
    dump.write_bytes(b"PGDMP")
    monkeypatch.setattr(process, "output_of", lambda _: listed)
    assert load_dumps("postgresql").extensions(dump) == found


@pytest.mark.parametrize(
    ("printed", "advice"),
    [
        ('psql:a.sql:2: ERROR:  extension "pg_trgm" is not available', "PostGIS"),
        ('psql:a.sql:2: ERROR:  relation "a" does not exist', "dump the database whole"),
        ("psql:a.sql:2: error: invalid command \\restrict", "of a newer version"),
        (
            'psql:<stdin>:9: ERROR:  invalid value for parameter "default_tablespace": "fast"\n'
            'DETAIL:  Tablespace "fast" does not exist.\n',
            "pg_dump --no-tablespaces",
        ),
        ('psql:<stdin>:9: ERROR:  tablespace "fast" does not exist\n', "--no-tablespaces"),
        (
            "pg_restore: error: could not execute query: ERROR:  unrecognized configuration"
            ' parameter "transaction_timeout"\n',
            "postgresql-client-15",
        ),
        ("ERROR 1064 (42000) at line 3: You have an error in your SQL syntax\n", "empty database"),
        ("ERROR 1273 (HY000) at line 9: Unknown collation: 'utf8mb4_0900_ai_ci'\n", "MariaDB"),
    ],
)
def test_an_error_of_a_dump_has_the_advice_that_fits(printed: str, advice: str) -> None:
    error = error_of_dump(printed)
    assert error is not None
    assert advice in (error.hint or "")


def test_a_server_without_the_tablespaces_of_a_dump_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def program(name: str, server: str) -> str:
        asked.append(server)
        return name

    monkeypatch.setattr("dbhone.workload.dumps.postgresql.postgresql_program", program)
    dump = tmp_path / "shop.dump"
    dump.write_bytes(b"PGDMP")
    endpoint = Endpoint(
        protocol=POSTGRESQL, socket=tmp_path / "s", user="u", database="d", version="15.18"
    )
    assert "--no-tablespaces" in load_dumps("postgresql").load_command(endpoint, dump, None)
    assert asked == ["15.18"]


@pytest.mark.parametrize(
    "head",
    [
        "-- Host: localhost    Database: \n-- Server version\t8.0.36\n",
        "-- Host: db1    Database: shop\n\nUSE `shop`;\nCREATE TABLE a (b int);\nUSE `mysql`;\n",
    ],
)
def test_a_dump_with_the_servers_accounts_is_refused(head: str, tmp_path: Path) -> None:
    dump = tmp_path / "all.sql"
    dump.write_text(head)
    with pytest.raises(UsageError, match="own accounts") as error:
        load_dumps("mysql").check(dump)
    assert "--databases" in (error.value.hint or "")


def test_the_servers_accounts_are_found_behind_much_else(tmp_path: Path) -> None:
    dump = tmp_path / "all.sql"
    dump.write_text("USE `shop`;\n" + "INSERT INTO a VALUES (1);\n" * 50_000 + "USE `mysql`;\n")
    dumps = load_dumps("mysql")
    dumps.check(dump)
    with pytest.raises(UsageError, match="own accounts"):
        dumps.statements_before(dump, None)


def test_a_dump_of_one_database_is_taken(tmp_path: Path) -> None:
    dump = tmp_path / "shop.sql"
    dump.write_text("-- Host: localhost    Database: shop\n\nCREATE TABLE mysql (b int);\n")
    load_dumps("mysql").check(dump)


@pytest.mark.parametrize("protocol", ["mysql", "postgresql"])
@pytest.mark.parametrize("content", [b"", b"\x1f\x8b\x08packed", b"toc.dat\0\0"])
def test_a_packed_or_empty_file_is_refused(content: bytes, protocol: str, tmp_path: Path) -> None:
    dump = tmp_path / "shop.sql.gz"
    dump.write_bytes(content)
    with pytest.raises(UsageError, match=r"shop\.sql\.gz is (?:empty|not a dump)"):
        load_dumps(protocol).check(dump)
