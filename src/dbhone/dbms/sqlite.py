"""SQLite: an embedded library, built from its whole source tree as distributions build it.

The library is compiled from its separate source files (``--disable-amalgamation``), because
that is what Debian and Ubuntu ship, and because a variant such as LTO then has something to
do. The options are those of Debian's package. speedtest1 and the shell are linked with the
library and always compiled alike: they are tools, not what is compared.
"""

from __future__ import annotations

import re
from pathlib import Path

from dbhone.dbms.base import (
    Artifact,
    BuildRequest,
    BuildStep,
    ConsistencyCheck,
    EmbeddedDbms,
    Licence,
    Phase,
    Recipe,
)
from dbhone.errors import SourceError
from dbhone.requirements import Requirement

_DEFINES = (
    "-DSQLITE_SECURE_DELETE",
    "-DSQLITE_ENABLE_COLUMN_METADATA",
    "-DSQLITE_ENABLE_FTS3",
    "-DSQLITE_ENABLE_FTS3_PARENTHESIS",
    "-DSQLITE_ENABLE_FTS4",
    "-DSQLITE_ENABLE_FTS5",
    "-DSQLITE_ENABLE_RTREE=1",
    "-DSQLITE_SOUNDEX=1",
    "-DSQLITE_ENABLE_UNLOCK_NOTIFY",
    "-DSQLITE_OMIT_LOOKASIDE=1",
    "-DSQLITE_ENABLE_DBSTAT_VTAB",
    "-DSQLITE_ALLOW_ROWID_IN_VIEW",
    "-DSQLITE_ENABLE_UPDATE_DELETE_LIMIT=1",
    "-DSQLITE_ENABLE_LOAD_EXTENSION",
    "-DSQLITE_ENABLE_JSON1",
    "-DSQLITE_ENABLE_MATH_FUNCTIONS",
    "-DSQLITE_LIKE_DOESNT_MATCH_BLOBS",
    "-DSQLITE_THREADSAFE=1",
    "-DSQLITE_ENABLE_FTS3_TOKENIZER=1",
    "-DSQLITE_USE_URI=1",
    "-DSQLITE_MAX_SCHEMA_RETRY=25",
    "-DSQLITE_ENABLE_PREUPDATE_HOOK",
    "-DSQLITE_ENABLE_SESSION",
    "-DSQLITE_ENABLE_STMTVTAB",
    "-DSQLITE_MAX_VARIABLE_NUMBER=250000",
)
_COMMON = ("-fPIC", "-fno-strict-aliasing")
_CONFIGURE = (
    "--disable-tcl",
    "--disable-readline",
    "--disable-amalgamation",
    "--disable-static",
    "--enable-load-extension",
)
_SYSTEM_LIBRARIES = ("-lpthread", "-ldl", "-lm")
_RUN_PATH = "-Wl,-rpath,$ORIGIN/../lib"
_LIBRARY = Path("lib/libsqlite3.so.0")
_VERSION = re.compile(r"\d+(?:\.\d+){1,3}", re.ASCII)


