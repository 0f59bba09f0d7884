"""Catalogues: what a server says of its tables, and what of it must not be given away."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from dbhone.capture.catalogues.base import load_catalogue
from dbhone.capture.made_up import Catalogue
from dbhone.capture.servers.base import Connection, parse_address


class Asked(Connection):
    """A server that answers what a test says, and nothing to anything else."""

    def __init__(self, answers: dict[str, list[Sequence[object]]]) -> None:
        self._answers = answers

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Sequence[object]]:
        return next((rows for words, rows in self._answers.items() if words in sql), [])

    def close(self) -> None:
        """Nothing is open."""


PG_DUMP = """\
#!/bin/sh
for word; do
  case "$word" in
    --section=*) section=${word#--section=} ;;
    --no-subscriptions) without=yes ;;
  esac
  file=$word
done
cp "$0.$section" "$file"
test "$without" || echo "CREATE SUBSCRIPTION s CONNECTION 'password=secret'" >> "$file"
"""


PRE_DATA = """\
CREATE FUNCTION public.f() RETURNS int LANGUAGE sql AS $$SELECT 1; $$;

CREATE SERVER a FOREIGN DATA WRAPPER postgres_fdw OPTIONS (
    host 'se;cret',
    "user" 'it''s secret'
);

CREATE SERVER b FOREIGN DATA WRAPPER postgres_fdw;

CREATE USER MAPPING FOR "o;d" SERVER a OPTIONS (
    password 'secret''; x',
    "user" 'me'
);

CREATE TABLE public.kept (a int);
"""


def made_up_of_postgresql(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    answers: dict[str, list[Sequence[object]]],
    post_data: str = "",
) -> Catalogue:
    """Return the catalogue of a PostgreSQL of which pg_dump writes PRE_DATA."""
    program = folder / "pg_dump"
    program.write_text(PG_DUMP)
    program.chmod(0o755)
    (folder / "pg_dump.pre-data").write_text(PRE_DATA)
    (folder / "pg_dump.post-data").write_text(post_data)
    monkeypatch.setattr(
        "dbhone.capture.catalogues.postgresql.postgresql_program", lambda _: str(program)
    )
    server = Asked({"SHOW server_version_num": [("150000",)], **answers})
    address = parse_address("postgresql://me@db1/shop")
    return load_catalogue("postgresql").read(server, address, None)


def test_a_dump_has_no_password_for_another_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = made_up_of_postgresql(tmp_path, monkeypatch, {})
    assert "secret" not in found.before + found.after
    assert "cret" not in found.before
    assert "CREATE SERVER a FOREIGN DATA WRAPPER postgres_fdw;\n" in found.before
    assert "CREATE SERVER b FOREIGN DATA WRAPPER postgres_fdw;\n" in found.before
    assert "CREATE TABLE public.kept (a int);" in found.before
    assert found.left_out == (
        "1 user mapping",
        "the options of 1 foreign server",
    )


def test_a_key_that_refers_to_a_table_without_rows_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begins = {
        name: f"ALTER TABLE ONLY public.child\n    ADD CONSTRAINT {name} FOREIGN KEY "
        for name in ("whole", "parts")
    }
    post_data = (
        f"{begins['parts']}(p) REFERENCES public.parts(id);\n\n"
        f"{begins['whole']}(w) REFERENCES public.whole(id);\n"
    )
    answers: dict[str, list[Sequence[object]]] = {
        "c.reltuples": [
            (1, "public.whole", 3, False),
            (2, "public.parts", 3, True),
            (3, "public.child", 3, False),
        ],
        "f.contype = 'f' AND c.relkind": [
            (begins["parts"], "public.parts"),
            (begins["whole"], "public.whole"),
        ],
    }
    found = made_up_of_postgresql(tmp_path, monkeypatch, answers, post_data)
    assert "parts" not in found.after
    assert "(w) REFERENCES public.whole(id);\n" in found.after
    assert "1 foreign key to tables without made-up rows" in found.left_out


def test_the_rows_of_a_table_that_no_statistics_know_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: dict[str, list[Sequence[object]]] = {
        "c.reltuples": [(1, "public.old", 0, False), (2, "public.new", -1, False)],
        "FROM public.old": [(7,)],
        "FROM public.new": [(8,)],
    }
    found = made_up_of_postgresql(tmp_path, monkeypatch, answers)
    assert [table.rows for table in found.tables] == [7, 8]


TABLE = "CREATE TABLE `t` (\n  `id` int NOT NULL\n)"


def made_up_of_mysql(creation: str, **others: int) -> Catalogue:
    """Return the catalogue of a MySQL with one table, and with so many other things."""
    counts = [others.get(name, 0) for name in ("views", "routines", "triggers", "sequences")]
    server = Asked(
        {
            "information_schema.VIEWS": [counts],
            "information_schema.COLUMNS": [("t", "id", "int", "int", None, 10, 0, "NO")],
            "information_schema.TABLES": [("t", 3)],
            "SHOW CREATE TABLE": [("t", creation)],
        }
    )
    return load_catalogue("mysql").read(server, parse_address("mysql://me@db1/shop"), None)


_LIST = "PARTITION BY LIST (`id`)\n(PARTITION a VALUES IN (7) ENGINE = InnoDB)"
_RANGE = "PARTITION BY RANGE  COLUMNS(`id`)\n(PARTITION a VALUES LESS THAN (7) ENGINE = InnoDB{})"
_REST = ",\n PARTITION b VALUES LESS THAN (MAXVALUE) ENGINE = InnoDB"


@pytest.mark.parametrize(
    ("partitions", "is_kept"),
    [
        (f"\n/*!50100 {_LIST} */", False),
        (f"\n {_LIST}", False),
        (f"\n/*!50500 {_RANGE.format('')} */", False),
        (f"\n {_RANGE.format('')}", False),
        (f"\n/*!50500 {_RANGE.format(_REST)} */", True),
        (f"\n {_RANGE.format(_REST)}", True),
        ("\n PARTITION BY KEY (`id`)\nPARTITIONS 4", True),
        (r" COMMENT='\n PARTITION BY LIST'", True),
    ],
)
def test_partitions_that_have_no_place_for_some_values_are_left_out(
    partitions: str, is_kept: bool
) -> None:
    found = made_up_of_mysql(f"{TABLE} ENGINE=InnoDB{partitions}")
    assert f"{TABLE} ENGINE=InnoDB{partitions if is_kept else ''};\n" in found.before
    assert ("partitions of 1 table" in " ".join(found.left_out)) is not is_kept


def test_what_is_not_written_is_told() -> None:
    found = made_up_of_mysql(f"{TABLE} ENGINE=InnoDB", views=1, sequences=2)
    assert found.left_out == ("1 views", "2 sequences")


@pytest.mark.parametrize(
    "options",
    [
        "FEDERATED DEFAULT CHARSET=utf8mb4 CONNECTION='mysql://me:secret@db2/shop/t'",
        "SPIDER DEFAULT CHARSET=utf8mb4 COMMENT='password \"secret\"'\n"
        " PARTITION BY HASH (id)\n(PARTITION p COMMENT = 'secret')",
    ],
)
def test_a_table_that_lies_on_another_server_becomes_one_like_others(options: str) -> None:
    found = made_up_of_mysql(f"{TABLE} ENGINE={options}")
    assert "CREATE TABLE `t` (\n  `id` int NOT NULL\n) DEFAULT CHARSET=utf8mb4;\n" in found.before
    assert "secret" not in found.before
    assert found.left_out == ("on which other servers 1 of the tables are",)
