"""RocksDB: an embedded key-value library, built as a shared library like distributions' own.

Debian builds its package without a CMake type, so with assertions; hone builds the type Release,
as those do who embed RocksDB. db_bench and ldb are linked with the library and always compiled
alike: they are tools, not what is compared.
"""

from __future__ import annotations

import re
from pathlib import Path

from dbhone.dbms._cmake import CMAKE_REQUIREMENTS, TypeFlags, configure, expand, make
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
from dbhone.requirements import Requirement, RequirementKind
from dbhone.versions import VersionRange

_NUMBER = r"^#define ROCKSDB_{}\s+(\d+)$"
_PARTS = ("MAJOR", "MINOR", "PATCH")
_COMPRESSIONS = {"LZ4": "-llz4", "SNAPPY": "-lsnappy", "ZLIB": "-lz", "ZSTD": "-lzstd"}
_OPTIONS = (
    *(f"-DWITH_{name}=ON" for name in _COMPRESSIONS),
    "-DROCKSDB_BUILD_SHARED=ON",
    "-DPORTABLE=1",  # the variant chooses the processor
    "-DFAIL_ON_WARNINGS=OFF",
    "-DWITH_GFLAGS=OFF",
    "-DWITH_LIBURING=OFF",
    "-DWITH_TESTS=OFF",
    "-DWITH_ALL_TESTS=OFF",
    "-DWITH_BENCHMARK_TOOLS=OFF",
    "-DWITH_CORE_TOOLS=OFF",
    "-DWITH_TOOLS=OFF",
    "-DWITH_TRACE_TOOLS=OFF",
)
TOOL_FLAGS = (
    "-std=c++17",
    "-O2",
    "-DNDEBUG",
    "-fno-rtti",
    # The library would call the tools' copies of inline functions, which are compiled otherwise.
    "-fvisibility-inlines-hidden",
    "-DGFLAGS=1",
    "-DOS_LINUX",
    "-DROCKSDB_LIB_IO_POSIX",
    "-DROCKSDB_NO_DYNAMIC_EXTENSION",
    "-DROCKSDB_PLATFORM_POSIX",
    *(f"-D{name}" for name in _COMPRESSIONS),
)
"""How every program that uses the library is compiled, whatever the build."""
TOOL_LIBRARIES = (*_COMPRESSIONS.values(), "-lgflags", "-lpthread")
_DB_BENCH = ("simulated_hybrid_file_system.cc", "db_bench.cc", "db_bench_tool.cc")
RUN_PATH = "-Wl,-rpath,$ORIGIN/../lib"


class RocksDb(EmbeddedDbms):
    """RocksDB from 7.0, with CMake."""

    name = "rocksdb"
    usual_suite = "rocksdb"
    title = "RocksDB"
    builds = VersionRange(since="7.0")
    reference = "apt:rocksdb"
    build_seconds = 780.0
    needs_cxx = True
    text_bytes = 7_000_000
    takes_options = True
    lacks = ("compression by bzip2",)
    licence = Licence(
        name="Apache-2.0 OR GPL-2.0-only",
        files=("LICENSE.Apache", "LICENSE.leveldb", "COPYING", "AUTHORS"),
        duty="RocksDB is licensed under the Apache Licence 2.0: pass its text on with the library.",
    )
    drivers = frozenset({"db_bench"})
    requirements = (
        *CMAKE_REQUIREMENTS,
        Requirement(name="gflags/gflags.h", package="libgflags-dev", kind=RequirementKind.HEADER),
        Requirement(name="lz4.h", package="liblz4-dev", kind=RequirementKind.HEADER),
        Requirement(name="snappy.h", package="libsnappy-dev", kind=RequirementKind.HEADER),
        Requirement(name="zlib.h", package="zlib1g-dev", kind=RequirementKind.HEADER),
        Requirement(name="zstd.h", package="libzstd-dev", kind=RequirementKind.HEADER),
    )

    def version(self, tree: Path) -> str:
        """Return what rocksdb/version.h defines. Raises SourceError for versions before 7.0."""
        file = tree / "include" / "rocksdb" / "version.h"
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        parts = [re.search(_NUMBER.format(part), text, re.MULTILINE) for part in _PARTS]
        version = ".".join(part[1] for part in parts if part)
        if not all(parts):
            raise SourceError(
                "this is not RocksDB's source tree: include/rocksdb/version.h is missing or another"
            )
        self.check_builds(version)
        return version

    def recipe(self, request: BuildRequest) -> Recipe:
        """Return the steps: configure, the shared library, then the tools."""
        library = Path("librocksdb.so")
        steps = [
            BuildStep(phase=Phase.CONFIGURE, argv=_configure(request)),
            BuildStep(phase=Phase.COMPILE, argv=make(request, "rocksdb-shared")),
            BuildStep(phase=Phase.TOOLS, argv=_tool(request, "db_bench", _DB_BENCH, library)),
        ]
        artifacts = [
            Artifact(name="library", made=library, kept=Path("lib", shared_name(request))),
            Artifact(name="db_bench", made=Path("db_bench"), kept=Path("bin/db_bench")),
        ]
        if request.shell:
            argv = _tool(request, "ldb", ("ldb.cc",), library)
            steps.append(BuildStep(phase=Phase.TOOLS, argv=argv))
            artifacts.append(Artifact(name="shell", made=Path("ldb"), kept=Path("bin/ldb")))
        return Recipe(steps=tuple(steps), artifacts=tuple(artifacts), primary="library")

    def consistency_check(self, shell: Path, database: Path) -> ConsistencyCheck:
        """Return ldb's comparison of the manifest with the files, which answers OK."""
        return ConsistencyCheck(
            argv=(str(shell), f"--db={database}", "checkconsistency"), expected="OK"
        )


def _configure(request: BuildRequest) -> tuple[str, ...]:
    flags = request.compile_flags
    link = (*request.link_flags, *request.primary_link_flags)
    options = (*_OPTIONS, *expand(request.options, {}, request.version))
    return configure(request, TypeFlags(c=flags, cxx=flags, link=link, program_link=()), options)


def shared_name(request: BuildRequest) -> str:
    """Return the name by which programs ask for the library: Debian's has the minor version."""
    text = (request.tree / "CMakeLists.txt").read_text(encoding="utf-8")
    parts = 2 if "SOVERSION ${rocksdb_VERSION_LIB}" in text else 1
    return f"librocksdb.so.{'.'.join(request.version.split('.')[:parts])}"


def _tool(
    request: BuildRequest, name: str, sources: tuple[str, ...], library: Path
) -> tuple[str, ...]:
    return (
        str(request.host_cxx_compiler),
        *TOOL_FLAGS,
        *(f"-I{request.tree / folder}" for folder in ("", "include")),
        *("-o", name),
        *(str(request.tree / "tools" / source) for source in sources),
        str(library),
        RUN_PATH,
        *TOOL_LIBRARIES,
    )


PLUGIN = RocksDb()
