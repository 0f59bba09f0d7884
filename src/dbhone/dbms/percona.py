"""Percona Server for MySQL, from source 8.0 and newer, ready-made any."""

from __future__ import annotations

import re

from dbhone.dbms._cmake import Option
from dbhone.dbms._mysql_server import MysqlServer
from dbhone.dbms._mysql_tree import Vendor
from dbhone.requirements import Requirement, RequirementKind
from dbhone.versions import VersionRange


class Percona(MysqlServer):
    """MySQL with Percona's engine and instruments, without the parts that need libraries."""

    name = "percona"
    title = "Percona Server"
    vendor = Vendor.PERCONA
    builds = VersionRange(since="8.0")
    # mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server …
    printed_version = re.compile(
        r"\bVer (\d+\.\d+\.\d+-(?:rel)?\d\S*) for .*\((?:Percona Server|Source distr)"
    )
    reference = "git:https://github.com/percona/percona-server@8.0"
    lacks = (
        *MysqlServer.lacks,
        "the storage engines MyRocks and TokuDB",
        "logins by PAM",
        "keys for encryption from Vault, KMIP and KMS",
        "telemetry",
    )
    # Configuring asks for LDAP's headers, although nothing of the server needs them.
    requirements = (
        *MysqlServer.requirements,
        Requirement(name="ldap.h", package="libldap-dev", kind=RequirementKind.HEADER),
    )
    build_options = (
        # Plugins of their own with large trees of their own; only `mysqld` is built, but they
        # would be configured.
        Option(name="WITHOUT_ROCKSDB", value="ON"),
        Option(name="WITH_ROCKSDB", value="OFF"),
        Option(name="WITHOUT_TOKUDB", value="ON", span=VersionRange(until="8.0.28")),
        Option(name="WITH_COREDUMPER", value="OFF"),
        Option(name="WITH_PAM", value="OFF"),
        Option(name="WITH_KEYRING_VAULT", value="OFF"),
        Option(name="WITH_KEYRING_VAULT_TEST", value="OFF"),
        Option(name="WITH_COMPONENT_KEYRING_VAULT", value="OFF", span=VersionRange(since="8.0.33")),
        # They want libraries of their own, which a plain clone of the tree lacks.
        Option(name="WITH_COMPONENT_KEYRING_KMIP", value="OFF", span=VersionRange(since="8.0.30")),
        Option(name="WITH_COMPONENT_KEYRING_KMS", value="OFF", span=VersionRange(since="8.0.30")),
        # Sends reports about the server's use to its makers.
        Option(name="WITH_PERCONA_TELEMETRY", value="OFF", span=VersionRange(since="8.0.36")),
    )


PLUGIN = Percona()
