"""Build options of MySQL's kind by version: what hone leaves out, and sets that have a name.

Options that a version does not know are left out of its command line, although CMake would only
warn: what stands there is what the build was made with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from dbhone.dbms._cmake import Option
from dbhone.files import text_if_there
from dbhone.versions import VersionRange

_NEW = VersionRange(since="8.0")
_OLD = VersionRange(until="8.0")
_GROUP_REPLICATION = "WITH_GROUP_REPLICATION"
_ITS_SCRIPT = Path("plugin/group_replication/CMakeLists.txt")
_PSI_SCRIPT = Path("storage/perfschema/CMakeLists.txt")
_PSI_SWITCH = re.compile(r"^\s*OPTION\((DISABLE_PSI_\w+)", re.MULTILINE)
_PSI_MEMORY = "DISABLE_PSI_MEMORY"
_PSI_THREAD = "DISABLE_PSI_THREAD"

_SERVER_ONLY = (
    Option(name="MYSQL_MAINTAINER_MODE", value="OFF"),
    Option(name="WITH_UNIT_TESTS", value="OFF"),
    Option(name="WITH_INNODB_MEMCACHED", value="OFF", span=VersionRange(until="8.3")),
    Option(name="WITH_EMBEDDED_SERVER", value="OFF", span=_OLD),
    Option(name="ENABLE_DTRACE", value="OFF", span=_OLD),
    Option(name="WITH_RAPID", value="OFF", span=VersionRange(since="5.7.12", until="8.0")),
    Option(name="WITH_ROUTER", value="OFF", span=_NEW),
    Option(name="WITH_MYSQLX", value="OFF", span=_NEW),
    Option(name=_GROUP_REPLICATION, value="OFF", span=_NEW),
    # Without the second a server since 8.0.31 still has Cluster's engine and its client library.
    Option(name="WITH_NDB", value="OFF", span=VersionRange(since="8.0.31")),
    Option(name="WITH_NDBCLUSTER_STORAGE_ENGINE", value="OFF", span=_NEW),
    Option(
        name="WITH_AUTHENTICATION_CLIENT_PLUGINS", value="OFF", span=VersionRange(since="8.0.26")
    ),
    # Plugins that would have the libraries of the machine checked, and mixing them with others
    # refused.
    Option(name="WITH_AUTHENTICATION_LDAP", value="OFF", span=_NEW),
    Option(name="WITH_AUTHENTICATION_KERBEROS", value="OFF", span=VersionRange(since="8.0.26")),
    Option(
        name="WITH_AUTHENTICATION_FIDO", value="OFF", span=VersionRange(since="8.0.27", until="8.2")
    ),
    Option(name="WITH_AUTHENTICATION_WEBAUTHN", value="OFF", span=VersionRange(since="8.2")),
    Option(name="WITH_CURL", value="none", span=_NEW),
    # Found on one machine and not on the next, it would make two servers of one recipe.
    Option(name="WITH_NUMA", value="OFF", span=VersionRange(since="5.6.27")),
    # The tree brings them in the versions that it was tried with; see docs/builds.md.
    Option(name="WITH_ZLIB", value="bundled"),
    Option(name="WITH_EDITLINE", value="bundled", span=VersionRange(since="5.6.12")),
    Option(name="WITH_LZ4", value="bundled", span=VersionRange(since="5.7.11")),
    Option(name="WITH_LIBEVENT", value="bundled", span=VersionRange(since="8.0", until="8.4")),
    Option(name="WITH_PROTOBUF", value="bundled", span=_NEW),
    Option(name="WITH_ICU", value="bundled", span=VersionRange(since="8.0.4")),
    Option(name="WITH_ZSTD", value="bundled", span=VersionRange(since="8.0.18")),
    # Else a Debian package's flags are added: LTO, stack protector, FORTIFY.
    Option(name="WITH_PACKAGE_FLAGS", value="OFF", span=_NEW),
    # Link-time optimisation is the variant's, whose flags say it; a profile would turn it on.
    Option(name="WITH_LTO", value="OFF", span=VersionRange(since="8.0.13")),
    # Else the linker is whichever of lld and gold the machine has; 8.4 no longer looks for them.
    Option(name="USE_LD_LLD", value="OFF", span=VersionRange(since="8.0.16", until="8.4")),
    Option(name="USE_LD_GOLD", value="OFF", span=VersionRange(since="8.0", until="8.0.37")),
    # Libraries that the server is linked with are beside it wherever the build is kept.
    Option(name="CMAKE_BUILD_RPATH_USE_ORIGIN", value="ON", span=_NEW),
    Option(name="CMAKE_BUILD_RPATH", value="$ORIGIN/../lib", span=_NEW),
    Option(name="CMAKE_DISABLE_FIND_PACKAGE_Git", value="ON"),
)
"""What each build has, so that the server alone is built, and built alike on each machine."""


def server_only(tree: Path) -> tuple[Option, ...]:
    """Return the options of each build that this tree bears.

    Some trees before 8.0.30, 8.0.27 among them, give group replication a path whether or not it is
    there, and configuring fails when it was left out. It is left in then, and not built: the server
    does not need it.
    """
    text = text_if_there(tree / _ITS_SCRIPT)
    stumbles = "RPATH_FOR_PROTOBUF(group_replication" in text and "WITHOUT_GROUP" not in text
    return tuple(
        option for option in _SERVER_ONLY if not (stumbles and option.name == _GROUP_REPLICATION)
    )


_LEAN = (
    Option(name="ENABLED_PROFILING", value="OFF"),
    Option(name="OPTIMIZER_TRACE", value="OFF", span=_OLD),
    Option(name="WITH_CLIENT_PROTOCOL_TRACING", value="OFF", span=VersionRange(since="5.7")),
    *(
        Option(name=f"WITH_{engine}_STORAGE_ENGINE", value="OFF")
        for engine in ("ARCHIVE", "BLACKHOLE", "FEDERATED")
    ),
)


def sets_of(tree: Path) -> Mapping[str, tuple[Option, ...]]:
    """Return the sets of options that a user can ask for by name, as far as this tree has them.

    ``no-psi-memory`` is Kinoshita's (buildup-db.blogspot.com, 2024-09): in 5.7 the performance
    schema counts memory even when it is off. ``no-psi`` and ``lean`` follow Callaghan's builds
    rel_lessps and rel_less (mdcallag/mytools, bench/build).
    """
    switches = _psi_switches(tree)
    return {
        "no-psi-memory": tuple(switch for switch in switches if switch.name == _PSI_MEMORY),
        "no-psi": switches,
        "lean": _LEAN,
    }


def _psi_switches(tree: Path) -> tuple[Option, ...]:
    """Return what switches the performance schema's parts off, none before 5.7.

    Each version brought some. DISABLE_PSI_THREAD is not among them: it takes resource groups away
    too, and 8.0.39 had to be changed to link with it (mdcallag/mytools,
    bench/build/dec23.cmk.patch.mysql).
    """
    names = _PSI_SWITCH.findall(text_if_there(tree / _PSI_SCRIPT))
    return tuple(Option(name=name, value="ON") for name in sorted(names) if name != _PSI_THREAD)
