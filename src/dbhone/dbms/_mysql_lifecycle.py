"""What is of MySQL's kind, MariaDB included, as a server: made, set, started and stopped.

The server listens on a socket in a private folder and nowhere else. That is why its only
user, root, has no password.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

from dbhone.dbms._modules import MYSQL_MODULES, MYSQL_THREADS
from dbhone.dbms._mysql_cnf import DATA_SETTINGS, OWN_FILES, OWN_PREFIXES, read_cnf, unskipped
from dbhone.dbms._mysql_counters import SOURCES, WAITS
from dbhone.dbms._mysql_protocol import MYSQL
from dbhone.dbms._mysql_time_zones import time_zone_statements
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
from dbhone.errors import ServerError, UsageError
from dbhone.units import parse_size
from dbhone.untrusted_files import is_socket

DATABASE = "sbtest"
_FOLDERS = ("bin", "sbin", "libexec", "sql")
_SHARES = ("share/mysql", "share/mariadb", "share")
_SCRIPTS = ("system_tables", "performance_tables", "system_tables_data")
"""What makes the tables of the server itself; MariaDB 11 calls them mariadb_…, others mysql_…."""
_TABLE = re.compile(r"^-{20,} -{5,}$", re.MULTILINE)
_LINE = re.compile(r"^([a-z][a-z0-9_.-]*)(?: +(.*?))? *$", re.IGNORECASE)
_CONNECTIONS, _TABLES = "max_connections", "table_open_cache"
_OPEN_FILES = ("open_files_limit", "innodb_open_files", "rocksdb_max_open_files")
_FILES = (_CONNECTIONS, _TABLES, *_OPEN_FILES)
_OTHER_FILES = 30
"""Besides those of connections and tables: MySQL reckons with 10, MariaDB with 30."""
_FILES_OF_TABLE = 2
_FEWEST_TABLES = 400
"""Which it keeps open however low the limit is."""
_VALUES = MappingProxyType({"TRUE": "ON", "FALSE": "OFF", "(No default value)": "", None: ""})
"""How versions write the same value, in one way."""
_OWN_STATE = (
    *("auto.cnf", "mysqld-auto.cnf"),
    *("master.info", "multi-master.info", "relay-log.info"),
)
"""Files of a data directory: the server's identity, settings by SET PERSIST, replication."""
_OWN_LOGS = ("*.index", "*.err", "*-slow.log")
"""Binary and relay logs by their indexes, then logs of errors and of slow queries."""
_READY = re.compile(r": ready for connections")
_SIGNAL = re.compile(r"got (?:signal|exception) \d+|Assertion failure in file.*")
_ERROR = re.compile(r"\[(?:ERROR|FATAL)\]\s*(.*)|^(?:\S*: )?ERROR:? +(\d+ .*)")
_LABELS = re.compile(r"^(?:\[(?:MY-)?\d+\]\s*|\[\w+\]\s*)+|^\S*(?:mysqld|mariadbd): ")
_CONSEQUENCES = re.compile(
    r"^(?:Aborting|Plugin '.*' (?:init function returned error|registration as a .* failed)"
    r"|Unknown/unsupported storage engine|Failed to initialize|Data Dictionary init)"
)
"""Errors that follow from one that was reported before."""


