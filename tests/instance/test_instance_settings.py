"""Which settings a server gets."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from dbhone.dbms.base_server import Installation, ServerDbms, SizingHints
from dbhone.dbms.base_settings import Origin, RequestedSetting
from dbhone.dbms.mysql import Mysql
from dbhone.errors import SettingsError
from dbhone.instance import settings
from dbhone.instance.settings import ResolvedSettings, choose
from tests.instance import lives
from tests.instance.places import place_below

PLACE = place_below(Path("/i"))
MARIADB = Installation(
    dbms="mariadb", version="10.11.6", prefix=Path("/p"), server=Path("/p/bin/mariadbd")
)
MARIADB_DBMS: ServerDbms = lives.Mariadb()
POSTGRESQL = Installation(
    dbms="postgresql", version="15.1", prefix=Path("/p"), server=Path("/p/bin/postgres")
)
KNOWN = dict.fromkeys(
    (
        *("socket", "datadir", "pid_file", "tmpdir", "skip_networking", "max_connections"),
        *("innodb_buffer_pool_size", "innodb_io_capacity", "sync_binlog", "innodb_doublewrite"),
        *("log_bin", "skip_log_bin", "transaction_isolation", "innodb_log_file_size"),
        "innodb_page_size",
    ),
    "",
)


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(settings._defaults_by_server, MARIADB, KNOWN)


STOCK_FILES = (
    (
        Mysql(),
        """\
[mysqld]
user = mysql
bind-address = 127.0.0.1
mysqlx-bind-address = 127.0.0.1
key_buffer_size = 16M
log_error = /var/log/mysql/error.log
max_binlog_size = 100M
validate_password.policy = STRONG
server_audit_logging = ON
""",
    ),
    (
        MARIADB_DBMS,
        """\
