"""The catalogue of MySQL and MariaDB: SHOW CREATE TABLE, and information_schema's estimates.

How many different values a column has is known of the first columns of indexes only; of others a
tenth of the rows is taken for different.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from dbhone.capture.catalogues.base import CatalogueReader, by_table, foreign_keys
from dbhone.capture.made_up import Catalogue, Column, RowDialect, Table
from dbhone.capture.servers.base import Address, Connection, Row
from dbhone.errors import UsageError
from dbhone.units import count_of

_NUMBERS = "hone_numbers"
_TABLES = """\
SELECT TABLE_NAME, TABLE_ROWS FROM information_schema.TABLES
WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')
ORDER BY TABLE_NAME"""
_COLUMNS = """\
SELECT TABLE_NAME, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_MAXIMUM_LENGTH,
  NUMERIC_PRECISION, NUMERIC_SCALE, IS_NULLABLE
FROM information_schema.COLUMNS
WHERE TABLE_SCHEMA = DATABASE()
  AND NOT (EXTRA LIKE '%VIRTUAL%' OR EXTRA LIKE '%STORED%' OR EXTRA LIKE '%PERSISTENT%')
ORDER BY TABLE_NAME, ORDINAL_POSITION"""
_INDEXES = """\
SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME, NON_UNIQUE, SEQ_IN_INDEX, CARDINALITY, SUB_PART
FROM information_schema.STATISTICS
WHERE TABLE_SCHEMA = DATABASE()
ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX"""
_FOREIGN = """\
SELECT TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME
FROM information_schema.KEY_COLUMN_USAGE
WHERE TABLE_SCHEMA = DATABASE() AND REFERENCED_TABLE_SCHEMA = DATABASE()
ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION"""
_OTHERS = """\
SELECT
  (SELECT COUNT(*) FROM information_schema.VIEWS WHERE TABLE_SCHEMA = DATABASE()),
  (SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE()),
  (SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE()),
  (SELECT COUNT(*) FROM information_schema.TABLES
   WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'SEQUENCE')"""
_BEFORE = """\
SET FOREIGN_KEY_CHECKS = 0;
SET SQL_MODE = '';
/*M! SET check_constraint_checks = 0 */;
"""
_AFTER = "SET FOREIGN_KEY_CHECKS = 1;\n"
_USUAL_WIDTH = 32
_ENOUGH = 9
"""So many letters of a made-up text tell any two rows apart: the number of the row begins it."""
_CHECK = re.compile(r"^(\s+CONSTRAINT `(?:[^`]|``)+` CHECK \(.*\))(?=,?$)", re.MULTILINE)
_ELSEWHERE = re.compile(r"^\) ENGINE=(?:FEDERATED|CONNECT|SPIDER)\b.*\Z", re.MULTILINE | re.DOTALL)
_PARTITIONED = re.compile(
    r"\n(?:/\*!\d+)? PARTITION BY (?:LIST|RANGE)\b(?!.* VALUES LESS THAN \(?MAXVALUE\b).*\Z",
    re.DOTALL,
)
"""Partitions that have no place for some values: MySQL writes them as a comment for itself."""
_CHARACTERS = re.compile(r" DEFAULT CHARSET=\w+")
_BINARY = 16
"""The bytes of an MD5."""
_VALUES = {
    "bigint": "$n",
    "date": "DATE_ADD('2000-01-01', INTERVAL ($n % 100000) DAY)",
    "datetime": "DATE_ADD('2000-01-01 00:00:00', INTERVAL $n MINUTE)",
    "double": "$n",
    "enum": "(1 + $n % $labels)",
    "float": "$n",
    "geometry": "ST_GeomFromText(CONCAT('POINT(', $n, ' 0)'))",
    "inet4": "INET_NTOA(167772160 + $n)",
    "json": "JSON_OBJECT('n', $n)",
    "point": "ST_GeomFromText(CONCAT('POINT(', $n, ' 0)'))",
    "set": "(1 + $n % $labels)",
    "time": "SEC_TO_TIME($n % 3000000)",
    "timestamp": "DATE_ADD('2000-01-02 00:00:00', INTERVAL ($n % 18000000) MINUTE)",
    "uuid": "MD5($n)",
    "year": "(1970 + $n % 120)",
}
"""The value of the number $n, by the type's name."""
_LARGEST = {"tinyint": 127, "smallint": 32_767, "mediumint": 8_388_607, "int": 2_147_483_647}


