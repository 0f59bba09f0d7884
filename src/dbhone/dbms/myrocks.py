"""MyRocks: Facebook's MySQL with RocksDB for its engine, from source, the lines 5.6 and 8.0."""

from __future__ import annotations

import re
from types import MappingProxyType

from dbhone.dbms._cmake import Option
from dbhone.dbms._mysql_server import MysqlServer
from dbhone.dbms._mysql_tree import Vendor, gpl_2
from dbhone.dbms.base_server import Settings, SizingHints
from dbhone.requirements import Requirement, RequirementKind
from dbhone.versions import VersionRange

_NEW = VersionRange(since="8.0")
_OLD = VersionRange(until="8.0")


class MyRocks(MysqlServer):
    """Facebook's MySQL; RocksDB is part of the server."""

    name = "myrocks"
    title = "MyRocks"
    vendor = Vendor.MYROCKS
    builds = VersionRange(since="5.6", until="8.1")
    # mysqld  Ver 8.0.32 for Linux on x86_64 (MyRocks)
    printed_version = re.compile(
        r"\bVer (\d+\.\d+\.\d+)\S* for .*\([^)]*(?:MyRocks|Facebook)", re.IGNORECASE
    )
    reference = "git:https://github.com/facebook/mysql-5.6@fb-mysql-8.0.32"
    seconds_by_version = ((_OLD, 800.0),)
    # RocksDB is in the server: it is under the same licence, LevelDB's part of it under its own.
    licence = gpl_2(
        *("LICENSE", "COPYING", "README", "README.md"),
        *("rocksdb/LICENSE.Apache", "rocksdb/LICENSE.leveldb"),
    )
    cache_setting = "rocksdb_block_cache_size"
    # large_pages is for InnoDB; RocksDB allocates each block of its cache by itself.
    huge_pages = MappingProxyType({})
    requirements = (
        *MysqlServer.requirements,
        Requirement(name="boost/version.hpp", package="libboost-dev", kind=RequirementKind.HEADER),
        Requirement(name="bzlib.h", package="libbz2-dev", kind=RequirementKind.HEADER),
        Requirement(name="lz4.h", package="liblz4-dev", kind=RequirementKind.HEADER),
        Requirement(name="snappy.h", package="libsnappy-dev", kind=RequirementKind.HEADER),
        Requirement(name="zstd.h", package="libzstd-dev", kind=RequirementKind.HEADER),
    )
    build_options = (
        # Else CMake would ask git, which a tree no longer has.
        *(
            Option(name=f"{part}_{what}", value="unknown")
            for part in ("MYSQL", "ROCKSDB")
            for what in ("GITHASH", "GITDATE")
        ),
        Option(name="WITH_FB_VECTORDB", value="OFF", span=_NEW),
        # Else RocksDB is compiled for the processor of the machine that builds: the variant chooses
        # the processor. RocksDB needs CRC32 and PCLMUL at least, and says so by -march=westmere.
        Option(name="ROCKSDB_DISABLE_MARCH_NATIVE", value="ON", span=_NEW),
        Option(name="ROCKSDB_DISABLE_AVX2", value="ON", span=_NEW),
        Option(name="WITH_LZ4", value="system", span=_OLD),
        Option(name="WITH_ZSTD", value="system", span=_OLD),
        # The only way to know it by what it says of itself.
        Option(name="COMPILATION_COMMENT", value="MyRocks"),
    )

    def proposed_settings(self, room: SizingHints, version: str) -> Settings:
        """Return MySQL's with RocksDB for the engine, whose cache has the room."""
        settings = super().proposed_settings(room, version)
        innodb = _without_innodb(settings) if _OLD.holds(version) else _small_innodb(settings)
        return {
            **innodb,
            "rocksdb": "ON",
            "default_storage_engine": "ROCKSDB",
            "rocksdb_block_cache_size": str(room.cache_bytes),
            # As innodb_flush_log_at_trx_commit=2: written at each commit, synced each second.
            "rocksdb_flush_log_at_trx_commit": "2",
        }


def _small_innodb(settings: Settings) -> Settings:
    """Return them for a server whose own tables, and nothing else, are InnoDB's."""
    return {**settings, "innodb_buffer_pool_size": "128M"}


def _without_innodb(settings: Settings) -> Settings:
    """Return them for a server that runs either of the engines: 5.6 starts with both only if
    it is told that this is meant, and keeps temporary tables in InnoDB by itself.
    """
    kept = {name: value for name, value in settings.items() if not name.startswith("innodb_")}
    return {**kept, "innodb": "OFF", "default_tmp_storage_engine": "MyISAM"}


PLUGIN = MyRocks()
