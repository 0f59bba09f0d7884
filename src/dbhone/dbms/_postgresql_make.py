"""PostgreSQL built with GNU autoconf and its makefiles: versions 13 to 15.

Only the server itself is compiled with the variant's flags. What it needs besides (initdb,
libpq, the procedural language, dictionaries, conversions, time zones) is made before, by the
plain compiler and always alike: it is not what is compared, and an instrumented libpq fails
PostgreSQL's own check that it never calls ``exit``.
"""

from __future__ import annotations

from pathlib import Path

from dbhone.dbms.base import BuildRequest, BuildStep, Phase

_CONFIGURE = (
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
_RUN_PATH = "rpathdir=$$ORIGIN/../lib"


def make_steps(request: BuildRequest, prefix: str, stage: Path) -> tuple[BuildStep, ...]:
    """Return the steps that install the server and what it needs for ``prefix`` in ``stage``.

    ``stage`` is relative to the build folder; the files come to lie in ``prefix`` below it.
    """
    # The makefiles pass both on to the makefiles that they call, in whose folders they mean
    # the same.
    destination = f"DESTDIR=$(abs_top_builddir)/{stage}"
    companions = _companions(request, stage / prefix.removeprefix("/"), destination)
    install = (destination, "-C", "src/backend", "install")
    if request.all_targets:
        # What is made first is made once: the steps after it only install.
        built = (_compile(request), *companions, _compile(request, *install))
    else:
        built = (*companions, _forget(), _compile(request, *install))
    return (_configure(request, prefix), *built)


def _configure(request: BuildRequest, prefix: str) -> BuildStep:
    # Without CFLAGS configure would choose -O2, which would stand beside the variant's level.
    argv = (
        str(request.tree / "configure"),
        f"--prefix={prefix}",
        *_CONFIGURE,
        f"CC={request.host_compiler}",
        "CFLAGS=",
    )
    return BuildStep(phase=Phase.CONFIGURE, argv=argv)


def _companions(request: BuildRequest, staged: Path, destination: str) -> tuple[BuildStep, ...]:
    # COPT is PostgreSQL's own variable for flags that are added to those of configure.
    make = ("make", f"-j{request.jobs}", "COPT=-O2", _RUN_PATH)
    time_zones = (
        *("src/timezone/zic", "-d", str(staged / "share" / "timezone")),
        str(request.tree / "src" / "timezone" / "data" / "tzdata.zi"),
    )
    lines = (
        (*make, "-C", "src/backend", "generated-headers"),
        *((*make, destination, "-C", folder, "install") for folder in _COMPANIONS),
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
    argv = (
        *("make", f"-j{request.jobs}"),
        f"CC={request.compiler}",
        f"AR={request.archiver}",
        f"RANLIB={request.ranlib}",
        f"COPT={' '.join(request.compile_flags)}",
        f"LDFLAGS_EX={' '.join((*request.link_flags, *request.primary_link_flags))}",
        _RUN_PATH,
        *what,
    )
    return BuildStep(phase=Phase.COMPILE, argv=argv)
