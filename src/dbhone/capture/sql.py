"""Parts a statement into its template and its literals, and says what replaying it would do.

A whole SQL parser would take ten to a hundred times as long, and refuse what it does not know.
What is needed is less: where literals, comments and quoted names begin and end. So this is a lexer
of two dialects, made of a few regular expressions that run over a statement once.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from enum import Enum

from dbhone.workload.verb import from_verb

_WORD_BEFORE = "[A-Za-z0-9_$\x80-\U0010ffff]"
_NUMBER = rf"(?<!{_WORD_BEFORE}[0-9])(?<=[0-9])[\w.]*(?:(?<=[eE])[+-]\d+)?"
"""What follows the first digit of a number: nothing of a name or a parameter goes before it."""
_PLAIN = r"[^']*(?:''[^']*)*'"
_ESCAPED = r"[^'\\]*(?:(?:''|\\.)[^'\\]*)*'"
"""What follows the first quote, without and with escapes by a backslash."""
_ESCAPED_DOUBLE = r'[^"\\]*(?:(?:""|\\.)[^"\\]*)*"'
_NAME_DOUBLE = r'"[^"]*(?:""[^"]*)*"'
_NAME_BACKTICK = r"`[^`]*(?:``[^`]*)*`"
_DOLLAR = r"\$(?P<tag>[A-Za-z_]\w*|)\$.*?\$(?P=tag)\$"
_NESTED = r"/\*(?![+!])(?:[^*/]|\*(?!/)|/(?!\*)|/\*(?:[^*]|\*(?!/))*\*/)*\*/"
"""A comment of PostgreSQL, which may hold another. One that is a hint is code."""
_COMMENT = r"/\*(?![+!])[^*]*(?:\*(?!/)[^*]*)*\*/"
# Each begins with one set of characters: that is what makes the search for it fast.
_SIGNED = r"(?<=-)(?:(?<=[(,=<>+*/-]-)|(?<=[(,=<>+*/-][ ]-))[0-9][\w.]*(?:(?<=[eE])[+-]\d+)?"
"""What follows a minus that belongs to a number: such a minus comes after an operator."""
_POSTGRESQL_LITERAL = rf"[0-9'-](?:(?<=')(?:(?<=\b[eE]'){_ESCAPED}|{_PLAIN})|{_NUMBER}|{_SIGNED})"
_MYSQL_LITERAL = rf"""[0-9'"-](?:(?<='){_ESCAPED}|(?<="){_ESCAPED_DOUBLE}|{_NUMBER}|{_SIGNED})"""


class TransactionEffect(Enum):
    """What replaying a statement would do."""

    PLAIN = "plain"
    BEGIN = "begin"
    """It opens a transaction."""
    END = "end"
    """It ends a transaction."""
    AUTOCOMMIT_OFF = "autocommit off"
    """From it on, each statement of the session is in a transaction."""
    AUTOCOMMIT_ON = "autocommit on"


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalRules:
    """How a DBMS's family writes literals, comments and names.

    ``literal`` parts a statement that has none of the ``marks``. ``all`` parts any: its groups are
    what is kept as it is, a comment, and a literal. ``broken`` finds what no piece of a whole
    statement has. ``parameter`` finds what a prepared statement has in a value's place, and
    ``no_values`` names the executions whose values a log does not have. ``inner`` finds templates
    that only a routine or a trigger can have executed.
    """

    protocol: str
    literal: re.Pattern[str]
    marks: tuple[str, ...]
    all: re.Pattern[str]
    broken: re.Pattern[str]
    parameter: re.Pattern[str]
    no_values: str
    inner: re.Pattern[str]

    @property
    def commits_implicitly(self) -> bool:
        """Whether a definition ends what is open, and autocommit that is turned on again."""
        return self.protocol == "mysql"


_FLAGS = re.DOTALL | re.ASCII


def _rules(
    protocol: str,
    *,
    literal: str,
    marks: tuple[str, ...],
    name: str,
    comment: str,
    parameter: str,
    no_values: str,
    more: str = "",
    inner: str = "(?!)",
) -> LexicalRules:
    value = f"{more}|{literal}" if more else literal
    return LexicalRules(
        protocol=protocol,
        literal=re.compile(f"({literal})", _FLAGS),
        marks=marks,
        all=re.compile(f"(?P<kept>{name})|(?P<comment>{comment})|(?P<value>{value})", _FLAGS),
        broken=re.compile(r"""['"`]|/\*(?![+!])|\$[A-Za-z_]*\$""", _FLAGS),
        parameter=re.compile(parameter, _FLAGS),
        no_values=no_values,
        inner=re.compile(inner, _FLAGS | re.IGNORECASE),
    )


# The server writes variables of routines so, but not those that get the row of a query, nor the
# rows of a trigger. Clients may name a table NEW, and a database.
_VARIABLE = r"\bname_const\(\0"
_INTO_VARIABLE = r"\A\s*(?:select|with)\b.*\binto\s+(?!(?:out|dump)file\b)[\w`]"
_ROW = (
    r"\A(?!.*\b(?:new|old)\b(?!\s*\.)).*"
    r"(?<!from\s)(?<!join\s)(?<!into\s)(?<!update\s)(?<![\w$.@`])"
    r"(?:new|old)\s*\.\s*(?:`[^`]+`|\w+)(?!\w|\s*\.)"
)
POSTGRESQL = _rules(
    "postgresql",
    literal=_POSTGRESQL_LITERAL,
    marks=('"', "--", "/*", "$"),
    name=_NAME_DOUBLE,
    comment=rf"--[^\n]*|{_NESTED}",
    parameter=r"\$\d",
    no_values="executions without their parameters (log_parameter_max_length is 0, or they failed)",
    more=_DOLLAR,
)
MYSQL = _rules(
    "mysql",
    literal=_MYSQL_LITERAL,
    marks=("`", "--", "/*", "#"),
    name=_NAME_BACKTICK,
    comment=rf"--(?=\s|$)[^\n]*|\#[^\n]*|{_COMMENT}",
    parameter=r"\?",
    no_values=(
        "executions without their values: the server logs no values of what clients prepared before"
        " it logged, so let them reconnect meanwhile"
    ),
    inner=f"{_VARIABLE}|{_INTO_VARIABLE}|{_ROW}",
)
LEXICAL_RULES = {rules.protocol: rules for rules in (POSTGRESQL, MYSQL)}


def split(sql: str, rules: LexicalRules) -> list[str]:
    """Return a statement's pieces and its literals in turn; it begins and ends with a piece.

    Comments are left out, hints are not: a comment may hold a value.
    """
    for mark in rules.marks:
        if mark in sql:
            return _split(sql, rules)
    return rules.literal.split(sql)


def _split(sql: str, rules: LexicalRules) -> list[str]:
    parts, piece, end = [], "", 0
    for match in rules.all.finditer(sql):
        piece += sql[end : match.start()]
        end = match.end()
        if match["value"] is not None:
            parts += [piece, match[0]]
            piece = ""
        elif match["kept"] is not None:
            piece += match[0]
        elif piece and not piece[-1].isspace():
            piece += " "
    return [*parts, piece + sql[end:]]


def is_whole(pieces: tuple[str, ...], rules: LexicalRules) -> bool:
    """Return whether these are the pieces of a whole statement: a cut one has an open quote."""
    text = "\0".join(pieces)
    if rules.broken.search(text) is None:
        return True
    return rules.broken.search(rules.all.sub("", text)) is None


def has_parameters(pieces: tuple[str, ...], rules: LexicalRules) -> bool:
    """Return whether a template has parameters: places for values that stand elsewhere."""
    text = "\0".join(pieces)
    if rules.parameter.search(text) is None:
        return False
    return rules.parameter.search(rules.all.sub("", text)) is not None


# Which literals a template cannot do without

_AFTER_LIMIT = r"\b(?:limit|offset|top|fetch\s+(?:first|next))\s*\(?\s*(?:\0\s*,\s*)?"
_NOT_SORTED = r"(?!\b(?:select|having|union|where|values|limit|set)\b)"
_AFTER_SORTING = rf"\b(?:order|group)\s+by\b(?:(?:{_NOT_SORTED}[^()]|\([^()]*\))*,)?\s*"
_SHAPE_BEFORE = re.compile(rf"(?:{_AFTER_LIMIT}|{_AFTER_SORTING})\Z", re.IGNORECASE)
_LOOKED_AT = 300
"""So many characters before a literal are looked at."""
_MAY_SHAPE = re.compile(r"\b(?:limit|offset|top|fetch|by)\b", re.IGNORECASE)


@functools.lru_cache(maxsize=10_000)
def places_of_shape(pieces: tuple[str, ...]) -> frozenset[int]:
    """Return which literals of a template are no values, if they are whole numbers.

    Those are how many rows a query returns, and the columns by which it sorts and groups: with
    others it would be another query.
    """
    text = "\0".join(pieces)
    if _MAY_SHAPE.search(text) is None:
        return frozenset()
    places, end = set(), -1
    for at, piece in enumerate(pieces[:-1]):
        end += len(piece) + 1
        if _SHAPE_BEFORE.search(text[max(end - _LOOKED_AT, 0) : end]):
            places.add(at)
    return frozenset(places)


_PARAMETER_OF_SHAPE = re.compile(rf"{_AFTER_LIMIT}\$(\d+)", re.IGNORECASE)


@functools.lru_cache(maxsize=10_000)
def parameters_of_shape(pieces: tuple[str, ...]) -> frozenset[int]:
    """Return which parameters of a template, from 0 on, say how many rows it returns."""
    text = "\0".join(pieces)
    return frozenset(int(number) - 1 for number in _PARAMETER_OF_SHAPE.findall(text))


# Which literals of a template are names or keywords

_PLACE = r"(?P<place>\0|\$\d+)"
_OBJECT = (
    r"reg(?:class|collation|config|dictionary|namespace|operator|oper|procedure|proc|role|type)"
)
_NAMED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # Sequences, parts of dates, zones of time, keys of JSON, objects, and versions before code.
        r"(?:\b(?:nextval|currval|setval|date_trunc|date_part|extract|timezone)\s*\(\s*"
        rf"|\bat\s+time\s+zone\s+|->>?\s*|\#>>?\s*|\b{_OBJECT}\s*|/\*M?!){_PLACE}",
        rf"{_PLACE}(?=\s*(?:::|\bas\b)\s*(?:pg_catalog\s*\.\s*)?{_OBJECT}\b)",
        # The configuration of a text search: a text that is alone is the text that is searched.
        rf"\b(?:(?:plainto|phraseto|websearch_to|to)_tsquery|to_tsvector)\s*\(\s*{_PLACE}(?=\s*,)",
    )
)


