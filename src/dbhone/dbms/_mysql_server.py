"""MySQL and its forks: distinguished by their trees, built alike, initialised alike.

Until 5.6 a data directory is made as MariaDB's is; since 5.7 the server makes it by itself.
"""

from __future__ import annotations

from pathlib import Path

from dbhone.dbms._cmake import CMAKE_REQUIREMENTS, Option
from dbhone.dbms._compatibility import edits_of
from dbhone.dbms._mysql_cmake import make_recipe, takes_profiles
from dbhone.dbms._mysql_libraries import ssl_programs
from dbhone.dbms._mysql_lifecycle import DATABASE, MysqlLife, command, options
from dbhone.dbms._mysql_time_zones import time_zone_statements
from dbhone.dbms._mysql_tree import Vendor, gpl_2, version_of
from dbhone.dbms.base import BuildRequest, Edit, Recipe
from dbhone.dbms.base_server import Installation, InstanceDir, Program, Settings, Takeover
from dbhone.errors import UsageError
from dbhone.requirements import Requirement, RequirementKind
from dbhone.versions import Numbers, VersionRange, numbers

_MAKES_ITSELF = (5, 7)
_SHA2_BY_DEFAULT = (8, 0)
_NATIVE_IS_OFF = (8, 4)


class MysqlServer(MysqlLife):
    """A server out of a tree of MySQL's kind. ``_mysql_lifecycle.py`` says how it runs."""

    vendor: Vendor
    build_options: tuple[Option, ...] = ()
    """The options that this vendor's trees have besides MySQL's."""
    build_seconds = 2700.0
    text_bytes = 35_000_000
    seconds_by_version: tuple[tuple[VersionRange, float], ...] = (
        (VersionRange(until="5.7"), 230.0),
        (VersionRange(since="5.7", until="8.0"), 500.0),
        (VersionRange(since="9"), 4500.0),
    )
    """About how long two cores take for the server of versions that are not like 8.0."""
    needs_cxx = True
    lacks: tuple[str, ...] = (
        "the X protocol",
        "group replication",
        "NDB Cluster",
        "NUMA's settings",
        "systemd's notification",
        "logins by LDAP, Kerberos, FIDO and WebAuthn",
        "plugins and components in files of their own",
        "the router, and clients such as mysql and mysqldump",
    )
    # It is in COPYING until 5.7, then in LICENSE, which names all parts of others with theirs.
    licence = gpl_2("LICENSE", "COPYING", "README", "README.md")
    takes_options = True
    programs = ("mysqld",)
    requirements: tuple[Requirement, ...] = (
        *CMAKE_REQUIREMENTS,
        Requirement(name="bison", package="bison"),
        Requirement(name="perl", package="perl"),
        Requirement(name="pkg-config", package="pkg-config"),
        Requirement(name="curses.h", package="libncurses-dev", kind=RequirementKind.HEADER),
        Requirement(name="libaio.h", package="libaio-dev", kind=RequirementKind.HEADER),
        Requirement(
            name="openssl/ssl.h",
            package="libssl-dev",
            kind=RequirementKind.HEADER,
            versions=VersionRange(since="5.7.28"),
        ),
        Requirement(
            name="tirpc/rpc/rpc.h",
            package="libtirpc-dev",
            kind=RequirementKind.HEADER,
            versions=VersionRange(since="8.0"),
        ),
    )

    def seconds_of(self, version: str) -> float:
        """Return about how long two cores take: each major version has grown."""
        times = (time for span, time in self.seconds_by_version if version and span.holds(version))
        return next(times, self.build_seconds)

    def version(self, tree: Path) -> str:
        """Return what the tree's own file says; a tree of another vendor is reported as such."""
        return version_of(tree, self.vendor)

    def required_programs(self, tree: Path) -> tuple[str, ...]:
        """Return CMake, ninja, bison, which makes the SQL parser, and what trees call besides."""
        launcher = ("perl",) if takes_profiles(tree) else ()
        return ("cmake", "ninja", "bison", *launcher, *ssl_programs(tree))

    def edits(self, version: str) -> tuple[Edit, ...]:
        """Return what old trees need that no flag can give them."""
        return edits_of(self.name, version)

    def recipe(self, request: BuildRequest) -> Recipe:
        """Return the steps: configure, the server, then the files that it needs.

        Raises SourceError for a version that is too old and for a library that is not there.
        """
        self.check_builds(request.version)
        return make_recipe(self.name, request, self.build_options)

    def initialise(
        self, installation: Installation, place: InstanceDir, settings: Settings
    ) -> tuple[Program, ...]:
        """Return the server in the mode in which it makes its data directory and ends."""
        version = numbers(installation.version)[:2]
        if version < _MAKES_ITSELF:
            return super().initialise(installation, place, settings)
        argv = (
            *command(installation, "--no-defaults"),
            "--initialize-insecure",
            f"--datadir={place.data}",
            f"--tmpdir={place.scratch}",
            "--init-file=/dev/stdin",
            *options(settings),
        )
        asked = (*time_zone_statements(), *_statements(version))
        statements = "".join(f"{statement};\n" for statement in asked)
        return (Program(argv=argv, stdin=statements, env=installation.environment()),)

    def take_over(
        self, installation: Installation, place: InstanceDir, settings: Settings
    ) -> Takeover:
        """Return what takes over a copy. Raises UsageError for 5.6, which lacks the statements."""
        if numbers(installation.version)[:2] < _MAKES_ITSELF:
            raise UsageError(
                f"hone does not copy data directories of {self.title} {installation.version}",
                hint="give a dump",
            )
        return super().take_over(installation, place, settings)


def _statements(version: Numbers) -> tuple[str, ...]:
    """Return what is asked of a new server. Each statement has a line of its own, as it must.

    Clients that are linked with MariaDB's library, as Debian's sysbench is, may fail at random
    when several threads meet the authentication that is MySQL 8's own: root gets the older one
    for as long as servers have it switched on. For the others sysbench's scripts connect once
    before they start their threads.
    """
    database = f"CREATE DATABASE {DATABASE}"
    if _SHA2_BY_DEFAULT <= version < _NATIVE_IS_OFF:
        account = "ALTER USER 'root'@'localhost' IDENTIFIED WITH mysql_native_password BY ''"
        return (database, account)
    return (database,)
