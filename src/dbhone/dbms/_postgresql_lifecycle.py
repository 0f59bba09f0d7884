"""PostgreSQL as a server, 9.6 to 18: how its data is made, how it is set, started and stopped.

The server listens on a socket in a private folder and nowhere else. That is why whoever gets
there is trusted: initdb's rules refuse everything that comes over a network.
"""

from __future__ import annotations

import re
import signal
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType

from dbhone.dbms._modules import POSTGRESQL_MODULES, POSTGRESQL_THREADS
from dbhone.dbms._postgresql_conf import read_conf
from dbhone.dbms._postgresql_counters import SOURCES, WAITS
from dbhone.dbms._postgresql_protocol import POSTGRESQL
from dbhone.dbms.base_protocol import Endpoint
from dbhone.dbms.base_server import (
    Installation,
    InstanceDir,
    Program,
    ServerDbms,
    Settings,
    SizingHints,
    Takeover,
)
from dbhone.dbms.base_settings import RequestedSetting
from dbhone.untrusted_files import read_untrusted
from dbhone.versions import VersionRange

_PORT = 5432
_AT_START = 4
"""The column of ``postgres --describe-config`` with a setting's value where nothing sets it."""
_CHECKED = VersionRange(since="18")
"""The versions that check their pages by themselves."""
_USER = "dbhone"
_STATUS_LINE = 7
"""In postmaster.pid, from 10 on; counted from nought."""
_READY = "database system is ready to accept connections"
_LEVEL = re.compile(r"\b(LOG|ERROR|FATAL|PANIC|DETAIL|initdb: error|initdb): +(.*)")
_FATAL = frozenset({"FATAL", "initdb: error", "initdb"})
_CRASH = re.compile(r"\(PID \d+\) was terminated by signal \d+")
_BAD_FILE = "contains errors"
"""How a FATAL line ends that leaves it to the lines before it to say what is wrong."""
_BAD_SETTING = re.compile(
    r"invalid value for parameter|unrecognized configuration parameter|syntax error in file"
    r"|outside the valid range|requires a |parameter .* cannot be|invalid list syntax"
)
_OTHER_FILES = 64
"""What a process has open that it does not count: sockets, what it inherits, ten to spare."""
_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)\s*(B|kB|MB|GB|TB|)")
_UNITS = {"B": 1, "": 8192, "kB": 1024, "MB": 1024**2, "GB": 1024**3, "TB": 1024**4}
"""Bytes; a bare number counts blocks."""