@functools.lru_cache(maxsize=10_000)
def names_of(pieces: tuple[str, ...]) -> tuple[frozenset[int], frozenset[int]]:
    """Return which literals of a template, and which parameters, name something, from 0 on.

    With other names the statement would fail, or ask for something else.
    """
    text = "\0".join(pieces)
    literals, parameters = set(), set()
    for pattern in _NAMED:
        for match in pattern.finditer(text):
            place = match["place"]
            if place == "\0":
                literals.add(text.count("\0", 0, match.start("place")))
            else:
                parameters.add(int(place[1:]) - 1)
    return frozenset(literals), frozenset(parameters)


# What a template would do

_ENDS = frozenset({"commit", "rollback", "end", "abort"})
_DEFINES = frozenset(
    {
        *("create", "alter", "drop", "truncate", "rename", "comment", "grant", "revoke", "reindex"),
        *("vacuum", "cluster", "analyze", "analyse", "optimize", "optimise", "repair", "security"),
        *("refresh", "import", "reassign", "install", "uninstall", "cache", "purge", "change"),
    }
)
_SESSION = frozenset(
    {
        *("set", "reset", "discard", "use", "prepare", "execute", "deallocate", "listen"),
        *("unlisten", "notify", "load", "lock", "unlock", "flush", "kill", "shutdown", "restart"),
        *(
            "checkpoint",
            "handler",
            "xa",
            "start_replication",
            "backup",
            "stop",
            "delimiter",
            "help",
        ),
    }
)
_OUTSIDE = re.compile(
    r"\b(?:pg_(?:try_)?advisory_\w*lock\w*|get_lock|release_lock|release_all_locks|pg_sleep\w*"
    r"|sleep|pg_terminate_backend|pg_cancel_backend|pg_reload_conf|pg_rotate_logfile"
    r"|pg_switch_wal|pg_promote|pg_read_(?:binary_)?file|pg_ls_\w+|lo_import|lo_export"
    r"|load_file|dblink\w*|set_config|benchmark)\s*\(|\binto\s+(?:outfile|dumpfile)\b",
    re.IGNORECASE,
)
_INEXACT = re.compile(
    r"\b(?:random|rand|now|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday"
    r"|nextval|currval|lastval|gen_random_uuid|uuid\w*|sysdate|curdate|curtime|unix_timestamp"
    r"|utc_\w+|last_insert_id|connection_id|txid_current|pg_backend_pid)\s*\("
    r"|\b(?:current_(?:timestamp|date|time)|localtime(?:stamp)?)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z_]+")
