"""Source trees of MySQL's kind as small as a recipe lets them be: what it reads, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dbhone.versions import numbers
from tests.files import put

LAUNCHER = "scripts/invoke-with-relative-paths.pl"
_FPROFILE = """
# -fprofile-partial-training is told of in a comment too.
OPTION(FPROFILE_GENERATE "" OFF)
STRING_APPEND(CMAKE_C_FLAGS " -fprofile-generate=${FPROFILE_DIR}")
STRING_APPEND(CMAKE_C_FLAGS " -fprofile-use=${FPROFILE_DIR}")
STRING_APPEND(CMAKE_C_FLAGS " -fprofile-correction")
"""
_FPROFILE_NEWER = """
STRING_APPEND(CMAKE_C_FLAGS " -fprofile-update=prefer-atomic")
STRING_APPEND(CMAKE_C_FLAGS " -fprofile-partial-training")
"""


_PSI = (
    ((5, 7), ("THREAD", "MUTEX", "MEMORY")),
    ((8, 0, 1), ("DATA_LOCK",)),
    ((8, 0, 33), ("SERVER_TELEMETRY_TRACES",)),
    ((8, 4), ("METRICS",)),
    ((9, 7), ("SERVER_TELEMETRY_LOGS",)),
)
"""Switches of the performance schema, with versions that have them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """What a tree of MySQL's kind has; the defaults are those of MySQL's own."""

    version: str
    extra: str = ""
    boost: str | None = None
    bundled: bool = True
    own_tls: bool = True
    folders: tuple[str, ...] = ()

    def write(self, root: Path) -> Path:
        """Write it to a folder that is not there yet; return the folder."""
        new = numbers(self.version) >= (8, 0)
        name = "MYSQL_VERSION" if numbers(self.version) >= (8, 0, 27) else "VERSION"
        parts = zip(("MAJOR", "MINOR", "PATCH"), self.version.split("."), strict=True)
        text = "".join(f"MYSQL_VERSION_{part}={number}\n" for part, number in parts)
        put(root / name, f"{text}MYSQL_VERSION_EXTRA={self.extra}\n")
        for folder in self.folders:
            (root / folder).mkdir(parents=True)
        self._write_cmake(root / "cmake")
        self._write_perfschema(root / "storage/perfschema/CMakeLists.txt")
        if new:
            self._write_plugin(root / "plugin/group_replication/CMakeLists.txt")
            put(root / "CMakeLists.txt", "IF(NOT PATCHELF_EXECUTABLE)\n")
            put(root / "share/messages_to_clients.txt")
            put(root / "extra/icu/icudt73l/nfkc.nrm")
        else:
            put(root / "extra/yassl/CMakeLists.txt")
        if self.boost and self.bundled:
            put(root / "boost" / self.boost / "boost/version.hpp")
        return root

    def _write_plugin(self, script: Path) -> None:
        """Write what 8.0.27 and 8.0.30 have; which of both 8.0.28 is like is not known."""
        guard = "IF(WITHOUT_GROUP_REPLICATION)\n  RETURN()\nENDIF()\n"
        stumbles = (8, 0, 27) <= numbers(self.version) < (8, 0, 30)
        put(
            script,
            ("" if stumbles else guard) + "ADD_INSTALL_RPATH_FOR_PROTOBUF(group_replication)\n",
        )

    def _write_perfschema(self, script: Path) -> None:
        default = "${DISABLE_ALL_PSI}" if numbers(self.version) >= (9, 7) else "OFF"
        names = (each for since, some in _PSI if numbers(self.version) >= since for each in some)
        lines = (f'OPTION(DISABLE_PSI_{each} "Exclude it" {default})\n' for each in names)
        put(script, "MYSQL_ADD_PLUGIN(perfschema)\n" + "".join(lines))

    def _write_cmake(self, cmake: Path) -> None:
        version = numbers(self.version)
        if self.boost:
            put(cmake / "boost.cmake", f'SET(BOOST_PACKAGE_NAME "{self.boost}")\nWITH_BOOST\n')
        three = ' OR OPENSSL_MAJOR_VERSION STREQUAL "3"' if version >= (8, 0, 30) else ""
        bundled = 'IF(WITH_SSL STREQUAL "bundled")\n' if self.own_tls else ""
        put(cmake / "ssl.cmake", f'{bundled}IF(OPENSSL_MAJOR_VERSION STREQUAL "1"{three})\n')
        if version >= (8, 0):
            put(cmake / "mysql_add_executable.cmake", "runtime_output_directory\n")
            options = 'SET(COMMON_CXX_FLAGS "-std=c++17 -fno-omit-frame-pointer")\n'
            put(cmake / "build_configurations/compiler_options.cmake", options)
        if version >= (8, 0, 19):
            newer = _FPROFILE_NEWER if version >= (8, 0, 23) else ""
            put(cmake / "fprofile.cmake", _FPROFILE + newer)
            put(cmake.parent / LAUNCHER).chmod(0o755)


MYSQL_56 = Tree(version="5.6.51")
MYSQL_57 = Tree(version="5.7.44", boost="boost_1_59_0")
MYSQL_8018 = Tree(version="8.0.18", boost="boost_1_70_0")
MYSQL_8019 = Tree(version="8.0.19", boost="boost_1_70_0")
MYSQL_8027 = Tree(version="8.0.27", boost="boost_1_73_0")
MYSQL_80 = Tree(version="8.0.39", boost="boost_1_77_0")
MYSQL_84 = Tree(version="8.4.7")
MYSQL_97 = Tree(version="9.7.0")
PERCONA_80 = Tree(version="8.0.36", extra="-28", boost="boost_1_77_0", folders=("build-ps",))
PERCONA_84 = Tree(version="8.4.7", extra="-7", folders=("build-ps", "storage/rocksdb"))
MYROCKS_56 = Tree(version="5.6.35", own_tls=False, folders=("storage/rocksdb",))
MYROCKS_80 = Tree(version="8.0.32", boost="boost_1_77_0", folders=("storage/rocksdb",))
