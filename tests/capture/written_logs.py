"""Sessions, and the logs that servers would write of them."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import strategies as st

_BEGAN = datetime(2026, 5, 4, 10, 20, 30, tzinfo=UTC)

TEXTS = st.text(
    st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=12
).filter(lambda text: not text.endswith("..."))
NUMBERS = st.integers(0, 10**12).map(str)


@dataclass(frozen=True)
class Asked:
    """One statement: its text, its parameters if it was prepared, and its microseconds."""

    sql: str
    parameters: tuple[str | None, ...] | None
    microseconds: int


@dataclass(frozen=True)
class Line:
    """A statement as it is logged: at so many milliseconds, by a session."""

    at: int
    session: int
    asked: Asked


def _quoted(text: str, protocol: str) -> str:
    if protocol == "mysql":
        text = text.replace("\\", "\\\\")
    return "'" + text.replace("'", "''") + "'"


@st.composite
def statements(draw: st.DrawFn, protocol: str) -> Asked:
    """Return a statement with literals or parameters, over several lines perhaps."""
    took = draw(st.integers(0, 5_000_000))
    name = draw(st.sampled_from(['"odd ""name"" 7\'"', "t1", "a_2.b3"]))
    if protocol == "mysql":
        name = name.replace('"', "`")
    if protocol == "postgresql" and draw(st.booleans()):
        values = tuple(draw(st.lists(st.none() | TEXTS | NUMBERS, min_size=1, max_size=3)))
        marks = ", ".join(f"${at + 1}" for at in range(len(values)))
        return Asked(f"SELECT {name}\nWHERE x IN ({marks})", values, took)
    literal = st.one_of(NUMBERS, TEXTS.map(lambda text: _quoted(text, protocol)))
    literals = draw(st.lists(literal, min_size=1, max_size=3))
    space = draw(st.sampled_from([" ", "\n", "\n\t", "\t"]))
    verb = draw(st.sampled_from(["UPDATE", "select", "INSERT INTO"]))
    return Asked(f"{verb} {name}{space}VALUES (" + ",".join(literals) + ")", None, took)


@st.composite
def sessions(draw: st.DrawFn, protocol: str) -> list[list[list[Asked]]]:
    """Return sessions, each of which is a list of transactions of one statement or several."""
    begin, commit = (Asked(word, None, 5) for word in ("BEGIN", "COMMIT"))
    alone = statements(protocol).map(lambda one: [one])
    several = st.lists(statements(protocol), max_size=3).map(lambda own: [begin, *own, commit])
    return draw(st.lists(st.lists(alone | several, min_size=1, max_size=3), min_size=1, max_size=3))


@st.composite
def mixed(draw: st.DrawFn, parts: list[list[list[Asked]]]) -> list[Line]:
    """Return the statements of all sessions in one order, in which each keeps its own."""
    waiting = [[one for transaction in own for one in transaction] for own in parts]
    lines: list[Line] = []
    at = 0
    while any(waiting):
        session = draw(st.sampled_from([n for n, own in enumerate(waiting) if own]))
        at += draw(st.integers(0, 1500))
        lines.append(Line(at, session, waiting[session].pop(0)))
    return lines


def _time(line: Line, form: str) -> str:
    moment = datetime.fromtimestamp(_BEGAN.timestamp() + line.at / 1000, UTC)
    return moment.strftime(form)


def _millisecond_time(line: Line) -> str:
    return f"{_time(line, '%Y-%m-%d %H:%M:%S')}.{(line.at % 1000):03} UTC"


def _message(line: Line) -> tuple[str, str]:
    asked = line.asked
    took = f"duration: {asked.microseconds / 1000:.3f} ms  "
    if asked.parameters is None:
        return f"{took}statement: {asked.sql}", ""
    texts = [
        "NULL" if value is None else "'" + value.replace("'", "''") + "'"
        for value in asked.parameters
    ]
    values = ", ".join(f"${at + 1} = {text}" for at, text in enumerate(texts))
    return f"{took}execute <unnamed>: {asked.sql}", f"parameters: {values}"


def postgresql_stderr(lines: list[Line]) -> str:
    """Return the log as the server writes it with Debian's log_line_prefix."""
    written = ""
    for line in lines:
        prefix = f"{_millisecond_time(line)} [{100 + line.session}] me@shop "
        message, detail = _message(line)
        for level, text in (("LOG", message), ("DETAIL", detail)):
            if text:
                written += f"{prefix}{level}:  " + text.replace("\n", "\n\t") + "\n"
    return written


def postgresql_csv(lines: list[Line]) -> str:
    """Return the log with the 26 columns that it has since version 14."""
    written = io.StringIO()
    for line in lines:
        message, detail = _message(line)
        time = _millisecond_time(line)
        quoted = csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="")
        written.write(f"{time},")
        quoted.writerow(["me", "shop"])
        written.write(f",{100 + line.session},")
        quoted.writerow(["[local]"])
        written.write(f",6b06.{line.session:x},3,")
        quoted.writerow(["SELECT"])
        written.write(f",{time[:19]} UTC,3/0,0,LOG,00000,")
        quoted.writerow([message])
        written.write(",")
        if detail:
            quoted.writerow([detail])
        written.write(',,,,,,,,"psql","client backend",,0\n')
    return written.getvalue()


def postgresql_json(lines: list[Line]) -> str:
    """Return the log with an object on each line."""
    written = ""
    for line in lines:
        message, detail = _message(line)
        record = {
            "timestamp": _millisecond_time(line),
            "pid": 100 + line.session,
            "session_id": f"6b06.{line.session:x}",
            "error_severity": "LOG",
            "message": message,
        }
        if detail:
            record["detail"] = detail
        written += json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n"
    return written


_HEADING = "/usr/sbin/mariadbd, Version: 10.11.19-MariaDB-log (Debian 12). started with:\n"
_HEADING += "Tcp port: 3306  Unix socket: /run/x.sock\n" + "Time\t\t    Id Command\tArgument\n"


def mysql_general(lines: list[Line]) -> str:
    """Return the log as MariaDB writes it: the time where the second changes."""
    written, before = _HEADING, ""
    for line in lines:
        time = _time(line, "%y%m%d %H:%M:%S")
        shown, before = (time if time != before else "\t"), time
        written += f"{shown}\t{line.session + 3:6} Query\t{line.asked.sql}\n"
    return written


def mysql_slow(lines: list[Line]) -> str:
    """Return the log as MariaDB writes it."""
    written, before = _HEADING, ""
    for line in lines:
        time, took = _time(line, "%y%m%d %H:%M:%S"), line.asked.microseconds
        written += f"# Time: {time}\n" if time != before else ""
        before = time
        written += (
            "# User@Host: me[me] @ localhost []\n"
            f"# Thread_id: {line.session + 3}  Schema: shop  QC_hit: No\n"
            f"# Query_time: {took // 10**6}.{took % 10**6:06}  Lock_time: 0.000000  Rows_sent: 1\n"
            f"# Rows_affected: 0  Bytes_sent: 11\n"
            f"SET timestamp={int(_BEGAN.timestamp()) + line.at // 1000};\n{line.asked.sql};\n"
        )
    return written


GOLDEN = Path(__file__).parents[1] / "golden" / "capture"