_AUTOCOMMIT = re.compile(
    r"\s*set\s+(?:session\s+|@@(?:session\.)?)?autocommit\s*=\s*", re.IGNORECASE
)
_OF_TRANSACTION = re.compile(r"set\s+(?:local|transaction|constraints)\b", re.IGNORECASE)
_TEMPORARY = re.compile(r"\s*create\s+(?:global\s+|local\s+|or\s+replace\s+)*temp", re.IGNORECASE)
_DATA_STATEMENT = re.compile(r"\s*load\s+(?:data|xml)", re.IGNORECASE)

# So mysqldump, mariadb-dump and mydumper read a table, whatever the version of the server is.
_DUMPS = re.compile(r"\s*select\s+/\*!(?:\0|\d+)\s*sql_no_cache\b", re.IGNORECASE)

DEFINITION = "definitions and maintenance (DDL)"
OF_SESSION = "statements that set up a session (SET, USE, PREPARE, LOCK, …)"
TEMPORARY = "temporary tables"
FROM_CLIENT = "data between client and server (COPY, LOAD DATA)"
OF_ROUTINE = "statements of routines and triggers, which what called them executes"
DUMP = "reads of whole tables by dumps (mysqldump and others)"
ADMINISTRATION = "waits, locks of a session, files and administration"