def _integer(column: Column, n: str) -> str:
    """Return the number, in which as many rows differ as the type has values from 0 on."""
    largest = _LARGEST[column.kind]
    return f"({n} % {2 * (largest + 1) if 'unsigned' in column.spelled else largest + 1})"


def _decimal(column: Column, n: str) -> str:
    return f"(({n} % {10**column.limit}) / {10**column.scale})"


def _text(column: Column, n: str) -> str:
    """Return the number in hexadecimal digits, filled up to the usual length."""
    width = min(max(column.width, 1), column.limit or column.width)
    if width <= len(f"{column.distinct:x}"):
        return f"LEFT(HEX({n}), {column.limit or 16})"
    return f"LEFT(CONCAT(HEX({n}), '.', REPEAT(MD5({n}), {width // 32 + 1})), {width})"


def _bytes(column: Column, n: str) -> str:
    return f"LEFT(UNHEX(MD5({n})), {min(column.limit or _BINARY, _BINARY)})"


def _bits(column: Column, n: str) -> str:
    return f"({n} % {2 ** min(column.limit, 62)})"


_OWN: Mapping[str, Callable[[Column, str], str]] = {
    "bit": _bits,
    "decimal": _decimal,
    **dict.fromkeys(_LARGEST, _integer),
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "mediumtext", "longtext"), _text),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), _bytes),
}
"""Types whose values depend on more than the number."""


class MysqlDialect(RowDialect):
    """The SQL of MySQL and MariaDB, of all versions: rows come from a table of numbers."""

    def quoted(self, name: str) -> str:
        """Return the name in backticks."""
        return quoted(name)

    def divided(self, number: str, by: int) -> str:
        """Return a quotient without its fraction."""
        return f"({number} DIV {by})"

    def hashed(self, number: str, salt: int) -> str:
        """Return a checksum of the number."""
        return f"(CRC32(CONCAT({number}, '/', {salt})) & 2147483647)"

    def begin(self, most_rows: int) -> Iterator[str]:
        """Yield what makes the table of numbers: it doubles each time."""
        yield f"CREATE TABLE {_NUMBERS} (i BIGINT PRIMARY KEY)"
        yield f"INSERT INTO {_NUMBERS} VALUES (1)"
        rows = 1
        while rows < most_rows:
            yield f"INSERT INTO {_NUMBERS} SELECT i + {rows} FROM {_NUMBERS}"
            rows *= 2

    def numbers(self, first: int, last: int) -> str:
        """Return a part of the table of numbers."""
        return f"{_NUMBERS} WHERE i BETWEEN {first} AND {last}"

    def end(self) -> Iterator[str]:
        """Yield what removes the table of numbers."""
        yield f"DROP TABLE {_NUMBERS}"

    def value(self, column: Column, number: str) -> str | None:
        """Return a value of the usual types: numbers as they are, texts with the number in them."""
        n = f"({number})"
        if column.kind in _OWN:
            return _OWN[column.kind](column, n)
        written = _VALUES.get(column.kind)
        if written is None:
            return None
        labels = column.spelled.count("','") + 1
        largest = labels if column.kind == "enum" else 2 ** min(labels, 62) - 1
        return written.replace("$n", n).replace("$labels", str(largest))


class MysqlCatalogue(CatalogueReader):
    """Reads the catalogue of MySQL and MariaDB, of one database."""

    dialect = MysqlDialect()

    def read(self, connection: Connection, address: Address, password: str | None) -> Catalogue:
        """Return the tables of the database that the address names."""
        del password
        if not address.database:
            raise UsageError(
                "the address names no database", hint=f"mysql://{address.user}@{address.host}/shop"
            )
        indexes = connection.rows(_INDEXES)
        tables = _tables(connection, indexes)
        unsure = _unsure_keys(indexes, tables)
        shown = [connection.rows(f"SHOW CREATE TABLE {one.name}")[0][1] for one in tables]
        here = [_without_elsewhere(text) for text in shown]
        made = [
            _creation(text, unsure[table.name]) for text, table in zip(here, tables, strict=True)
        ]
        (others,) = connection.rows(_OTHERS)
        words = ("views", "routines", "triggers", "sequences")
        left_out = [f"{count} {word}" for count, word in zip(others, words, strict=True) if count]
        checks = sum(len(_CHECK.findall(text)) for text in made)
        if checks:
            left_out.append(f"{checks} checks, which made-up rows may not pass")
        elsewhere = sum(" ENGINE=" not in text for text in made)
        if elsewhere:
            left_out.append(f"on which other servers {elsewhere} of the tables are")
        unparted = sum(_PARTITIONED.search(text) is not None for text in here)
        if unparted:
            left_out.append(
                f"the partitions of {count_of(unparted, 'table')}, which have no place for some"
                " values"
            )
        if any(unsure.values()):
            left_out.append("the uniqueness of keys with expressions or short beginnings of texts")
        return Catalogue(
            before=_BEFORE + "".join(f"{text};\n" for text in made),
            after=_AFTER,
            tables=tables,
            left_out=tuple(left_out),
        )


