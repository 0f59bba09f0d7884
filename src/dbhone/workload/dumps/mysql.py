"""Dumps of MySQL and MariaDB, in SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

from dbhone.dbms.base_protocol import Endpoint
from dbhone.errors import UsageError
from dbhone.workload.client_programs import client_program
from dbhone.workload.dumps.base import DumpProgram, Dumps, head_of, lines_of

_DEFINER = re.compile(r"(?:/\*M?!|CREATE ).*?\bDEFINER=(`(?:[^`]|``)+`@`(?:[^`]|``)+`)")
_USE = re.compile(r"^USE `((?:[^`]|``)+)`;", re.MULTILINE)
_EVERY_DATABASE = re.compile(r"^-- Host: .*?\bDatabase:\s*$", re.MULTILINE)
_SYSTEM_DATABASE = "mysql"
_OWN_ACCOUNTS = ("`root`@`localhost`", "`mysql.", "`mariadb.")
_LOCKED_ACCOUNT = (
    "CREATE USER /*!50706 IF NOT EXISTS*/ /*M!100103 IF NOT EXISTS*/ {}"
    " /*!50706 ACCOUNT LOCK*/ /*M!100402 ACCOUNT LOCK*/",
    "GRANT ALL ON *.* TO {}",
)
"""MariaDB skips the first kind of these comments, and MySQL the second."""
_MOST_ACCOUNTS = 500
_OPTIONS = ("--single-transaction", "--routines")


class MysqlDumps(Dumps):
    """What mariadb-dump and mysqldump make."""

    programs = (
        DumpProgram("mariadb", ("mariadb-dump", *_OPTIONS), ".sql"),
        DumpProgram("mysql", ("mysqldump", *_OPTIONS), ".sql"),
    )
    errors = (re.compile(r"^(ERROR \d+ \(\w+\)[^\n]*)$", re.MULTILINE),)
    hints: ClassVar = {
        re.compile(r"Unknown (?:collation|character set|system variable)"): (
            "the dump seems to be of a newer version than the server, or of the other of MySQL and"
            " MariaDB"
        ),
    }

    def check(self, dump: Path) -> None:
        """Look at the beginning; a dump of all databases would replace the server's accounts."""
        super().check(dump)
        head = _text(dump)
        if _EVERY_DATABASE.search(head) or _SYSTEM_DATABASE in _USE.findall(head):
            raise _accounts_in(dump)

    def database(self, dump: Path) -> str | None:
        """Return the database that a dump by ``--databases`` says it is of."""
        found = _USE.search(_text(dump))
        return found[1].replace("``", "`") if found else None

    def statements_before(self, dump: Path, database: str | None) -> tuple[str, ...]:
        """Return what makes the accounts, and the database if the dump does not make it itself.

        Raises UsageError if the server's own accounts are further in the dump than ``check`` reads.
        """
        accounts = _definers(_lines_without_accounts(dump))
        made = [one.format(name) for name in accounts for one in _LOCKED_ACCOUNT]
        if database is not None and self.database(dump) is None:
            made.append("CREATE DATABASE IF NOT EXISTS `{}`".format(database.replace("`", "``")))
        return tuple(made)

    def load_command(self, endpoint: Endpoint, dump: Path, database: str | None) -> tuple[str, ...]:
        """Return the command of the usual client."""
        self.check(dump)
        into = database if database is not None and self.database(dump) is None else None
        return (
            client_program(("mariadb", "mysql"), "mariadb-client-core"),
            "--no-defaults",
            "--default-character-set=utf8mb4",
            "--max-allowed-packet=1G",
            f"--socket={endpoint.socket}",
            f"--user={endpoint.user}",
            f"--database={into or endpoint.database}",
        )


def _lines_without_accounts(dump: Path) -> Iterator[str]:
    for line in lines_of(dump):
        used = _USE.match(line)
        if used is not None and used[1] == _SYSTEM_DATABASE:
            raise _accounts_in(dump)
        yield line


def _accounts_in(dump: Path) -> UsageError:
    return UsageError(
        f"{dump} has the server's own accounts in it, which would replace those by which hone's"
        " clients connect",
        hint="dump without --all-databases: mysqldump --databases NAME…, with the same other"
        " options",
    )


def _text(dump: Path) -> str:
    return head_of(dump).decode("utf-8", "replace")


def _definers(lines: Iterable[str]) -> list[str]:
    """Return the accounts as which views, triggers and routines of a dump are executed.

    Without them each use of those fails (error 1449).
    """
    found = filter(None, map(_DEFINER.match, lines))
    names = dict.fromkeys(one[1] for one in found)
    return [name for name in names if not name.startswith(_OWN_ACCOUNTS)][:_MOST_ACCOUNTS]


PLUGIN = MysqlDumps()
