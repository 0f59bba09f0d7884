"""Statements are parted where their literals are, and it is known what replaying them would do."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.capture import sql
from dbhone.capture.anonymise import Anonymiser
from dbhone.capture.sql import (
    MYSQL,
    POSTGRESQL,
    LexicalRules,
    TransactionEffect,
    names_of,
    places_of_shape,
    replay_rule,
    split,
)


@pytest.mark.parametrize(
    ("text", "rules", "pieces"),
    [
        ("SELECT 1, t1.c2, $1, x2 FROM a3", POSTGRESQL, ["SELECT ", ", t1.c2, $1, x2 FROM a3"]),
        ("SELECT a = -5, b -5, (-1.5e-3)", POSTGRESQL, ["SELECT a = ", ", b -", ", (", ")"]),
        ("SELECT 'it''s', E'a\\'b'", POSTGRESQL, ["SELECT ", ", E", ""]),
        ("SELECT 'a\\' || 'b'", POSTGRESQL, ["SELECT ", " || ", ""]),
        ("SELECT 'a\\'b', \"q\"", MYSQL, ["SELECT ", ", ", ""]),
        ('SELECT "q\'1" FROM t', POSTGRESQL, ['SELECT "q\'1" FROM t']),
        ("SELECT `q'1` FROM t", MYSQL, ["SELECT `q'1` FROM t"]),
        ("SELECT $x$ 'y' $$ $x$, $1", POSTGRESQL, ["SELECT ", ", $1"]),
        ("SELECT a -- it's 5\n FROM t", POSTGRESQL, ["SELECT a \n FROM t"]),
        ("SELECT /* it's /* 5 */ */ a", POSTGRESQL, ["SELECT  a"]),
        ("SELECT a # it's 5\n FROM t", MYSQL, ["SELECT a \n FROM t"]),
        ("SELECT /*+ NO_INDEX(t) */ a", MYSQL, ["SELECT /*+ NO_INDEX(t) */ a"]),
    ],
)
def test_a_statement_is_parted_where_its_literals_are(
    text: str, rules: LexicalRules, pieces: list[str]
) -> None:
    assert split(text, rules)[::2] == pieces


@given(st.text(max_size=60), st.sampled_from([POSTGRESQL, MYSQL]))
def test_what_has_no_comments_is_joined_again(text: str, rules: LexicalRules) -> None:
    if "--" not in text and "/*" not in text and "#" not in text:
        assert "".join(split(text, rules)) == text


def test_what_is_cut_off_is_seen() -> None:
    for text in ("SELECT 'cut", 'SELECT "cut', "SELECT $$cut", "SELECT /* cut"):
        assert not sql.is_whole(tuple(split(text, POSTGRESQL)[::2]), POSTGRESQL)
    assert sql.is_whole(('SELECT "it\'s", ', " FROM t"), POSTGRESQL)


@pytest.mark.parametrize(
    ("text", "effect", "left_out"),
    [
        ("BEGIN ISOLATION LEVEL SERIALIZABLE", TransactionEffect.BEGIN, None),
        ("start transaction", TransactionEffect.BEGIN, None),
        ("END;", TransactionEffect.END, None),
        ("ROLLBACK TO SAVEPOINT a", TransactionEffect.PLAIN, None),
        ("SAVEPOINT a", TransactionEffect.PLAIN, None),
        ("BEGIN; UPDATE t SET a = 1; COMMIT;", TransactionEffect.PLAIN, None),
        ("SET TRANSACTION READ ONLY", TransactionEffect.PLAIN, None),
        ("SET autocommit=0", TransactionEffect.AUTOCOMMIT_OFF, sql.OF_SESSION),
        ("SET search_path = a", TransactionEffect.PLAIN, sql.OF_SESSION),
        ("CREATE TEMP TABLE a (b int)", TransactionEffect.PLAIN, sql.TEMPORARY),
        ("ALTER TABLE a ADD b int", TransactionEffect.PLAIN, sql.DEFINITION),
        ("COPY a FROM STDIN", TransactionEffect.PLAIN, sql.FROM_CLIENT),
        ("LOAD DATA INFILE 'x' INTO TABLE y", TransactionEffect.PLAIN, sql.FROM_CLIENT),
        ("SELECT pg_advisory_lock(5)", TransactionEffect.PLAIN, sql.ADMINISTRATION),
        ("SELECT * FROM dblink('host=x', 'y')", TransactionEffect.PLAIN, sql.ADMINISTRATION),
        ("SELECT a FROM t INTO OUTFILE 'x'", TransactionEffect.PLAIN, sql.ADMINISTRATION),
        ("/*+ Set(enable_nestloop off) */ SELECT a FROM t", TransactionEffect.PLAIN, None),
        ("/*+ MAX(5) */\n/*+ b */ CREATE TABLE a (b int)", TransactionEffect.PLAIN, sql.DEFINITION),
        ("/*!40101 SET NAMES utf8 */", TransactionEffect.PLAIN, sql.OF_SESSION),
        ("SET STATEMENT a = 5, b='c' FOR SELECT d FROM t", TransactionEffect.PLAIN, None),
        ("SET STATEMENT a=1 FOR\nTRUNCATE t", TransactionEffect.PLAIN, sql.DEFINITION),
    ],
)
def test_what_replaying_would_do(
    text: str, effect: TransactionEffect, left_out: str | None
) -> None:
    rules = MYSQL if "OUTFILE" in text or "=0" in text else POSTGRESQL
    parts = split(text, rules)
    found = replay_rule(tuple(parts[::2]), tuple(parts[1::2]), rules)
    assert found.effect is effect
    assert found.left_out == left_out


@given(st.text(max_size=30))
def test_a_value_is_replaced_by_one_of_its_length_and_always_by_the_same(value: str) -> None:
    replaced = Anonymiser()
    text = "'" + value.replace("'", "''") + "'"
    assert len(replaced(text)) == len(text)
    assert replaced(text) == replaced(text)
    assert split(f"SELECT {replaced(text)}", POSTGRESQL)[1] == replaced(text)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("2147483647", r"1\d{9}"),
        ("'2026-11-24 21:20:59.123'", r"'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}'"),
        ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", r"'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'"),
        ("'me@example.com'", r"'[a-z]{2}@[a-z]{7}\.[a-z]{3}'"),
        ('\'{"a": true, "b": 12}\'', r'\'\{"[a-z]": true, "[a-z]": \d\d\}\''),
        ("'3 days'", r"'\d days'"),
        ("'1 year 2 mons -3 days 04:05:06'", r"'\d year \d mons -\d days \d\d:\d\d:\d\d'"),
        ("'%Smith%'", r"'%[A-Z][a-z]{4}%'"),
        ("0x1F", r"0x[0-9A-F]{2}"),
        ("'078-05-1120'", r"'\d{3}-\d\d-\d{4}'"),
    ],
)
def test_what_replaces_a_value_is_of_its_type(value: str, kept: str) -> None:
    assert re.fullmatch(kept, Anonymiser()(value))


@pytest.mark.parametrize(
    ("value", "parsed"),
    [
        ("2026-05-04 12:00:00.123+00", datetime.fromisoformat),
        ("2026-05-04T12:00:00+05:30", datetime.fromisoformat),
        ("2026-05-04T12:00:00.5Z", datetime.fromisoformat),
        ('{"a": 12, "b": [-10, 0.5, 31e5, "it is 7"]}', json.loads),
        ('{"at": "2026-05-04T12:00:00Z", "n": null}', json.loads),
        ("192.168.1.10", ipaddress.ip_interface),
        ("172.16.0.0/16", ipaddress.ip_network),
        ("from 255.199.1.0 on", lambda text: ipaddress.ip_address(text.split()[1])),
        ("2001:db8::8a2e:370:7334", ipaddress.IPv6Address),
        ("2001:db8:4::/48", ipaddress.IPv6Network),
        ("::ffff:10.1.0.7", ipaddress.IPv6Address),
        ("08:00:2b:01:02:5f", lambda text: bytes.fromhex(text.replace(":", " "))),
        ("08-00-2B-01-02-5F", lambda text: bytes.fromhex(text.replace("-", " "))),
        ("-infinity", float),
    ],
)
def test_what_replaces_a_value_is_valid(value: str, parsed: Callable[[str], object]) -> None:
    for _ in range(50):
        replaced = Anonymiser()(f"'{value}'")[1:-1]
        parsed(replaced)
        assert len(replaced) == len(value)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("'2026-05-04 12:00:00.123+00'", r"'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\+00'"),
        ("'2026-05-04 12:00:00 UTC'", r"'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC'"),
        ("'12:00:00-03:30'", r"'\d\d:\d\d:\d\d-03:30'"),
        ("'open 09:00-12:30'", r"'[a-z]{4} \d\d:\d\d-\d\d:\d\d'"),
    ],
)
def test_the_zone_of_a_time_stays(value: str, kept: str) -> None:
    assert re.fullmatch(kept, Anonymiser()(value))


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (r"""'["\u00e9\u0416 \n\""]'""", r"""'\["(\\u[45][0-9a-f]{3}){2} \\n\\""\]'"""),
        (r"""'{"a": "\\u00e9\\n"}'""", r"""'\{"[a-z]": "\\{2}u[45][0-9a-f]{3}\\\\n"\}'"""),
        (r"'\0712'", r"'\\0\d{3}'"),
        (r"'C:\Users\Dora'", r"'[A-Z]:\\[A-Z][a-z]{4}\\[A-Z][a-z]{3}'"),
    ],
)
def test_escapes_stay_escapes_and_tell_no_character(value: str, kept: str) -> None:
    replaced = Anonymiser()(value)
    assert re.fullmatch(kept, replaced)
    assert "00e9" not in replaced


def test_of_a_value_of_bytes_hardly_any_byte_stays() -> None:
    value = "".join(map(chr, [*range(32), *range(0x21, 0x25), *range(0xDC80, 0xDD00)]))
    replaced = Anonymiser()(f"'{value}'")[1:-1]
    assert len(replaced.encode("utf-8", "surrogateescape")) == len(value)
    assert sum(one == other for one, other in zip(value, replaced, strict=True)) < len(value) / 8
    assert set(map(ord, replaced)) <= {*range(0xDC80, 0xDD00), ord('"')}


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("30 minutes. Call John Doe", "John"),
        ("12m.smith@example.com", "smith"),
        ("2 years: patient Jane Roe", "Jane"),
        ("9w3kZqLx", "kZqLx"),
        ("$ecret$", "ecret"),
    ],
)
def test_what_only_begins_like_a_value_of_a_type_is_replaced_whole(value: str, secret: str) -> None:
    replaced = Anonymiser().parameters((), [value])[0]
    assert replaced is not None
    assert len(replaced) == len(value)
    assert secret not in replaced
    assert secret not in Anonymiser()(f"'{value}'")


def test_parameters_that_say_how_many_rows_are_wanted_are_kept() -> None:
    text = "SELECT a FROM t WHERE b = $1 ORDER BY a LIMIT $2 OFFSET $3"
    pieces = tuple(split(text, POSTGRESQL)[::2])
    for _ in range(5):
        first, *shape, currency = Anonymiser().parameters(pieces, ["4711", "1", "0", "$"])
        assert shape == ["1", "0"]
        assert first != "4711" or currency == "$"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("SELECT nextval('order_seq'), a FROM t WHERE b = 'secret'", ["'order_seq'"]),
        ("SELECT setval('order_seq', 4711471147114711)", ["'order_seq'"]),
        ("SELECT date_trunc('month', a) FROM t WHERE b = 'secret'", ["'month'"]),
        ("SELECT extract('epoch' FROM a), date_part('dow', b) FROM t", ["'epoch'", "'dow'"]),
        ("SELECT a AT TIME ZONE 'Europe/Paris' FROM t", ["'Europe/Paris'"]),
        (
            "SELECT to_tsvector('english', a) @@ plainto_tsquery('simple', 'secret')",
            ["'english'", "'simple'"],
        ),
        ("SELECT to_tsvector('secret text'), 'secret' AS region", []),
        (
            "SELECT 'public.orders'::regclass, CAST('pg_class' AS regclass)",
            ["'public.orders'", "'pg_class'"],
        ),
        ("SELECT regtype 'numeric', 'english'::pg_catalog.regconfig", ["'numeric'", "'english'"]),
        (
            "SELECT a->'name'->>'first', b #>> '{c,0}', c #> '{d}', d -> 7",
            ["'name'", "'first'", "'{c,0}'", "'{d}'", "7"],
        ),
        ("SELECT a FROM t /*!50100 FORCE INDEX (b) */ WHERE c = 4711471147114711", ["50100"]),
    ],
)
def test_names_stay_where_a_statement_would_fail_with_others(text: str, kept: list[str]) -> None:
    parts = split(text, POSTGRESQL)
    pieces, literals = tuple(parts[::2]), parts[1::2]
    names, _ = names_of(pieces)
    assert [literals[at] for at in sorted(names)] == kept
    replaced = Anonymiser().literals(pieces, literals)
    assert [replaced[at] for at in sorted(names)] == kept
    for at, (literal, other) in enumerate(zip(literals, replaced, strict=True)):
        assert at in names or literal != other


def test_parameters_that_name_something_are_kept() -> None:
    text = "SELECT date_trunc($2, a), b->>$3 FROM t WHERE c = $1"
    pieces = tuple(split(text, POSTGRESQL)[::2])
    secret, *names = Anonymiser().parameters(pieces, ["a secret", "month", "first name"])
    assert names == ["month", "first name"]
    assert secret != "a secret"


@pytest.mark.parametrize("value", ["7 months", "1 century", "P17Y11M", "P3DT4H55M6.75S", "PT59M"])
def test_an_interval_keeps_its_units(value: str) -> None:
    replaced = Anonymiser()(f"'{value}'").strip("'")
    assert re.sub(r"\d", "", replaced) == re.sub(r"\d", "", value)


def test_two_keys_make_two_of_it() -> None:
    assert Anonymiser()("'Margaret Hamilton'") != Anonymiser()("'Margaret Hamilton'")


@pytest.mark.parametrize(
    ("sql", "kept"),
    [
        ("SELECT a FROM t WHERE b = 7 LIMIT 20", ["20"]),
        ("SELECT a FROM t LIMIT 20, 30", ["20", "30"]),
        ("SELECT a FROM t WHERE b = 7 LIMIT 20 OFFSET 40", ["20", "40"]),
        ("SELECT a FROM t WHERE b = 7 OFFSET 40 ROWS FETCH NEXT 5 ROWS ONLY", ["40", "5"]),
        ("SELECT a, count(*) FROM t WHERE b = 7 GROUP BY 1 ORDER BY 2 DESC, 1", ["1", "2", "1"]),
        ("SELECT a FROM t ORDER BY f(a, 7), 2 DESC", ["2"]),
        ("SELECT a FROM t GROUP BY a HAVING b IN (6, 7)", []),
        ("(SELECT a FROM t ORDER BY a) UNION SELECT 6, 7", []),
        ("SELECT a FROM t ORDER BY a UNION SELECT 6, 7", []),
        ("SELECT by_limit, 7 FROM t", []),
        ("UPDATE t SET limit_a = 5 WHERE a IN (6, 7)", []),
    ],
)
@pytest.mark.parametrize("rules", [POSTGRESQL, MYSQL])
def test_how_many_rows_and_by_which_columns_a_query_sorts_stays_as_it_is(
    sql: str, kept: list[str], rules: LexicalRules
) -> None:
    parts = split(sql, rules)
    literals = parts[1::2]
    places = places_of_shape(tuple(parts[::2]))
    assert [literals[at] for at in sorted(places)] == kept
    replaced = Anonymiser().literals(tuple(parts[::2]), literals)
    assert [replaced[at] for at in sorted(places)] == kept


@pytest.mark.parametrize(
    ("literal", "is_like"),
    [
        ("b'10110011'", r"b'[01]{8}'"),
        ("B'1'", r"B'[01]'"),
        ("x'4d7953514c'", r"x'[0-9a-f]{10}'"),
        ("X'AB'", r"X'[0-9A-F]{2}'"),
        ("x''", r"x''"),
        ("0b1011", r"0b[01]{4}"),
        ("N'1011'", r"N'\d{4}'"),
    ],
)
def test_digits_of_another_base_stay_digits_of_it(literal: str, is_like: str) -> None:
    parts = split(f"SELECT a FROM t WHERE b = {literal}", MYSQL)
    replaced = Anonymiser().literals(tuple(parts[::2]), parts[1::2])
    assert re.search(rf"= {is_like}\Z", "".join([parts[0], *replaced]))