class MysqlLife(ServerDbms):
    """What servers of MySQL's kind have in common once they are built or installed."""

    modules = MYSQL_MODULES
    threads = MYSQL_THREADS
    running_settings = "SHOW GLOBAL VARIABLES"
    told_with_others = frozenset({"sql_mode", "optimizer_switch"})
    protocol = MYSQL
    stop_signal = signal.SIGTERM
    cache_setting = "innodb_buffer_pool_size"
    huge_pages: Settings = MappingProxyType({"large_pages": "ON"})
    # Where its files are and who runs it is said on the command line; its log comes to hone.
    reserved = frozenset(
        {
            *("user", "chroot", "basedir", "lc_messages_dir", "character_sets_dir", "plugin_dir"),
            *("log_error", "bind_address", "port", "daemonize", "admin_address", "admin_port"),
            # In 5.7 it is a note that says that the server is ready.
            *("log_error_verbosity", "log_warnings", "log_error_services"),
        }
    )
    foreign_data = re.compile(
        r"Unsupported redo log format|on data directory built by version|MySQL-8\.0 tablespace"
        r"|Invalid MySQL server (?:up|down)grade|Cannot upgrade server earlier than"
    )
    own_files = OWN_FILES
    own_prefixes = OWN_PREFIXES
    data_settings = DATA_SETTINGS
    loading_settings = frozenset(
        {
            *("character_set_server", "collation_server"),
            *("innodb_file_per_table", "innodb_default_row_format", "innodb_compression_default"),
            *("default_storage_engine", "storage_engine", "rocksdb_default_cf_options"),
            # Without its plug-in a server does not know an engine.
            *("plugin_load", "plugin_load_add"),
            # What a table may be, and which words its full-text indexes have.
            *("innodb_strict_mode", "ngram_token_size", "ft_min_word_len", "ft_max_word_len"),
            *("ft_stopword_file", "innodb_ft_min_token_size", "innodb_ft_max_token_size"),
            *("innodb_ft_enable_stopword", "innodb_ft_server_stopword_table"),
        }
    )
    # A dump may have longer rows than the usual limit allows.
    while_loading: Settings = MappingProxyType({"max_allowed_packet": "1G"})
    settings_table = "mysql"
    cnf_sections = frozenset({"mysqld", "server"})
    """The sections of a my.cnf that this server reads."""
    counters = SOURCES
    waits = WAITS

    def installation(self, prefix: Path) -> Installation | None:
        """Return what is in ``prefix/bin`` or ``prefix/sbin``: /usr, a build."""
        for name in self.programs:
            for folder in _FOLDERS:
                server = prefix / folder / name
                if server.is_file():
                    return Installation(dbms=self.name, version="", prefix=prefix, server=server)
        return None

    def version_query(self, installation: Installation) -> Program:
        """Return the server with its option for that, and no settings of the machine's."""
        argv = (str(installation.server), "--no-defaults", "--version")
        return Program(argv=argv, env=installation.environment())

    def initialise(
        self, installation: Installation, place: InstanceDir, settings: Settings
    ) -> tuple[Program, ...]:
        """Return the server in the mode in which it only reads statements, and the statements.

        They are those that its install script would feed it, less the texts of HELP, and the time
        zones.
        """
        argv = (
            *command(installation, "--no-defaults"),
            "--bootstrap",
            f"--datadir={place.data}",
            f"--tmpdir={place.scratch}",
            "--max-allowed-packet=8M",
            "--loose-enforce-storage-engine=",
            "--loose-feedback=OFF",
            "--skip-networking",
            *options(settings),
        )
        texts = [path.read_text(encoding="utf-8") for path in _statements(installation)]
        statements = "\n".join(
            (
                "CREATE DATABASE mysql;",
                "USE mysql;",
                *texts,
                *(f"{statement};" for statement in time_zone_statements()),
                f"CREATE DATABASE {DATABASE};",
                "",
            )
        )
        return (Program(argv=argv, stdin=statements, env=installation.environment()),)

    def take_over(
        self, installation: Installation, place: InstanceDir, settings: Settings
    ) -> Takeover:
        """Return the server, which executes a file of statements as it starts, the last of them its
        own end.
        """
        user = "root@localhost"
        statements = (
            f"CREATE USER IF NOT EXISTS {user};",
            f"ALTER USER {user} IDENTIFIED BY '';",
            f"GRANT ALL PRIVILEGES ON *.* TO {user} WITH GRANT OPTION;",
            f"CREATE DATABASE IF NOT EXISTS {DATABASE};",
            "SHUTDOWN;",
        )
        argv = (
            *command(installation, "--no-defaults"),
            f"--datadir={place.data}",
            f"--tmpdir={place.scratch}",
            f"--socket={place.sockets / 'mysql.sock'}",
            f"--pid-file={place.sockets / 'pid'}",
            "--init-file=/dev/stdin",
            "--skip-networking",
            "--skip-log-bin",
            "--skip-slave-start",
            "--event-scheduler=OFF",
            "--loose-mysqlx=OFF",
            "--loose-feedback=OFF",
            *options(settings),
        )
        return Takeover(
            marker="ibdata1",
            files=dict.fromkeys(_OWN_STATE),
            logs=_OWN_LOGS,
            program=Program(
                argv=argv, stdin="\n".join((*statements, "")), env=installation.environment()
            ),
        )

    def fixed_settings(self, place: InstanceDir) -> Settings:
        """Return the private socket, no network, and where files are."""
        return {
            "datadir": str(place.data),
            "socket": str(place.sockets / "mysql.sock"),
            "pid_file": str(place.sockets / "pid"),
            "tmpdir": str(place.scratch),
            "skip_networking": "ON",
            # The second protocol of MySQL 8, which has a port and a socket of its own.
            "mysqlx": "OFF",
            # Sends reports about the server's use to its makers.
            "feedback": "OFF",
            # The copy of a node's data must not join the node's cluster.
            "wsrep_on": "OFF",
            # What SET PERSIST wrote would go before hone's file.
            "persisted_globals_load": "OFF",
            # A copy of a replica's data, which since 8.0 is a replica by its tables, stays alone.
            "skip_slave_start": "ON",
            "skip_replica_start": "ON",
            "lc_messages": "en_US",
        }

    def proposed_settings(self, room: SizingHints, version: str) -> Settings:  # noqa: ARG002
        """Return settings that let the server's own code be what takes the time."""
        return {
            "innodb_buffer_pool_size": str(room.cache_bytes),
            "max_connections": str(room.connections),
            # Each client prepares its statements for each table.
            "max_prepared_stmt_count": "1000000",
            # Else one measures how long the disk takes to confirm each commit. The log is
            # still written at each, and on the disk once a second.
            "innodb_flush_log_at_trx_commit": "2",
            # No replica reads it: on in one version and off in another it would decide all.
            "skip_log_bin": "ON",
            "sync_binlog": "0",
            # Large enough that a measured step does not wait for pages to be written out, and as
            # large in all versions, whether they have it in one file, two or many.
            "innodb_redo_log_capacity": "1G",
            # Pages are not kept twice, by the server and by the kernel, unless the kernel's
            # cache is what is to hold the data.
            "innodb_flush_method": "fsync" if room.os_cached else "O_DIRECT",
            # The cache is as the warm-up leaves it, not as some former instance left it.
            "innodb_buffer_pool_load_at_startup": "OFF",
            "innodb_buffer_pool_dump_at_shutdown": "OFF",
            # On in MySQL and off in MariaDB; its price is up to a tenth of the throughput.
            "performance_schema": "OFF",
            # Nothing leaves the machine. MariaDB 11.4 would make itself a new key at each
            # start, which takes seconds, and clients would encrypt.
            "ssl": "OFF",
            # What versions take by themselves differs: latin1 till MySQL 5.7 and MariaDB 11.5, then
            # utf8mb4 by Unicode's rules, which costs a sort or DISTINCT of texts most of its time.
            "character_set_server": "latin1",
            "collation_server": "latin1_swedish_ci",
            # On by default since 8.0: the events of a copy of a user's data would change its rows.
            "event_scheduler": "OFF",
            # Would answer what was asked before without asking the engine.
            "query_cache_type": "OFF",
            "query_cache_size": "0",
        }

    def files_needed(self, settings: Settings) -> int:
        """Return what the server computes at its start, ``adjust_open_files_limit`` in mysqld.cc.

        Without these settings it takes what it gets.
        """
        asked = {name: self.bytes_of(settings[name]) or 0 for name in _FILES if name in settings}
        needed = max((asked.get(name, 0) for name in _OPEN_FILES), default=0)
        if _CONNECTIONS not in asked and _TABLES not in asked:
            return needed
        tables = asked.get(_TABLES, _FEWEST_TABLES)
        return max(needed, _OTHER_FILES + asked.get(_CONNECTIONS, 0) + _FILES_OF_TABLE * tables)

    def settings_file(self, settings: Settings) -> str:
        """Return a my.cnf in which every value is quoted."""
        lines = (f"{name} = {_quoted(value)}\n" for name, value in settings.items())
        return "[mysqld]\n" + "".join(lines)

    def read_settings_file(self, text: str) -> tuple[RequestedSetting, ...]:
        """Return what the server's sections of a my.cnf say."""
        return read_cnf(text, self.cnf_sections)

    def settings_queries(
        self, installation: Installation, place: InstanceDir
    ) -> tuple[Program, ...]:
        """Return what prints the table of all settings with their values.

        MariaDB 10.1.8 crashes then as it loads its plugins, unless it is told to look for none.
        """
        ask = (*command(installation, "--no-defaults"), f"--datadir={place.data}")
        env = installation.environment()
        return (
            Program(argv=(*ask, "--verbose", "--help"), env=env),
            Program(argv=(*ask, "--skip-grant-tables", "--verbose", "--help"), env=env),
        )

    def known_settings(self, printed: str) -> dict[str, str]:
        """Return what the table says, and the one way to say that there is no binary log."""
        start = _TABLE.search(printed)
        table, _, _ = printed[start.end() :].partition("\n\n") if start else ("", "", "")
        lines = (match for line in table.splitlines() if (match := _LINE.match(line)))
        known = {self.canonical(line[1]): _VALUES.get(line[2], line[2]) for line in lines}
        if "log_bin" in known:
            known |= {"skip_log_bin": "", "disable_log_bin": ""}
        return known

    def start(self, installation: Installation, place: InstanceDir) -> Program:
        """Return the server itself; without its wrappers it stays in the foreground."""
        argv = command(installation, f"--defaults-file={place.settings}")
        return Program(argv=argv, env=installation.environment())

    def serve(self, installation: Installation, data: Path) -> Program:
        """Return the server, which finds its settings file where it always does."""
        argv = (*_located(installation), f"--datadir={data}")
        return Program(argv=argv, env=installation.environment())

    def is_ready(self, place: InstanceDir, log: str) -> bool:
        """Return whether its log says so and its socket is there."""
        return bool(_READY.search(log)) and is_socket(self.endpoint(place).socket)

    def endpoint(self, place: InstanceDir) -> Endpoint:
        """Return the socket and the database that was made with the data directory."""
        return Endpoint(
            protocol=self.protocol,
            socket=place.sockets / "mysql.sock",
            user="root",
            database=DATABASE,
        )

    def error_in_log(self, log: str) -> str | None:
        """Return the error that others follow from: the first, or that it crashed."""
        errors = [
            _LABELS.sub("", (match[1] or match[2]).strip())
            for line in log.splitlines()
            if (match := _ERROR.search(line))
        ]
        causes = [text for text in errors if text and not _CONSEQUENCES.match(text)]
        crash = _SIGNAL.search(log)
        if crash:
            return crash[0]
        return next(iter(causes or errors), None)

    def canonical(self, setting: str) -> str:
        """Return it in small letters with underscores, as the server's variables are written."""
        return setting.lower().replace("-", "_")

    def respelled(
        self, setting: str, value: str, is_setting: Callable[[str], bool]
    ) -> tuple[str, str]:
        """Return ``NAME = OFF`` for ``skip_NAME``, where the server does not list it so."""
        return unskipped(setting, value, is_setting)

    def bytes_of(self, value: str) -> int | None:
        """Return the bytes in ``8G``, ``512M`` or ``134217728``."""
        try:
            return parse_size(value)
        except UsageError:
            return None


