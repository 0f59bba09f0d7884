"""PostgreSQL 13 and newer, built with its own makefiles in a folder beside the source tree.

Only the server itself is compiled with the variant's flags. What it needs besides (initdb,
libpq, the procedural language, dictionaries, conversions, time zones) is made before, by the
plain compiler and always alike: it is not what is compared, and an instrumented libpq fails
PostgreSQL's own check that it never calls ``exit``.

PostgreSQL finds its files relative to its program, so it is configured with a prefix that
does not exist and kept wherever hone keeps builds.
"""

from __future__ import annotations

import re
from pathlib import Path

from dbhone.dbms._postgresql_life import PostgresqlLife
from dbhone.dbms.base import Artifact, BuildRequest, BuildStep, Phase, Recipe
from dbhone.errors import SourceError

# With "postgres" in the prefix, the makefiles add no folder of that name below lib and share.
_PREFIX = "/dbhone-postgresql"
_STAGE = Path("stage")
_STAGED = _STAGE / _PREFIX.removeprefix("/")
_KEPT = Path("install")
_OLDEST = 13
_NAME = re.compile(r"^PACKAGE_NAME='PostgreSQL'$", re.MULTILINE)
_VERSION = re.compile(r"^PACKAGE_VERSION='((\d+)[^']*)'$", re.MULTILINE)
_HINT = "give a whole source tree of PostgreSQL 13 or newer"

_CONFIGURE = (
    f"--prefix={_PREFIX}",
    "--without-readline",
    "--without-zlib",
    "--without-icu",
)
_COMPANIONS = (
    "src/interfaces/libpq",
    "src/bin/initdb",
    "src/pl/plpgsql/src",
    "src/backend/snowball",
    "src/backend/utils/mb/conversion_procs",
    "src/backend/replication/libpqwalreceiver",
    "src/backend/replication/pgoutput",
    "src/timezone/tznames",
)
# The makefiles pass both on to the makefiles that they call, in whose folders they mean the same.
_DESTINATION = f"DESTDIR=$(abs_top_builddir)/{_STAGE}"
_RUN_PATH = "rpathdir=$$ORIGIN/../lib"


class Postgresql(PostgresqlLife):
    """PostgreSQL, with GNU autoconf, without the libraries that it can do without."""

    name = "postgresql"
    title = "PostgreSQL"
    reference = "apt:postgresql-15"
    build_seconds = 150.0

    def version(self, tree: Path) -> str:
        """Return what the script ``configure`` says."""
        script = tree / "configure"
        if not script.is_file() or not (tree / "src" / "backend").is_dir():
            raise SourceError(
                "this is not PostgreSQL's source tree: configure and src/backend are missing",
                hint=_HINT,
            )
        text = script.read_text(encoding="utf-8", errors="replace")
        found = _VERSION.search(text)
        if not _NAME.search(text) or found is None:
            raise SourceError("the script configure is not PostgreSQL's", hint=_HINT)
        if int(found.group(2)) < _OLDEST:
            raise SourceError(f"hone cannot build PostgreSQL {found.group(1)}", hint=_HINT)
        return found.group(1)

    def required_programs(self) -> tuple[str, ...]:
        """Return make, and what makes the sources that newer trees and git do not hold."""
        return ("make", "bison", "flex", "perl")

    def recipe(self, request: BuildRequest) -> Recipe:
        """Return the steps: configure, what the server needs, then the server."""
        return Recipe(
            steps=(_configure(request), *_companions(request), *_server(request)),
            artifacts=(
                Artifact(name="install", made=_STAGED, kept=_KEPT, tree=True),
                Artifact(
                    name="server",
                    made=_STAGED / "bin" / "postgres",
                    kept=_KEPT / "bin" / "postgres",
                ),
            ),
            primary="server",
        )


def _configure(request: BuildRequest) -> BuildStep:
    # Without CFLAGS configure would choose -O2, which would stand beside the variant's level.
    argv = (
        str(request.tree / "configure"),
        *_CONFIGURE,
        f"CC={request.host_compiler}",
        "CFLAGS=",
    )
    return BuildStep(phase=Phase.CONFIGURE, argv=argv)


def _companions(request: BuildRequest) -> tuple[BuildStep, ...]:
    # COPT is PostgreSQL's own variable for flags that are added to those of configure.
    make = ("make", f"-j{request.jobs}", "COPT=-O2", _RUN_PATH)
    time_zones = (
        *("src/timezone/zic", "-d", str(_STAGED / "share" / "timezone")),
        str(request.tree / "src" / "timezone" / "data" / "tzdata.zi"),
    )
    lines = (
        (*make, "-C", "src/backend", "generated-headers"),
        *((*make, _DESTINATION, "-C", folder, "install") for folder in _COMPANIONS),
        (*make, "-C", "src/timezone", "zic"),
        time_zones,
    )
    return tuple(BuildStep(phase=Phase.TOOLS, argv=line) for line in lines)


def _server(request: BuildRequest) -> tuple[BuildStep, ...]:
    # The server's own copies of the shared code were made along with those for other programs.
    forget = ("find", "src/common", "src/port", "-name", "*_srv.*", "-delete")
    make = (
        *("make", f"-j{request.jobs}"),
        f"CC={request.compiler}",
        f"AR={request.archiver}",
        f"RANLIB={request.ranlib}",
        f"COPT={' '.join(request.compile_flags)}",
        f"LDFLAGS_EX={' '.join(request.link_flags)}",
        _RUN_PATH,
        _DESTINATION,
        *("-C", "src/backend", "install"),
    )
    return (
        BuildStep(phase=Phase.TOOLS, argv=forget),
        BuildStep(phase=Phase.COMPILE, argv=make),
    )


PLUGIN = Postgresql()
