"""MariaDB 10.6 and newer: the server alone, out of its own tree, with CMake and ninja.

Built is ``mariadbd`` with the plugins that are part of it, and the files below ``share`` that
it takes to make and to run an instance. Plugins that are libraries of their own are not built,
but the server can still load them. The options follow from a few rules:

- CMake's type is Release with the variant's flags for the type's own. MariaDB then adds
  ``-DDBUG_OFF`` and nothing else; RelWithDebInfo would add ``-fno-omit-frame-pointer``, and
  without one of CMake's release types MariaDB's debugging code would be in.
- SECURITY_HARDENED is off: it would add the stack protector, FORTIFY and ``-fPIC`` to every
  variant, which MariaDB's own CMakeLists.txt says costs about 1 %. Distributions leave it on:
  compare a build with another build, and remember this when comparing with a distribution's.
- Libraries are the machine's, because bundled ones would be downloaded. What decides how the
  server does I/O (io_uring, libaio) is asked for by name as Debian does: a library that is
  missing is then an error, not a slower server.
- Galera (wsrep), which has hooks on the server's hot paths, is out.
"""

from __future__ import annotations

import re
from pathlib import Path

from dbhone.dbms._cmake import (
    CMAKE_REQUIREMENTS,
    COPY,
    TypeFlags,
    configure,
    copy_messages,
    expand,
    make,
)
from dbhone.dbms._mysql_lifecycle import MysqlLife
from dbhone.dbms._mysql_tree import Vendor, gpl_2, version_of
from dbhone.dbms.base import Artifact, BuildRequest, BuildStep, Phase, Recipe
from dbhone.requirements import Requirement, RequirementKind
from dbhone.versions import VersionRange

_OPTIONS = (
    "-DMYSQL_MAINTAINER_MODE=OFF",
    "-DSECURITY_HARDENED=OFF",
    "-DWITH_PCRE=system",
    "-DWITH_SSL=system",
    "-DWITH_ZLIB=system",
    "-DWITH_LIBFMT=system",
    "-DWITH_URING=ON",
    "-DWITH_LIBAIO=ON",
    "-DWITH_NUMA=OFF",
    "-DWITH_SYSTEMD=no",
    "-DWITH_WSREP=OFF",
    "-DWITH_UNIT_TESTS=OFF",
    "-DCONC_WITH_UNIT_TESTS=OFF",
    "-DWITH_EMBEDDED_SERVER=OFF",
    "-DWITH_MARIABACKUP=OFF",
    "-DWITHOUT_ABI_CHECK=ON",
    # In a git tree CMake would fetch submodules; hone has fetched them.
    "-DCMAKE_DISABLE_FIND_PACKAGE_Git=ON",
    # Distributions have it in the server: root logs in with it.
    "-DPLUGIN_AUTH_SOCKET=STATIC",
)
_LEFT_OUT = (
    "AWS_KEY_MANAGEMENT",
    "COLUMNSTORE",
    "CONNECT",
    "HASHICORP_KEY_MANAGEMENT",
    "MROONGA",
    "OQGRAPH",
    "ROCKSDB",
    "S3",
    "SPHINX",
    "SPIDER",
)
"""Plugins whose mere configuration takes long or looks for libraries of their own."""
_SERVER = Path("sql/mariadbd")
_SHARE = Path("share")


class MariaDb(MysqlLife):
    """MariaDB Server: how it is built. ``_mysql_lifecycle.py`` says how it runs."""

    name = "mariadb"
    title = "MariaDB"
    programs = ("mariadbd", "mysqld")
    builds = VersionRange(since="10.6")
    # mariadbd  Ver 10.11.5-MariaDB for …
    printed_version = re.compile(r"\bVer (\d+\.\d+\.\d+)\S*-MariaDB")
    reference = "apt:mariadb"
    build_seconds = 900.0
    text_bytes = 18_000_000
    licence = gpl_2("COPYING", "THIRDPARTY", "README.md", "CREDITS")
    lacks = (
        "systemd's notification",
        "Galera",
        "NUMA's settings",
        "plugins in files of their own, and with them storage engines such as CONNECT, RocksDB,"
        " Spider and S3",
        "clients such as mariadb and mariadb-dump",
        "mariadb-backup",
    )
    needs_cxx = True
    takes_options = True
    settings_table = "mariadb"
    cnf_sections = frozenset({"mysqld", "server", "mariadb", "mariadbd", "galera"})
    requirements = (
        *CMAKE_REQUIREMENTS,
        # Bison makes the SQL parser.
        Requirement(name="bison", package="bison"),
        Requirement(name="curses.h", package="libncurses-dev", kind=RequirementKind.HEADER),
        Requirement(name="fmt/core.h", package="libfmt-dev", kind=RequirementKind.HEADER),
        Requirement(name="libaio.h", package="libaio-dev", kind=RequirementKind.HEADER),
        Requirement(name="liburing.h", package="liburing-dev", kind=RequirementKind.HEADER),
        Requirement(name="openssl/ssl.h", package="libssl-dev", kind=RequirementKind.HEADER),
        Requirement(name="pcre2.h", package="libpcre2-dev", kind=RequirementKind.HEADER),
        Requirement(name="zlib.h", package="zlib1g-dev", kind=RequirementKind.HEADER),
    )

    def version(self, tree: Path) -> str:
        """Return what the file VERSION says."""
        return version_of(tree, Vendor.MARIADB)

    def recipe(self, request: BuildRequest) -> Recipe:
        """Return the steps: configure, the server, then the files that it needs.

        Raises SourceError for a version older than 10.6.
        """
        self.check_builds(request.version)
        steps = (
            BuildStep(phase=Phase.CONFIGURE, argv=_configure(request)),
            BuildStep(phase=Phase.COMPILE, argv=make(request, "mariadbd")),
            *(BuildStep(phase=Phase.TOOLS, argv=argv) for argv in _share_commands(request.tree)),
        )
        artifacts = (
            Artifact(name="server", made=_SERVER, kept=Path("bin/mariadbd")),
            Artifact(name="share", made=_SHARE, kept=_SHARE, tree=True),
        )
        return Recipe(steps=steps, artifacts=artifacts, primary="server")


def _configure(request: BuildRequest) -> tuple[str, ...]:
    options = (
        *_OPTIONS,
        *(f"-DPLUGIN_{name}=NO" for name in _LEFT_OUT),
        *expand(request.options, {}, request.version),
    )
    flags = TypeFlags(
        c=request.compile_flags,
        cxx=request.compile_flags,
        link=request.link_flags,
        program_link=request.primary_link_flags,
    )
    return configure(request, flags, options)


def _share_commands(tree: Path) -> tuple[tuple[str, ...], ...]:
    """Return the commands that copy the files that the server reads below ``share``.

    Those are its messages, its character sets, and the SQL that makes the system tables of a
    new data directory.
    """
    source, target = tree / "scripts", Path("scripts")
    # Scripts were renamed in 11.0; those that CMake completes are in the build folder.
    new = (source / "mariadb_system_tables.sql").is_file()
    prefix = "mariadb" if new else "mysql"
    scripts = (
        source / f"{prefix}_system_tables.sql",
        source / f"{prefix}_system_tables_data.sql",
        source / f"{prefix}_performance_tables.sql",
        target / f"{prefix}_sys_schema.sql",
        target / "maria_add_gis_sp_bootstrap.sql",
    )
    return (
        *copy_messages("sql/share", tree / "sql" / "share", _SHARE),
        (*COPY, *(str(script) for script in scripts), str(_SHARE)),
    )


PLUGIN = MariaDb()