class Sqlite(EmbeddedDbms):
    """SQLite 3, with GNU autoconf (up to 3.48) or autosetup (from 3.49)."""

    name = "sqlite"
    usual_suite = "speedtest1"
    title = "SQLite"
    reference = "apt:sqlite3"
    build_seconds = 30.0
    text_bytes = 1_200_000
    builds_all = False  # "make all" is the library and the shell
    licence = Licence(
        name="blessing",
        files=("LICENSE.md",),
        duty="SQLite is in the public domain: it asks nothing.",
    )
    drivers = frozenset({"speedtest1"})
    requirements = (
        Requirement(name="make", package="make"),
        # The generators of older trees are written in Tcl.
        Requirement(name="tclsh", package="tcl"),
    )

    def version(self, tree: Path) -> str:
        """Return what the file VERSION says. Raises SourceError if that is no version."""
        file = tree / "VERSION"
        if not file.is_file() or not (tree / "src" / "sqlite.h.in").is_file():
            raise SourceError(
                "this is not SQLite's source tree: VERSION and src/sqlite.h.in are missing",
                hint="give the whole source tree, not the amalgamation",
            )
        # The tree is a stranger's: VERSION may be a link to a private file.
        version = file.read_text(encoding="utf-8", errors="replace").strip()
        if not _VERSION.fullmatch(version):
            raise SourceError("the file VERSION of the source tree holds no version of SQLite")
        return version

    def recipe(self, request: BuildRequest) -> Recipe:
        """Return the steps: configure, the library from its parts, then the tools."""
        autosetup = (request.tree / "auto.def").is_file()
        library = Path("libsqlite3.so") if autosetup else Path(".libs/libsqlite3.so.0")
        target = "libsqlite3.so" if autosetup else "libsqlite3.la"
        # Generators are made for the build's own use: they must not be instrumented.
        generators = f"{'B.cc' if autosetup else 'BCC'}={request.host_compiler} -O1"
        make = (
            *("make", f"-j{request.jobs}", "USE_AMALGAMATION=0", generators),
            *(target, "sqlite3.h", "shell.c"),
        )
        steps = [
            BuildStep(phase=Phase.CONFIGURE, argv=_configure(request, autosetup=autosetup)),
            # Older makefiles do not say that extensions include sqlite3.h; without this step
            # they find the machine's own, or none.
            BuildStep(phase=Phase.COMPILE, argv=("make", generators, "sqlite3.h")),
            BuildStep(phase=Phase.COMPILE, argv=make),
            BuildStep(
                phase=Phase.TOOLS,
                argv=_tool(
                    request,
                    ("-O2", "-o", "speedtest1", str(request.tree / "test" / "speedtest1.c")),
                    library,
                ),
            ),
        ]
        artifacts = [
            Artifact(name="library", made=library, kept=_LIBRARY),
            Artifact(name="speedtest1", made=Path("speedtest1"), kept=Path("bin/speedtest1")),
        ]
        if request.shell:
            argv = _tool(request, ("-O1", "-o", "sqlite3", "shell.c"), library)
            steps.append(BuildStep(phase=Phase.TOOLS, argv=argv))
            artifacts.append(Artifact(name="shell", made=Path("sqlite3"), kept=Path("bin/sqlite3")))
        return Recipe(steps=tuple(steps), artifacts=tuple(artifacts), primary="library")

    def consistency_check(self, shell: Path, database: Path) -> ConsistencyCheck:
        """Return PRAGMA quick_check and integrity_check, which answer "ok" each."""
        checks = "PRAGMA quick_check; PRAGMA integrity_check;"
        return ConsistencyCheck(
            argv=(str(shell), "-batch", str(database), checks), expected="ok\nok"
        )


def _configure(request: BuildRequest, *, autosetup: bool) -> tuple[str, ...]:
    compile_flags = " ".join((*request.compile_flags, *_COMMON, *_DEFINES))
    # The libtool of older trees drops -fuse-ld from LDFLAGS; what belongs to CC it keeps.
    linker = [flag for flag in request.link_flags if flag.startswith("-fuse-ld=")]
    return (
        str(request.tree / "configure"),
        *_CONFIGURE,
        *(("--soname=legacy", "--disable-rpath") if autosetup else ()),
        f"CC={' '.join((str(request.compiler), *linker))}",
        f"CFLAGS={compile_flags}",
        f"LDFLAGS={' '.join((*request.link_flags, *request.primary_link_flags))}",
    )


def _tool(request: BuildRequest, what: tuple[str, ...], library: Path) -> tuple[str, ...]:
    return (
        str(request.host_compiler),
        *_DEFINES,
        "-I.",
        *what,
        str(library),
        _RUN_PATH,
        *_SYSTEM_LIBRARIES,
    )


PLUGIN = Sqlite()
