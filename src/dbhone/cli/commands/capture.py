"""``hone capture LOG…``: from what a server logged to a workload file."""

from __future__ import annotations

import io
import math
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from dbhone.capture.capture import Captured, CaptureOptions, capture
from dbhone.capture.counted import LONG
from dbhone.capture.live import capture_live, left_on, put_back, write_made_up_dump
from dbhone.capture.servers.base import SYNTAX, parse_address
from dbhone.capture.sessions import OTHER_DATABASE
from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import check_output, facts, headed, in_command, labelled, write_output
from dbhone.cli.listing import listing
from dbhone.cli.options import DURATION, FILE, force_option, output_option
from dbhone.errors import HoneError, MachineError, UsageError
from dbhone.units import count_of, duration, size
from dbhone.workload.dumps.base import load_dumps
from dbhone.workload.workload_file import SUFFIX, Header, Template

_SHOWN = 12
_MUCH = 0.1
"""The share of what was asked that may be left out without a warning."""
_FEW = 0.01
"""Such a share of statements may be of a program that only watches the server."""
_LONGEST_TEMPLATE = 100
_SOURCES = {
    "postgresql": "your version, such as postgresql-15",
    "mysql": "mariadb, or your version's tree, such as"
    " git:https://github.com/mysql/mysql-server@mysql-8.0.36",
}
"""What is built for a protocol, of which a log does not tell."""