def command(installation: Installation, first: str) -> tuple[str, ...]:
    """Return the server and where its files are; ``first`` must come before all else."""
    server, *places = _located(installation)
    return (server, first, *places)


def options(settings: Settings) -> tuple[str, ...]:
    """Return settings as a server's command line has them."""
    return tuple(f"--{name}={value}" for name, value in settings.items())


def _located(installation: Installation) -> tuple[str, ...]:
    share = _share(installation.prefix)
    plugins = installation.prefix / "lib" / "plugin"
    return (
        str(installation.server),
        f"--basedir={installation.prefix}",
        f"--lc-messages-dir={share}",
        f"--character-sets-dir={share / 'charsets'}",
        *((f"--plugin-dir={plugins}",) if plugins.is_dir() else ()),
    )


def _share(prefix: Path) -> Path:
    folders = [prefix / share for share in _SHARES]
    return next((folder for folder in folders if (folder / "english").is_dir()), folders[-1])


def _statements(installation: Installation) -> list[Path]:
    """Return the files that make the server's own tables. Raises ServerError without them."""
    folders = [installation.prefix / name for name in (*_SHARES, "scripts")]
    for family in ("mariadb", "mysql"):
        for folder in folders:
            scripts = [folder / f"{family}_{name}.sql" for name in _SCRIPTS]
            if scripts[0].is_file():
                return [path for path in scripts if path.is_file()]
    raise ServerError(
        f"there is no mysql_system_tables.sql below {installation.prefix}, without which no"
        " data directory can be made",
        hint="a distribution has it in a package beside the server's, such as mariadb-server-core",
    )


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
