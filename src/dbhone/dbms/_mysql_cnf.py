"""What MySQL's option files mean: their text, their spellings, and what is one server's alone.

All is read as mysqld itself would take it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath

from dbhone.dbms.base_settings import ASK_THE_SERVER, LOOSE, Origin, RequestedSetting
from dbhone.errors import SettingsError

OWN_FILES = frozenset(
    {
        *("innodb_data_home_dir", "innodb_log_group_home_dir", "innodb_undo_directory"),
        *("innodb_temp_tablespaces_dir", "innodb_doublewrite_dir", "innodb_tmpdir"),
        *("innodb_directories", "innodb_redo_log_archive_dirs", "slave_load_tmpdir"),
        *("replica_load_tmpdir", "aria_log_dir_path", "log_bin_index", "relay_log_index"),
        *("general_log_file", "slow_query_log_file", "log_isam", "init_file"),
        *("secure_file_priv", "keyring_file_data", "ssl_ca", "ssl_capath", "ssl_cert"),
        *("ssl_crl", "ssl_crlpath", "ssl_key", "innodb_data_file_path"),
        *("binlog_do_db", "binlog_ignore_db", "core_file"),
        # Their keys are the user's.
        *("innodb_redo_log_encrypt", "innodb_undo_log_encrypt", "binlog_encryption"),
        *("default_table_encryption", "aria_encrypt_tables"),
        # On a replica each write of a client fails.
        *("read_only", "super_read_only", "offline_mode"),
        # The first server of a block would take the pages, and the others do without.
        "large_pages",
        # Events would change the rows of each copy of the user's data.
        "event_scheduler",
    }
)
"""Settings that name files and peers of one server, or would spoil a measurement of several."""
OWN_PREFIXES = (
    *("wsrep_", "group_replication_", "rpl_semi_sync_", "report_", "mysqlx_"),
    *("s3_", "spider_remote_", "hashicorp_key_", "aws_key_", "file_key_", "authentication_ldap_"),
    *("replicate_", "innodb_encrypt", "encrypt_"),
)
"""How others of that kind begin: of clusters and replicas, ports, passwords and keys."""
DATA_SETTINGS = frozenset(
    {
        *("innodb_page_size", "innodb_data_file_path", "innodb_undo_tablespaces"),
        "lower_case_table_names",
    }
)
"""Settings that a data directory is made with."""
_SKIP = ("skip_", "disable_")
_SWITCHES = {"on": "OFF", "1": "OFF", "true": "OFF", "0": "ON"}
"""What ``skip_NAME`` with a value says of NAME; my_getopt takes 0 alone for a double negation."""
_SECTION = re.compile(r"\[\s*([^\]]+?)\s*\]")
_SPECIAL = re.compile(r"(?:mysqld|mariadbd?|server|galera)(?:-\d[\d.]*|\d+|@.*)")
"""Sections for one version, for one server of mysqld_multi's, or for one of systemd's."""
_COMMENT = re.compile(r"\s#.*$")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "\\": "\\", "s": " "}
_ESCAPED = re.compile(r"\\([btnr\\s])")
_PREFIXES_TO_FILES = frozenset({"log_bin", "relay_log"})
"""Settings whose value is how names of files begin, perhaps with a folder."""
_OF_PLUGINS = (
    *("validate_password", "server_audit", "audit_log_", "keyring_", "connection_control_"),
    *("clone_", "mysql_firewall_", "simple_password_check_", "cracklib_password_check_"),
)
"""How settings of plugins begin; those of components have a dot."""
_NAMELESS = {"log_bin": "binlog"}
"""What stands for a missing value where that is not a switch."""


def read_cnf(text: str, sections: frozenset[str]) -> tuple[RequestedSetting, ...]:
    """Return the settings in ``sections``; of one that stands twice the last counts.

    A name without a value is a switch that is on. Raises SettingsError for a line that is
    none of my.cnf's, for an included file, for settings for one version or one of several servers
    only, and for a file that sets nothing. A plugin's own may be missing: builds lack plugins.
    """
    values: dict[str, RequestedSetting] = {}
    others: dict[str, None] = {}
    for number, section, line in _lines(text, sections):
        if section not in sections:
            others[section] = None
            continue
        name, equals, rest = line.partition("=")
        spelling = name.strip().lower().replace("-", "_")
        if not re.fullmatch(r"[a-z][a-z0-9_.]*", spelling):
            raise SettingsError(f"line {number}: '{line}' is not a setting of a my.cnf")
        value = _value(rest) if equals else _NAMELESS.get(spelling, "ON")
        if spelling.removeprefix(LOOSE) in _PREFIXES_TO_FILES:
            # In the instance's own data directory, wherever the user's are.
            value = PurePosixPath(value).name
        if spelling.startswith(_OF_PLUGINS) or ("." in spelling and LOOSE not in spelling):
            spelling = f"{LOOSE}{spelling}"
        # Loose or not, it is the same setting.
        values[spelling.removeprefix(LOOSE)] = RequestedSetting(
            name=spelling, value=value, origin=Origin.FILE
        )
    if not values:
        elsewhere = f", only in {_headings(others)}" if others else ""
        raise SettingsError(
            f"in {_headings(sorted(sections))} there is no setting{elsewhere}", hint=ASK_THE_SERVER
        )
    return tuple(values.values())


def _lines(text: str, sections: frozenset[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the lines that say something: number, section and what they say."""
    section, beginning = "", 0
    for number, whole in enumerate(text.splitlines(), 1):
        line = whole.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("!"):
            raise SettingsError(
                f"line {number}: '{line}' includes another file, which hone does not follow",
                hint=ASK_THE_SERVER,
            )
        heading = _SECTION.match(line)
        if heading is None:
            if not section:
                raise SettingsError(f"line {number}: '{line}' stands before any [section]")
            if _SPECIAL.fullmatch(section):
                raise SettingsError(
                    f"line {beginning}: hone does not read [{section}], which is for one version"
                    " or one of several servers only",
                    hint=f"put its settings into a subject's own 'settings', and keep to"
                    f" {_headings(sorted(sections))}",
                )
            yield number, section, line
            continue
        section, beginning = heading[1].lower(), number


def _headings(sections: Iterable[str]) -> str:
    return ", ".join(f"[{section}]" for section in sections)


def _value(written: str) -> str:
    value = written.strip()
    quote = value[:1]
    end = value.find(quote, 1) if quote in ("'", '"') else -1
    value = value[1:end] if end > 0 else _COMMENT.sub("", value).strip()
    return _ESCAPED.sub(lambda match: _ESCAPES[match[1]], value)


def unskipped(setting: str, value: str, is_setting: Callable[[str], bool]) -> tuple[str, str]:
    """Return ``NAME = OFF`` for ``skip_NAME``, if NAME alone is a setting; else the same.

    Raises SettingsError for a value that the server would read otherwise than it looks.
    """
    prefix = next((skip for skip in _SKIP if setting.startswith(skip)), "")
    name = setting.removeprefix(prefix)
    if not prefix or is_setting(setting) or not is_setting(name):
        return setting, value
    switched = _SWITCHES.get(value.lower())
    if switched is None:
        raise SettingsError(
            f"'{setting} = {value}' would turn {name} off whatever the value",
            hint=f"write {name} = ON or {name} = OFF",
        )
    return name, switched