def _without_elsewhere(text: str) -> str:
    """Return what makes a table without how another server is reached, which has a password."""
    elsewhere = _ELSEWHERE.search(text)
    if elsewhere is None:
        return text
    characters = _CHARACTERS.search(elsewhere[0])
    return text[: elsewhere.start()] + ")" + (characters[0] if characters else "")


def _creation(text: str, unsure: Collection[str]) -> str:
    """Return what makes a table, without where files are and the next row.

    Checks are not enforced, ``unsure`` keys need not be unique, and partitions have a place for all
    values: made-up rows may not fit otherwise.
    """
    text = _PARTITIONED.sub("", text)
    text = re.sub(r" (?:DATA|INDEX) DIRECTORY='[^']*'", "", text)
    text = re.sub(r" AUTO_INCREMENT=\d+", "", text)
    for key in unsure:
        text = text.replace(f"UNIQUE KEY {quoted(key)} ", f"KEY {quoted(key)} ")
    return _CHECK.sub(r"\1 /*!80016 NOT ENFORCED */", text)


def _unsure_keys(indexes: Sequence[Row], tables: Sequence[Table]) -> Mapping[str, Collection[str]]:
    """Return the unique keys of tables of which made-up rows may have one value twice.

    They have an expression, a generated column, or the beginning of a text that is short.
    """
    columns = {table.name: {column.name for column in table.columns} for table in tables}
    unsure: dict[str, set[str]] = {table.name: set() for table in tables}
    for table, index, name, not_unique, _, _, part in indexes:
        written = quoted(table)
        if not_unique or written not in columns:
            continue
        is_sure = name in columns[written] and (part is None or part >= _ENOUGH)
        if not is_sure:
            unsure[written].add(index)
    return unsure


def _tables(connection: Connection, indexes: Sequence[Row]) -> tuple[Table, ...]:
    columns: dict[str, list[Row]] = defaultdict(list)
    unique: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    distinct: dict[tuple[str, str], int] = {}
    for table, *column in connection.rows(_COLUMNS):
        columns[table].append(column)
    for table, index, name, not_unique, place, cardinality, _ in indexes:
        if not not_unique:
            unique[table][index].append(name or "")  # an expression has no name
        if place == 1 and cardinality is not None:
            distinct[table, name] = cardinality
    foreign = by_table(connection.rows(_FOREIGN))
    return tuple(
        Table(
            name=quoted(name),
            rows=rows or 0,
            columns=tuple(
                _column(rows or 0, distinct.get((name, column[0])), *column)
                for column in columns[name]
            ),
            unique=tuple(
                tuple(key)
                for key in unique[name].values()
                if {column[0] for column in columns[name]}.issuperset(key)
            ),
            foreign=foreign_keys(foreign[name], quoted),
        )
        for name, rows in connection.rows(_TABLES)
    )


def _column(
    rows: int,
    distinct: int | None,
    name: str,
    kind: str,
    spelled: str,
    length: int | None,
    precision: int | None,
    scale: int | None,
    nullable: str,
) -> Column:
    limit = length or precision or 0
    return Column(
        name=name,
        kind=kind.lower(),
        spelled=spelled,
        distinct=max(1, rows // 10 if distinct is None else distinct),
        limit=limit,
        scale=scale or 0,
        width=max(1, min(_USUAL_WIDTH, limit // 2 or _USUAL_WIDTH)),
        required=nullable == "NO",
    )


def quoted(name: str) -> str:
    """Return a name in backticks."""
    return f"`{name.replace('`', '``')}`"


PLUGIN = MysqlCatalogue()