@dataclass(frozen=True, slots=True)
class ReplayRule:
    """What a template does: to transactions, why it is not replayed if it is not, and whether
    its answers vary."""

    effect: TransactionEffect
    left_out: str | None = None
    inexact: bool = False


def sets_autocommit(pieces: tuple[str, ...]) -> bool:
    """Return whether what a statement does depends on its value: autocommit goes on, or off."""
    return _AUTOCOMMIT.match(pieces[0]) is not None


def replay_rule(
    pieces: tuple[str, ...], literals: tuple[str, ...], lexical: LexicalRules
) -> ReplayRule:
    """Return what a statement of this template does; ``literals`` are one statement's."""
    text = "\0".join(pieces)
    statements = [part for part in text.split(";") if part.strip(" \t\r\n\0")] or [""]
    rules = [_rule_of_one(statement, literals, lexical) for statement in statements]
    if len(rules) == 1:
        return rules[0]
    left_out = next((one.left_out for one in rules if one.left_out), None)
    return ReplayRule(
        _joined([one.effect for one in rules]), left_out, any(one.inexact for one in rules)
    )


def _joined(effects: list[TransactionEffect]) -> TransactionEffect:
    """Return what several statements in one text do together to the transaction."""
    within = False
    ended = False
    for effect in effects:
        if effect is TransactionEffect.BEGIN:
            within = True
        elif effect is TransactionEffect.END:
            ended = ended or not within
            within = False
    if within:
        return TransactionEffect.BEGIN
    return TransactionEffect.END if ended else TransactionEffect.PLAIN


def _rule_of_one(text: str, literals: tuple[str, ...], lexical: LexicalRules) -> ReplayRule:
    text = from_verb(text)
    words = _WORD.findall(text[:200].lower())
    verb, second = [*words, "", ""][:2]
    if verb == "begin" or (verb, second) == ("start", "transaction"):
        return ReplayRule(TransactionEffect.BEGIN)
    if verb in _ENDS:
        if "prepared" in words:
            return ReplayRule(TransactionEffect.PLAIN, ADMINISTRATION)
        return ReplayRule(TransactionEffect.PLAIN if "to" in words else TransactionEffect.END)
    if verb == "set" and _AUTOCOMMIT.match(text):
        off = literals[:1] == ("0",) or "off" in words or "false" in words
        return ReplayRule(
            TransactionEffect.AUTOCOMMIT_OFF if off else TransactionEffect.AUTOCOMMIT_ON, OF_SESSION
        )
    left_out = OF_ROUTINE if lexical.inner.search(text) else _why_left_out(text, verb)
    return ReplayRule(TransactionEffect.PLAIN, left_out, bool(_INEXACT.search(text)))


def _why_left_out(text: str, verb: str) -> str | None:
    if _TEMPORARY.match(text):
        return TEMPORARY
    if _DUMPS.match(text):
        return DUMP
    if verb in _DEFINES:
        return DEFINITION
    if verb == "copy" or _DATA_STATEMENT.match(text):
        return FROM_CLIENT
    if verb in _SESSION and not _OF_TRANSACTION.match(text.strip()):
        return OF_SESSION
    return ADMINISTRATION if _OUTSIDE.search(text) else None