class PostgresqlLife(ServerDbms):
    """What every PostgreSQL has in common once it is built or installed."""

    protocol = POSTGRESQL
    modules = POSTGRESQL_MODULES
    threads = POSTGRESQL_THREADS
    running_settings = "SELECT name, setting, current_setting(name) FROM pg_settings"
    told_as = MappingProxyType(
        {
            # From 15 on there are several ways to compress.
            ("wal_compression", "on"): "pglz",
            # What both are called since 9.6.
            ("wal_level", "archive"): "replica",
            ("wal_level", "hot_standby"): "replica",
            ("wal_buffers", "-1"): None,
        }
    )
    # "Fast": clients are sent away and a checkpoint is made. Counters of a profile are written
    # as processes exit by themselves; the faster signal ends them before.
    stop_signal = signal.SIGINT
    cache_setting = "shared_buffers"
    huge_pages = MappingProxyType({"huge_pages": "on"})
    reserved = frozenset({"data_directory", "config_file", "hba_file", "ident_file"})
    # postgres (PostgreSQL) 15.18 (Debian …)
    printed_version = re.compile(r"\(PostgreSQL\) (\d\S*)")
    foreign_data = re.compile(r"database files are incompatible with server")
    # Each of their commits may have another version of the catalogue (CATALOG_VERSION_NO).
    unreleased = re.compile(r"\d(?:devel|alpha|beta|rc)")
    own_files = frozenset(
        {
            *("external_pid_file", "log_directory", "log_filename", "stats_temp_directory"),
            *("ssl", "krb_server_keyfile", "promote_trigger_file", "restore_command"),
            "unix_socket_group",
            # With a standby that is not there, the first commit would wait for ever.
            *("synchronous_standby_names", "synchronized_standby_slots", "standby_slot_names"),
            # Each write would fail.
            "default_transaction_read_only",
            # Locales that the machine may lack; the data is of the locale C.
            *("lc_monetary", "lc_numeric", "lc_time", "dynamic_library_path"),
            # The first server of a block would take the pages, and the others do without.
            "huge_pages",
            # Libraries that hone's builds lack; without one of them the server does not start.
            *("shared_preload_libraries", "session_preload_libraries", "local_preload_libraries"),
        }
    )
    own_prefixes = ("ssl_", "archive_", "primary_", "recovery_")
    loading_settings = frozenset(
        {
            *("default_statistics_target", "default_table_access_method"),
            "default_toast_compression",
        }
    )
    # What ALTER SYSTEM writes.
    settings_beside = ("postgresql.auto.conf",)
    settings_table = "postgresql"
    programs = ("postgres",)
    counters = SOURCES
    waits = WAITS
    connection_process = "SELECT pg_backend_pid()"

    def installation(self, prefix: Path) -> Installation | None:
        """Return what is in ``prefix/bin``: /usr/lib/postgresql/15, /usr/local/pgsql, a build.

        Of Debian's packages, unpacked, it is in ``prefix/lib/postgresql/15/bin``.
        """
        for folder in (prefix / "bin", *prefix.glob("lib/postgresql/*/bin")):
            server = folder / self.programs[0]
            if server.is_file() and (folder / "initdb").is_file():
                return Installation(dbms=self.name, version="", prefix=prefix, server=server)
        return None

    def version_query(self, installation: Installation) -> Program:
        """Return the server with its option for that."""
        return Program(argv=(str(installation.server), "--version"), env=_environment(installation))

    def initialise(
        self, installation: Installation, place: InstanceDir, settings: Settings
    ) -> tuple[Program, ...]:
        """Return initdb, without its fsync: what is made is saved as a whole afterwards."""
        del settings  # it has no data settings
        argv = (
            str(installation.server.with_name("initdb")),
            f"--pgdata={place.data}",
            f"--username={_USER}",
            "--auth-local=trust",
            "--auth-host=reject",
            "--encoding=UTF8",
            # The same order of texts on each machine, and none of a library's that changes.
            "--locale=C",
            "-N",  # 9.6 spells it --nosync
            # On by default there; with them, also a read may write to the log.
            *(("--no-data-checksums",) if _CHECKED.holds(installation.version) else ()),
        )
        return (Program(argv=argv, env=_environment(installation)),)

    def take_over(
        self, installation: Installation, place: InstanceDir, settings: Settings
    ) -> Takeover:
        """Return the rules of initdb's kind, and the server in its mode for one user, who is asked.

        Settings by ALTER SYSTEM would go before those of hone's file.
        """
        del settings
        argv = (
            *(str(installation.server), "--single", "-D", str(place.data)),
            *("-c", "config_file=/dev/null", "template1"),
        )
        return Takeover(
            marker="PG_VERSION",
            files={
                "pg_hba.conf": "local all all trust\n",
                "pg_ident.conf": "",
                "postgresql.auto.conf": "",
                # Until 11 a standby is one by its recovery.conf, which 12 refuses.
                **dict.fromkeys(
                    ("postmaster.pid", "recovery.conf", "recovery.signal", "standby.signal")
                ),
            },
            # A slot keeps the log for a replica, and asks for more log than hone proposes. The
            # others have what the server said; until 9.6 in pg_log.
            emptied=("pg_replslot", "log", "pg_log"),
            program=Program(
                argv=argv,
                stdin=f"CREATE ROLE {_USER} SUPERUSER LOGIN;\n",
                env=_environment(installation),
            ),
        )

    def fixed_settings(self, place: InstanceDir) -> Settings:
        """Return the private socket, no network, and a log that is written to hone in English."""
        return {
            "listen_addresses": "",
            "port": str(_PORT),
            "unix_socket_directories": _in_list(place.sockets),
            "unix_socket_permissions": "0700",
            "logging_collector": "off",
            "log_destination": "stderr",
            "lc_messages": "C",
            # After a crash of one process the others would restart, slowly and unnoticed.
            "restart_after_crash": "off",
            # A copy of a subscriber's data has its subscriptions: to the user's own publisher.
            "max_logical_replication_workers": "0",
        }

    def proposed_settings(self, room: SizingHints, version: str) -> Settings:  # noqa: ARG002
        """Return settings that let the server's own code be what takes the time."""
        return {
            "shared_buffers": f"{max(room.cache_bytes // 1024, 128)}kB",
            "max_connections": str(room.connections),
            # Else one measures how long the disk takes to confirm each commit. The log is
            # still written, and on the disk within three times wal_writer_delay.
            "synchronous_commit": "off",
            # No standby and no archive reads the log: no more than a crash needs is written,
            # as other servers without a replica do. Senders need more, so there are none.
            "wal_level": "minimal",
            "max_wal_senders": "0",
            # Checkpoints come with the time, not with the amount that a fast server writes,
            # and seldom enough that a measured step mostly has none.
            "max_wal_size": "8GB",
            "checkpoint_timeout": "30min",
            "checkpoint_completion_target": "0.9",
            # Compiles queries at run time, with a compiler that not every build has; it pays
            # for long queries only.
            "jit": "off",
            # "try" would make it depend on what else has taken of the machine's large pages.
            "huge_pages": "off",
        }

    def settings_file(self, settings: Settings) -> str:
        """Return a postgresql.conf in which every value is quoted."""
        return "".join(f"{name} = {_quoted(value)}\n" for name, value in settings.items())

    def read_settings_file(self, text: str) -> tuple[RequestedSetting, ...]:
        """Return what a postgresql.conf says."""
        return read_conf(text)

    def settings_queries(
        self,
        installation: Installation,
        place: InstanceDir,  # noqa: ARG002
    ) -> tuple[Program, ...]:
        """Return what prints a line for each setting that a settings file may have."""
        argv = (str(installation.server), "--describe-config")
        return (Program(argv=argv, env=_environment(installation)),)

    def known_settings(self, printed: str) -> dict[str, str]:
        """Return the first column, and the fifth, which has the value at start."""
        lines = (line.split("\t") for line in printed.splitlines() if "\t" in line)
        return {self.canonical(line[0]): "".join(line[_AT_START : _AT_START + 1]) for line in lines}

    def start(self, installation: Installation, place: InstanceDir) -> Program:
        """Return the postmaster; without pg_ctl it stays in the foreground."""
        argv = (
            str(installation.server),
            *("-D", str(place.data)),
            *("-c", f"config_file={place.settings}"),
        )
        return Program(argv=argv, env=_environment(installation))

    def serve(self, installation: Installation, data: Path) -> Program:
        """Return the postmaster; the settings are in the data."""
        argv = (str(installation.server), "-D", str(data))
        return Program(argv=argv, env=_environment(installation))

    def is_ready(self, place: InstanceDir, log: str) -> bool:
        """Return what postmaster.pid says; 9.6 says it in its log only."""
        try:
            lines = read_untrusted(place.data / "postmaster.pid").decode().splitlines()
        except (FileNotFoundError, UnicodeDecodeError):
            return False
        if len(lines) > _STATUS_LINE:
            return lines[_STATUS_LINE].strip() == "ready"
        return _READY in log

    def endpoint(self, place: InstanceDir) -> Endpoint:
        """Return the socket, the one user there is, and the database that is always there."""
        return Endpoint(
            protocol=self.protocol,
            socket=place.sockets / f".s.PGSQL.{_PORT}",
            user=_USER,
            database="postgres",
            port=_PORT,
        )

    def error_in_log(self, log: str) -> str | None:
        """Return a panic or crash, else the error in the settings, else the first fatal line."""
        messages = _sayings(log)
        crashes = [text for level, text in messages if level == "PANIC" or _CRASH.search(text)]
        fatal = [text for level, text in messages if level in _FATAL]
        settings = [text for _, text in messages if _BAD_SETTING.search(text)]
        if crashes:
            return crashes[0]
        if settings and any(text.endswith(_BAD_FILE) for text in fatal):
            return settings[0]
        return fatal[0] if fatal else None

    def amount(self, size: int) -> str:
        """Return a size in kilobytes: a bare number would count blocks or something else."""
        return f"{size // 1024}kB"

    def files_needed(self, settings: Settings) -> int:
        """Return the files of a process, with those that it has open for other purposes."""
        asked = settings.get("max_files_per_process", "").strip()
        return int(asked) + _OTHER_FILES if asked.isdecimal() else 0

    def bytes_of(self, value: str) -> int | None:
        """Return the bytes in ``8GB``, ``1.5GB``, ``1048576kB`` or in a number of blocks."""
        amount = _AMOUNT.fullmatch(value.strip())
        return int(Decimal(amount[1]) * _UNITS[amount[2]]) if amount else None


def _sayings(log: str) -> list[tuple[str, str]]:
    """Return the levels and texts in a log; a detail belongs to the text that it follows."""
    messages: list[tuple[str, str]] = []
    for line in log.splitlines():
        match = _LEVEL.search(line)
        if match is None:
            continue
        level, text = match.groups()
        if level != "DETAIL":
            messages.append((level, text))
        elif messages:
            before, what = messages[-1]
            messages[-1] = (before, f"{what}: {text}")
    return messages


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _in_list(path: Path) -> str:
    """Return a path as an item of a list: quoted, for it might have a comma."""
    text = str(path)
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"') else text


def _environment(installation: Installation) -> dict[str, str]:
    """Return where initdb finds libpq: a build may lie elsewhere than it was made for."""
    lib = installation.prefix / "lib"
    return installation.environment(lib, *lib.glob("*-linux-gnu*"))