[server]
[mysqld]
pid-file = /run/mysqld/mysqld.pid
basedir = /usr
bind-address = 127.0.0.1
expire_logs_days = 10
character-set-server = utf8mb4
[embedded]
[mariadb]
# Only MariaDB 10.11 reads what follows.
[mariadb-10.11]
""",
    ),
)
"""Like what Ubuntu has for MySQL, with plugins, and Debian for MariaDB."""


def asked_by(origin: Origin, **wanted: str) -> list[RequestedSetting]:
    return [
        RequestedSetting(name=name, value=value, origin=origin) for name, value in wanted.items()
    ]


def chosen_of(
    *wanted: RequestedSetting, drop_unknown: bool = False, **proposed: str
) -> ResolvedSettings:
    return choose(
        MARIADB_DBMS, MARIADB, PLACE, proposed=proposed, wanted=wanted, drop_unknown=drop_unknown
    )


def chosen(
    wanted: dict[str, str], *, drop_unknown: bool = False, **proposed: str
) -> ResolvedSettings:
    said = asked_by(Origin.EXPERIMENT, **wanted)
    return chosen_of(*said, drop_unknown=drop_unknown, **proposed)


def test_what_is_wanted_goes_before_what_is_proposed() -> None:
    values = chosen({"sync-binlog": "1"}, sync_binlog="0", max_connections="7").values
    assert (values["sync_binlog"], values["max_connections"]) == ("1", "7")


def test_what_hone_insists_on_is_always_there() -> None:
    values = chosen({}).values
    assert values["socket"] == "/i/run/mysql.sock"
    assert values["skip_networking"] == "ON"


def test_a_proposal_that_the_version_lacks_is_left_out_and_named() -> None:
    assert chosen({}, query_cache_size="0").values == chosen({}).values
    assert chosen({}, query_cache_size="0").unproposed == ("query_cache_size",)


def test_a_wanted_setting_that_the_version_lacks_is_refused_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match=r"MariaDB 10\.11\.6 has no setting") as caught:
        chosen({"innodb_buffer_pool_sice": "1G"})
    assert caught.value.hint == "did you mean 'innodb_buffer_pool_size' or 'innodb_page_size'?"
    assert caught.value.exit_code == 2


def test_it_is_dropped_and_told_if_that_is_allowed() -> None:
    result = chosen({"innodb_rollback": "1", "sync_binlog": "1"}, drop_unknown=True)
    assert result.dropped == ("innodb_rollback",)
    assert "innodb_rollback" not in result.values
    assert result.values["sync_binlog"] == "1"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("socket", "/tmp/mysql.sock"),
        ("skip-networking", "OFF"),
        ("datadir", "/var/lib/mysql"),
        ("PORT", "3306"),
        ("admin-address", "0.0.0.0"),
        ("disable-skip-networking", "1"),
        ("user", "mysql"),
    ],
)
def test_nobody_makes_a_server_less_private(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match="set by hone itself") as caught:
        chosen({name: value}, drop_unknown=True)
    assert caught.value.hint == "leave it out"


def test_to_repeat_what_hone_insists_on_is_no_contradiction() -> None:
    assert chosen({"skip-networking": "ON"}).values == chosen({}).values


def test_one_setting_in_two_spellings_with_two_values_is_refused() -> None:
    with pytest.raises(SettingsError, match="given twice"):
        chosen({"sync-binlog": "1", "sync_binlog": "0"})


def test_a_value_cannot_bring_a_line_of_its_own() -> None:
    with pytest.raises(SettingsError, match="contains a control character"):
        chosen({"sync_binlog": "1\nskip_networking=OFF"})


def test_what_nobody_set_is_told_as_the_server_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {
        "innodb_flush_neighbors": "1",
        "character_sets_dir": "/usr/share/charsets",
        "plugin_load": "/x.so",
        "performance_schema": "ON",
        "performance_schema_digests_size": "5000",
        "max_error_count": "64",
    }
    monkeypatch.setitem(settings._defaults_by_server, MARIADB, {**KNOWN, **own})
    choice = chosen({"max_error_count": "1"}, performance_schema="OFF")
    assert choice.defaults["innodb_flush_neighbors"] == "1"
    assert {*own} & {*choice.defaults} == {"innodb_flush_neighbors"}


def test_who_asks_for_a_character_set_gets_its_own_collation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    proposed = {"character_set_server": "latin1", "collation_server": "latin1_swedish_ci"}
    monkeypatch.setitem(settings._defaults_by_server, MARIADB, {**KNOWN, **proposed})
    propose = partial(chosen, character_set_server="latin1", collation_server="latin1_swedish_ci")
    assert propose({}).values.items() >= proposed.items()
    asked = propose({"character-set-server": "utf8mb4"})
    assert asked.values["character_set_server"] == "utf8mb4"
    assert "collation_server" not in asked.values


class TestOtherVersions:
    def test_a_setting_with_another_name_is_set_under_it_and_told(self) -> None:
        result = chosen({"tx-isolation": "READ-COMMITTED"})
        assert result.values["transaction_isolation"] == "READ-COMMITTED"
        assert "tx_isolation" not in result.values
        (told,) = result.translated
        assert (told.name, told.value) == ("tx_isolation", "READ-COMMITTED")
        assert told.values == {"transaction_isolation": "READ-COMMITTED"}

    def test_one_that_is_gone_is_refused_with_since_when_and_what_to_do(self) -> None:
        with pytest.raises(SettingsError, match="no setting 'innodb_file_format'") as caught:
            chosen({"innodb_file_format": "Barracuda"})
        assert caught.value.hint == (
            "MariaDB has had no such setting since 10.3.1 (there is only Barracuda now): write"
            " loose_innodb_file_format, or drop_unknown = true in [config], to leave it out there"
        )

    def test_a_loose_setting_is_set_where_it_is_known(self) -> None:
        assert chosen({"loose_sync_binlog": "1"}).values["sync_binlog"] == "1"
        assert chosen({"LOOSE-sync-binlog": "1"}).dropped == ()

    def test_a_loose_setting_is_left_out_and_told_where_it_is_not(self) -> None:
        result = chosen({"loose-innodb_numa_interleave": "ON"})
        assert result.dropped == ("innodb_numa_interleave",)
        assert "innodb_numa_interleave" not in result.values

    def test_a_loose_setting_is_translated_too(self) -> None:
        values = chosen({"loose_tx_isolation": "SERIALIZABLE"}).values
        assert values["transaction_isolation"] == "SERIALIZABLE"

    def test_a_loose_setting_cannot_reach_what_is_hone_s(self) -> None:
        with pytest.raises(SettingsError, match="set by hone itself"):
            chosen({"loose_port": "3306"})

    def test_several_log_files_become_one_of_their_size(self) -> None:
        result = chosen({"innodb_log_file_size": "1G", "innodb_log_files_in_group": "4"})
        assert result.values["innodb_log_file_size"] == "4096M"

    def test_a_name_that_a_version_takes_and_ignores_counts_as_unknown(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for version, file_size in (("10.4.12", "512M"), ("10.5.29", "1G")):
            server = replace(MARIADB, version=version)
            names = {**KNOWN, "innodb_log_files_in_group": "2"}
            monkeypatch.setitem(settings._defaults_by_server, server, names)
            choice = choose(
                lives.Mariadb(),
                server,
                PLACE,
                proposed={"innodb_redo_log_capacity": "1G"},
                wanted=(),
                drop_unknown=False,
            )
            assert choice.values["innodb_log_file_size"] == file_size

    def test_a_proposal_is_translated_without_a_word(self) -> None:
        result = chosen({}, innodb_redo_log_capacity="1G")
        assert result.values["innodb_log_file_size"] == "1G"
        assert result.translated == ()
        assert result.unproposed == ()

    def test_all_versions_get_as_much_redo_log(self) -> None:
        proposed = lives.Mariadb().proposed_settings(
            SizingHints(cache_bytes=2**26, connections=9), ""
        )
        whole = proposed["innodb_redo_log_capacity"]
        values = chosen({}, innodb_redo_log_capacity=whole).values
        assert values["innodb_log_file_size"] == whole == "1G"


class TestWhoGoesFirst:
    def test_an_experiment_goes_before_a_file_and_that_before_a_named_config(self) -> None:
        config = asked_by(Origin.CONFIG, sync_binlog="1", max_connections="1", log_bin="a")
        file = asked_by(Origin.FILE, sync_binlog="2", max_connections="2")
        own = asked_by(Origin.EXPERIMENT, **{"Sync-Binlog": "3"})
        values = chosen_of(*own, *config, *file, innodb_io_capacity="9").values
        assert values["sync_binlog"] == "3"
        assert values["max_connections"] == "2"
        assert values["log_bin"] == "a"
        assert values["innodb_io_capacity"] == "9"

    def test_a_proposal_about_the_same_thing_is_withdrawn(self) -> None:
        assert "skip_log_bin" in chosen({}, skip_log_bin="ON").values
        values = chosen({"log_bin": "binlog"}, skip_log_bin="ON").values
        assert "skip_log_bin" not in values
        size = chosen({"innodb_log_file_size": "64M"}, innodb_redo_log_capacity="1G").values
        assert size["innodb_log_file_size"] == "64M"

    def test_what_goes_first_does_so_by_another_name_too(self) -> None:
        config = asked_by(
            Origin.CONFIG,
            innodb_log_file_size="64M",
            innodb_log_files_in_group="4",
            transaction_isolation="SERIALIZABLE",
        )
        own = asked_by(
            Origin.EXPERIMENT, innodb_redo_log_capacity="8G", tx_isolation="READ-COMMITTED"
        )
        values = chosen_of(*own, *config).values
        assert values["innodb_log_file_size"] == "8G"
        assert values["transaction_isolation"] == "READ-COMMITTED"

    def test_a_switch_goes_before_what_it_switches(self) -> None:
        config = asked_by(Origin.CONFIG, log_bin="mysql-bin")
        values = chosen_of(*config, *asked_by(Origin.EXPERIMENT, skip_log_bin="ON")).values
        assert "log_bin" not in values
        assert values["skip_log_bin"] == "ON"

    def test_one_part_of_a_product_leaves_the_other(self) -> None:
        config = asked_by(Origin.CONFIG, innodb_log_file_size="64M", innodb_log_files_in_group="4")
        own = asked_by(Origin.EXPERIMENT, innodb_log_file_size="1G")
        assert chosen_of(*own, *config).values["innodb_log_file_size"] == "4096M"

    def test_what_a_named_config_has_and_the_version_lacks_is_left_out(self) -> None:
        result = chosen_of(*asked_by(Origin.CONFIG, innodb_numa_interleave="ON"))
        assert result.dropped == ("innodb_numa_interleave",)


class TestUsersFile:
    def test_what_hone_decides_is_passed_over_and_told(self) -> None:
        file = asked_by(
            Origin.FILE,
            **{"datadir": "/var/lib/mysql", "port": "3306", "log_error": "/var/log/e"},
            innodb_log_group_home_dir="/fast",
            innodb_page_size="4k",
            sync_binlog="1",
        )
        result = chosen_of(*file)
        assert result.ignored == (*("datadir", "port", "log_error", "innodb_log_group_home_dir"),)
        assert result.values["sync_binlog"] == "1"
        assert result.values["innodb_page_size"] == "4k"
        assert result.values["datadir"] == "/i/data"

    def test_replicas_clusters_and_their_passwords_are_the_user_s_own_server_s(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        of_one_server = {
            "wsrep_provider": "/usr/lib/galera/libgalera_smm.so",
            "wsrep_sst_auth": "sst:secret",
            "report_password": "secret",
            "rpl_semi_sync_master_enabled": "ON",
            "group_replication_group_seeds": "db2:33061",
            "read_only": "ON",
            "super-read-only": "ON",
            "replicate_do_db": "shop",
            "binlog_ignore_db": "mysql",
            "innodb_encrypt_tables": "FORCE",
            "encrypt_tmp_files": "ON",
            "innodb_redo_log_encrypt": "ON",
            "core-file": "ON",
        }
        known = KNOWN | {MARIADB_DBMS.canonical(name): "" for name in of_one_server}
        monkeypatch.setitem(settings._defaults_by_server, MARIADB, known | {"wsrep_on": "ON"})
        result = chosen_of(*asked_by(Origin.FILE, **of_one_server, sync_binlog="1", wsrep_on="ON"))
        assert result.ignored == (*of_one_server, "wsrep_on")
        assert result.values == chosen({"sync_binlog": "1"}).values
        assert result.values["wsrep_on"] == "OFF"
        assert "secret" not in str(result)

    def test_a_former_standby_s_settings_stay_with_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        of_one_server = {
            "primary_conninfo": "user=repl password=secret host=db1",
            "primary_slot_name": "db2",
            "recovery_target_time": "2026-01-01",
            "restore_command": "fetch secret %f",
            "archive_cleanup_command": "clean secret",
            "ssl_passphrase_command": "echo secret",
            "synchronous_standby_names": "*",
            "unix_socket_group": "postgres",
        }
        names = dict.fromkeys((*of_one_server, "shared_buffers", "max_wal_senders"), "")
        monkeypatch.setitem(settings._defaults_by_server, POSTGRESQL, names)
        wanted = asked_by(Origin.FILE, **of_one_server, max_wal_senders="10")
        result = choose(
            lives.Postgresql(), POSTGRESQL, PLACE, proposed={}, wanted=wanted, drop_unknown=False
        )
        assert result.ignored == tuple(of_one_server)
        assert result.values == {"max_wal_senders": "10"}
        assert "secret" not in str(result)

    def test_huge_pages_are_left_to_the_lever_and_to_the_experiment(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = dict.fromkeys(("shared_buffers", "huge_pages"), "")
        monkeypatch.setitem(settings._defaults_by_server, POSTGRESQL, names)
        choose_of = partial(
            choose,
            lives.Postgresql(),
            POSTGRESQL,
            PLACE,
            proposed={"huge_pages": "off"},
            drop_unknown=False,
        )
        file = asked_by(Origin.FILE, huge_pages="try")
        result = choose_of(wanted=file)
        assert (result.values, result.ignored) == ({"huge_pages": "off"}, ("huge_pages",))
        asked = asked_by(Origin.EXPERIMENT, huge_pages="on")
        assert choose_of(wanted=(*file, *asked)).values == {"huge_pages": "on"}
        file = asked_by(Origin.FILE, **{"large-pages": "ON"})
        assert chosen_of(*file).ignored == ("large-pages",)

    def test_events_of_a_copy_run_only_if_the_experiment_asks(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        known = KNOWN | {"event_scheduler": "OFF"}
        monkeypatch.setitem(settings._defaults_by_server, MARIADB, known)
        file = asked_by(Origin.FILE, event_scheduler="ON")
        result = chosen_of(*file, event_scheduler="OFF")
        assert result.values["event_scheduler"] == "OFF"
        assert result.ignored == ("event_scheduler",)
        asked = asked_by(Origin.EXPERIMENT, event_scheduler="ON")
        assert chosen_of(*file, *asked).values["event_scheduler"] == "ON"

    def test_the_log_says_what_hone_reads_in_it(self) -> None:
        wanted = {"log_error_verbosity": "1", "log_warnings": "0", "log_error_services": "x"}
        result = chosen_of(*asked_by(Origin.FILE, **wanted))
        assert result.ignored == tuple(wanted)
        assert result.values == chosen({}).values
        with pytest.raises(SettingsError, match="set by hone itself"):
            chosen(wanted)

    def test_an_unknown_setting_is_an_error_there_too(self) -> None:
        with pytest.raises(SettingsError, match="no setting 'innodb_bufer_pool_size'"):
            chosen_of(*asked_by(Origin.FILE, innodb_bufer_pool_size="1G"))

    def test_all_unknown_settings_are_told_at_once_with_how_to_leave_them_out(self) -> None:
        file = asked_by(Origin.FILE, innodb_bufer_pool_size="1G", sinc_binlog="1")
        said = "no settings 'innodb_bufer_pool_size', 'sinc_binlog'"
        with pytest.raises(SettingsError, match=said) as caught:
            chosen_of(*file)
        assert caught.value.hint == "to leave them out there: drop_unknown = true in [config]"
        with pytest.raises(SettingsError) as caught:
            chosen_of(*file[1:])
        assert caught.value.hint == (
            "did you mean 'sync_binlog'? (to leave it out there: drop_unknown = true in [config])"
        )

    @pytest.mark.parametrize(("dbms", "text"), STOCK_FILES)
    def test_a_file_as_distributions_ship_it_is_taken(
        self, dbms: ServerDbms, text: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = ("key_buffer_size", "max_binlog_size", "character_set_server", "expire_logs_days")
        known = KNOWN | dict.fromkeys(names, "")
        server = replace(MARIADB, dbms=dbms.name)
        monkeypatch.setitem(settings._defaults_by_server, server, known)
        wanted = dbms.read_settings_file(text)
        result = choose(dbms, server, PLACE, proposed={}, wanted=wanted, drop_unknown=False)
        taken = {name: result.values[name] for name in names if name in result.values}
        left_out = {
            "mysql": (
                {"key_buffer_size": "16M", "max_binlog_size": "100M"},
                ("user", "bind_address", "mysqlx_bind_address", "log_error"),
                ("validate_password.policy", "server_audit_logging"),
            ),
            "mariadb": (
                {"character_set_server": "utf8mb4", "expire_logs_days": "10"},
                ("pid_file", "basedir", "bind_address"),
                (),
            ),
        }
        assert (taken, result.ignored, result.dropped) == left_out[dbms.name]


class TestSwitches:
    def test_a_setting_that_is_skipped_is_off(self) -> None:
        assert chosen({"skip-innodb-doublewrite": "ON"}).values["innodb_doublewrite"] == "OFF"
        assert chosen({"disable_innodb_doublewrite": "1"}).values["innodb_doublewrite"] == "OFF"
        assert chosen({"skip_innodb_doublewrite": "0"}).values["innodb_doublewrite"] == "ON"

    def test_what_the_server_would_read_otherwise_than_meant_is_refused(self) -> None:
        with pytest.raises(SettingsError, match="off whatever the value") as caught:
            chosen({"skip_innodb_doublewrite": "off"})
        assert caught.value.hint == "write innodb_doublewrite = ON or innodb_doublewrite = OFF"

    def test_a_name_that_begins_so_by_itself_stays(self) -> None:
        assert chosen({"skip_log_bin": "ON"}).values["skip_log_bin"] == "ON"


def test_a_setting_that_data_is_made_with_can_be_asked_for() -> None:
    assert chosen({"innodb-page-size": "4096"}).values["innodb_page_size"] == "4096"


@pytest.mark.parametrize(("name", "value"), [("max_wal_senders", "10"), ("summarize_wal", "on")])
def test_settings_that_are_valid_only_together_are_decided_together(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = dict.fromkeys(
        ("wal_level", "max_wal_senders", "summarize_wal", "shared_buffers", "jit"), ""
    )
    monkeypatch.setitem(settings._defaults_by_server, POSTGRESQL, names)
    proposed = {"wal_level": "minimal", "max_wal_senders": "0", "jit": "off"}
    wanted = asked_by(Origin.EXPERIMENT, **{name: value})
    values = choose(
        lives.Postgresql(), POSTGRESQL, PLACE, proposed=proposed, wanted=wanted, drop_unknown=False
    ).values
    assert values == {name: value, "jit": "off"}