@hone_command(
    "capture",
    Task.START,
    "hone capture postgresql.csv -o shop.workload",
    "hone capture general.log.1 general.log --anonymise -o shop.workload",
    "hone capture --server postgresql://me@db1/shop --for 10m -o shop.workload",
    "hone capture --server postgresql://me@db1/shop --made-up shop.sql",
)
@click.argument("logs", metavar="[LOG]...", nargs=-1, type=click.Path(path_type=Path))
@output_option("The workload file to write.", metavar=f"NAME{SUFFIX}")
@click.option(
    "--anonymise",
    is_flag=True,
    help="Replace all values by others of the same type and length.",
)
@click.option(
    "--database",
    metavar="NAME",
    help="Leave out statements on other databases.  [default: those on all]",
)
@click.option(
    "--line-prefix",
    metavar="PREFIX",
    help="The log_line_prefix of PostgreSQL's log to stderr.  [default: found out]",
)
@click.option(
    "--server",
    metavar="ADDRESS",
    help=f"Have this server log, then restore its settings: {SYNTAX}; ?socket=PATH names a socket.",
)
@click.option("--for", "seconds", type=DURATION, help="For how long, such as 10m.")
@click.option(
    "--made-up",
    metavar="FILE",
    type=FILE,
    help="Write a dump of this server's tables with made-up rows, by the catalogue's statistics.",
)
@click.option(
    "--put-back", is_flag=True, help="Restore the settings of a server whose capture was killed."
)
@force_option
@pass_context
def command(context: Context, /, logs: tuple[Path, ...], **options: Any) -> None:
    """Make a workload file from the statements that a server logged.

    Each LOG, the oldest first, is PostgreSQL's csvlog, jsonlog or log to stderr with all statements
    in it, or the general log or the slow log of MySQL or MariaDB. It may be compressed by gzip; its
    format is detected. With --server a server logs for a while, and no LOG is given; its password
    comes from PGPASSWORD, ~/.pgpass, MYSQL_PWD or ~/.my.cnf, or is asked for. With --made-up its
    tables are written with as many rows, none of which is the server's, where no data may leave its
    place. The texts of PostgreSQL's functions, views and policies are written, too.

    The workload file is a suite: `suite = "./NAME.workload"` in an experiment's [workload] replays
    it.
    """
    chosen = _Options(**options)
    if chosen.put_back and (logs or chosen.asks_for_more):
        raise UsageError(
            "--put-back restores settings and does nothing else",
            hint="first 'hone capture --put-back' alone, then capture without it",
        )
    if _put_back(context, chosen):
        return
    captures = chosen.made_up is None or chosen.asks_for_statements or bool(logs)
    output = _output(chosen) if captures else None
    if chosen.made_up is not None:
        _check_made_up(chosen.made_up, chosen)
    if captures:
        _check_source(logs, chosen)
    if chosen.made_up is not None:
        _make_up(context, chosen.made_up, chosen)
    if output is None:
        return
    captured = _capture(context, logs, output, chosen)
    for log in captured.logs:
        context.out.print(headed(log.name, log.title))
    context.out.print(_facts(captured))
    context.out.print(_templates(captured.header))
    for warning in _warnings(captured):
        context.tell(f"warning: {warning}")
    context.tell(_written(output, captured.header))
    context.tell(labelled("next", _next(output, captured.header)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    output: Path | None
    force: bool
    anonymise: bool
    database: str | None
    line_prefix: str | None
    server: str | None
    seconds: float | None
    made_up: Path | None
    put_back: bool

    @property
    def asks_for_statements(self) -> bool:
        """Whether some option is about the statements that a server logged."""
        of_reading = self.anonymise or self.database or self.line_prefix
        return bool(self.output or self.seconds or of_reading)

    @property
    def asks_for_more(self) -> bool:
        """Whether there is an option besides ``put_back``."""
        return self.asks_for_statements or bool(self.server or self.made_up or self.force)


def _check_made_up(file: Path, chosen: _Options) -> None:
    """Raise UsageError if a dump cannot be made up, or not be written."""
    if chosen.server is None:
        raise UsageError("rows are made up by a server's statistics", hint=f"--server {SYNTAX}")
    check_output(file, force=chosen.force)


def _check_source(logs: tuple[Path, ...], chosen: _Options) -> None:
    """Raise UsageError unless there are either logs, or a server and for how long it logs."""
    if chosen.server is None:
        if chosen.seconds is not None:
            raise UsageError("--for says how long a server logs", hint="name one: --server")
        if not logs:
            raise UsageError("there is nothing to capture", hint="name logs, or a --server")
        return
    if logs:
        raise UsageError("logs and a --server were named", hint="leave one of them out")
    if chosen.line_prefix is not None:
        raise UsageError(
            "--line-prefix is about logs that you name", hint="leave it out: hone asks the --server"
        )
    if chosen.seconds is None:
        raise UsageError("--for is missing: it says how long the server logs", hint="add --for 10m")


def _make_up(context: Context, file: Path, chosen: _Options) -> None:
    """Write a dump with made-up rows, and say what is in it."""
    assert chosen.server is not None, "rows are made up by no server's statistics"
    text = io.StringIO()
    catalogue = write_made_up_dump(parse_address(chosen.server), text, ask=_ask)
    write_output(file, text.getvalue(), force=chosen.force)
    rows = sum(table.rows for table in catalogue.tables)
    context.out.print(f"{count_of(len(catalogue.tables), 'table')}, {count_of(rows, 'row')}")
    for words in catalogue.left_out:
        context.show_line(f"left out: {words}")
    context.tell(
        f"wrote {file}: it holds your tables with their names, defaults and comments, of PostgreSQL"
        " the texts of functions, views and policies, and no value of a row"
    )


def _output(chosen: _Options) -> Path:
    output = chosen.output
    if output is None:
        raise UsageError("no output file is named", hint=f"-o NAME{SUFFIX}")
    if output.suffix != SUFFIX:
        raise UsageError(
            f"a workload file's name ends in {SUFFIX}",
            hint=f"-o {shlex.quote(str(output.with_suffix(SUFFIX)))}",
        )
    check_output(output, force=chosen.force)
    return output


def _capture(context: Context, logs: tuple[Path, ...], output: Path, chosen: _Options) -> Captured:
    options = CaptureOptions(
        anonymise=chosen.anonymise, line_prefix=chosen.line_prefix, database=chosen.database
    )
    if chosen.server is None or chosen.seconds is None:
        return capture(logs, output, options)
    status = context.err.status("")

    def tell(text: str) -> None:
        status.stop()
        context.tell(text)

    def waiting(left: float) -> None:
        status.update(f"{duration(math.ceil(left))} left")
        status.start()  # not before: a password may be asked for

    try:
        return capture_live(
            context.home,
            parse_address(chosen.server),
            chosen.seconds,
            output,
            options,
            ask=_ask,
            tell=tell,
            waiting=waiting,
        )
    finally:
        status.stop()


def _put_back(context: Context, chosen: _Options) -> bool:
    """Put back what captures that were killed left; return whether that was all that was asked."""
    server = parse_address(chosen.server) if chosen.server is not None else None
    notes, unreadable = left_on(context.home)
    for file in unreadable:
        context.tell(
            f"warning: logging may still be on at a server, and {file}, which says at which,"
            " cannot be read: look at your servers' settings, then remove the file"
        )
    if chosen.put_back and not notes and not unreadable:
        context.tell("there are no settings to restore: no capture was killed")
    failures: list[HoneError] = []
    for note in notes:
        if not chosen.put_back and note.address != server:
            context.tell(
                f"warning: logging may still be on at {note.address.text}:"
                " 'hone capture --put-back' puts its settings back"
            )
            continue
        try:
            put_back(note, _ask)
        except HoneError as error:
            failures.append(error)
            outcome = f"the settings are not restored: {error.message}"
        else:
            outcome = "the settings are restored"
        context.tell(f"{note.address.text}: {outcome}")
    if failures:
        raise MachineError(
            f"the settings of {count_of(len(failures), 'server')} are not restored",
            hint=failures[-1].hint,
        )
    return chosen.put_back


def _ask(what: str) -> str | None:
    if not sys.stdin.isatty():
        return None
    answer: str = click.prompt(what, hide_input=True, err=True)
    return answer


def _facts(captured: Captured) -> Table:
    header = captured.header
    span = duration((header.last - header.first) / 1e6)
    rows = [
        ("began", f"{header.began}, {span} long"),
        (
            "replays",
            f"{count_of(header.sessions, 'session')},"
            f" {count_of(header.transactions, 'transaction')},"
            f" {count_of(header.statements, 'statement')},"
            f" {count_of(len(header.replayed()), 'template')}",
        ),
        ("times", "of each statement" if header.timed else "none: the log has no times"),
    ]
    if header.databases:
        names = sorted(header.databases.items(), key=lambda pair: -pair[1])
        words = ", ".join(f"{name} ({count:,})" for name, count in names[:_SHOWN])
        rows.append(("databases", words))
    left_out = sorted(header.left_out.items(), key=lambda pair: -pair[1])
    rows += [("left out", f"{count:,} {why}") for why, count in left_out]
    inexact = sum(one.executions for one in header.templates if one.inexact)
    if inexact:
        rows.append(
            ("differ", f"{inexact:,} statements with random values, the time, or sequences")
        )
    failed = sum(one.errors for one in header.templates)
    if failed:
        rows.append(("failed", f"{failed:,} statements, as in the original"))
    perhaps_cut = captured.counted.perhaps_cut
    if perhaps_cut:
        rows.append(("perhaps cut", f"{perhaps_cut:,} parameters (log_parameter_max_length)"))
    rows.append(("unread", _unread(captured)))
    return facts(rows)


def _unread(captured: Captured) -> str:
    unread = captured.header.unread
    if not unread.lines:
        return "no lines"
    shown = []
    for line in unread.first:
        log = captured.logs[line.log].name
        text = f": {line.text}" if line.text else ""
        shown.append(f"{log}, line {line.line}{text}")
    return f"{count_of(unread.lines, 'line')}, the first of them:\n" + "\n".join(shown)


def _warnings(captured: Captured) -> Iterator[str]:
    """Yield why a replay may not be what clients asked of the server."""
    header, counted = captured.header, captured.counted
    left_out = sum(header.left_out.values()) - header.left_out.get(OTHER_DATABASE, 0)
    share = left_out / (left_out + header.statements)
    if share > _MUCH:
        yield (
            f"{share:.0%} of the statements are left out: what is replayed may differ from what"
            " your clients ask"
        )
    most = max(header.databases.values(), default=0)
    if sum(header.databases.values()) - most > _FEW * most:
        yield (
            "clients asked several databases: a replay asks one, in which the statements of the"
            " others fail or find other tables;"
            f" --database {shlex.quote(_usual(header))} leaves those out"
        )
    threshold = counted.threshold()
    if threshold is not None:
        yield (
            f"the shortest statement took {duration(threshold / 1e6)}: the log seems to"
            " have only statements above a threshold (log_min_duration_statement,"
            " long_query_time), and the fast ones are missing"
        )
    if counted.sampled > 1:
        yield (
            f"the server logged only one of {counted.sampled:,} statements or sessions"
            " (log_slow_rate_limit): the others are missing"
        )
    if counted.long:
        yield (
            f"{count_of(counted.long, 'statement')} took longer than {duration(LONG / 1e6)}: a"
            " client that replays one may still be in it when its slice ends"
        )


def _usual(header: Header) -> str:
    """Return the database that most statements are on, empty if the log names none."""
    return max(header.databases, key=header.databases.__getitem__, default="")


def _templates(header: Header) -> Table:
    """Return the heaviest templates: by time where the log has times, else by number."""
    figures = ("time" if header.timed else "share", "executions")
    table = listing(*figures, "template", right=figures)
    heaviest = sorted(header.replayed(), key=lambda pair: -pair[1])
    for template, weight in heaviest[:_SHOWN]:
        table.add_row(f"{weight:.1%}", f"{template.executions:,}", _text(template))
    return table


def _text(template: Template) -> Text:
    text = " ".join(template.text.split())
    return Text(text if len(text) <= _LONGEST_TEMPLATE else text[: _LONGEST_TEMPLATE - 1] + "…")


def _written(output: Path, header: Header) -> str:
    holds = (
        "it holds the texts of queries with other values, not the original ones"
        if header.anonymised
        else "it holds the texts of queries with their values (--anonymise replaces these)"
    )
    return f"wrote {output} ({size(output.stat().st_size)}): {holds}"


def _next(output: Path, header: Header) -> str:
    """Return what to do with the workload file, with the database that most of it asks."""
    database = _usual(header) or "DATABASE"
    known = load_dumps(header.protocol).programs
    here = [dump for dump in known if shutil.which(dump.command[0])]
    dump = (here or known)[0]
    file = output.with_suffix(dump.suffix)
    return (
        f"dump its data ({dump.line(database, file)}), and 'hone tune SOURCE"
        f" --workload {in_command(output)} --data {in_command(file)} --plan' says how"
        f" long the fastest build for it takes. SOURCE is {_SOURCES[header.protocol]}"
    )


PLUGIN = command
