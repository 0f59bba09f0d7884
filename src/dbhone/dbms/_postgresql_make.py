"""PostgreSQL built with GNU autoconf and its makefiles, which all versions have.

Only the server itself is compiled with the variant's flags. What it needs besides (initdb,
libpq, the procedural language, dictionaries, conversions, time zones) is made before, by the
plain compiler and always alike: it is not what is compared, and an instrumented libpq fails
PostgreSQL's own check that it never calls ``exit``.
"""

from __future__ import annotations

from pathlib import Path

from dbhone.dbms.base import BuildRequest, BuildStep, Phase

# With "postgres" in the prefix, the makefiles add no folder of that name below lib and share.
_PREFIX = "/dbhone-postgresql"
_STAGE = Path("stage")
STAGED = _STAGE / _PREFIX.removeprefix("/")
"""Where the server and what it needs are installed, in the build folder."""
RUN_PATH = "rpathdir=$$ORIGIN/../lib"
_OPTIONS = (
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
_READ_BY_INITDB = ("postgres.bki", "system_constraints.sql")
"""Made in ``src/include/catalog`` since 17; until 16 elsewhere, where the server installs them."""
# The makefiles pass it on to the makefiles that they call, in whose folders it means the same.
_DESTINATION = f"DESTDIR=$(abs_top_builddir)/{_STAGE}"


def make_steps(request: BuildRequest) -> tuple[BuildStep, ...]:
    """Return the steps that install the server and what it needs."""
    companions = _companions(request)
    install = (_DESTINATION, "-C", "src/backend", "install")
    if request.all_targets:
        # What is made first is made once: the steps after it only install.
        built = (_compile(request), *companions, _compile(request, *install))
    else:
        built = (*companions, _forget(), _compile(request, *install))
    return (configure(request, request.host_compiler), *built)


def configure(request: BuildRequest, compiler: Path) -> BuildStep:
    """Return the step that configures a build, by a compiler that the steps after it may change."""
    # Without CFLAGS configure would choose -O2, which would stand beside the variant's level.
    argv = (
        str(request.tree / "configure"),
        f"--prefix={_PREFIX}",
        *_OPTIONS,
        f"CC={compiler}",
        "CFLAGS=",
    )
    return BuildStep(phase=Phase.CONFIGURE, argv=argv)


def _companions(request: BuildRequest) -> tuple[BuildStep, ...]:
    make = ("make", f"-j{request.jobs}", "COPT=-O2", RUN_PATH)
    time_zones = (
        *("src/timezone/zic", "-d", str(STAGED / "share" / "timezone")),
        str(request.tree / "src" / "timezone" / "data" / "tzdata.zi"),
    )
    named = ("-name", _READ_BY_INITDB[0], "-o", "-name", _READ_BY_INITDB[1])
    catalog = (
        *("find", "src/include/catalog", "(", *named, ")"),
        *("-exec", "install", "-m", "644", "-t", str(STAGED / "share"), "{}", "+"),
    )
    lines = (
        (*make, "-C", "src/backend", "generated-headers"),
        *((*make, _DESTINATION, "-C", folder, "install") for folder in _COMPANIONS),
        catalog,
        (*make, "-C", "src/timezone", "zic"),
        time_zones,
    )
    return tuple(BuildStep(phase=Phase.TOOLS, argv=line) for line in lines)


def _forget() -> BuildStep:
    # The server's own copies of the shared code were made along with those for other programs.
    argv = ("find", "src/common", "src/port", "-name", "*_srv.*", "-delete")
    return BuildStep(phase=Phase.TOOLS, argv=argv)


def _compile(request: BuildRequest, *what: str) -> BuildStep:
    """Return the step that makes something with the variant's flags, or all that there is."""
    argv = ("make", f"-j{request.jobs}", *server_variables(request), RUN_PATH, *what)
    return BuildStep(phase=Phase.COMPILE, argv=argv)


def server_variables(request: BuildRequest, *others: str) -> tuple[str, ...]:
    """Return make's variables for the server: the variant's compiler and flags, and ``others``.

    COPT is PostgreSQL's own, for flags that are added to those of configure.
    """
    return (
        f"CC={request.compiler}",
        *others,
        f"AR={request.archiver}",
        f"RANLIB={request.ranlib}",
        f"COPT={' '.join(request.compile_flags)}",
        f"LDFLAGS_EX={' '.join((*request.link_flags, *request.primary_link_flags))}",
    )
