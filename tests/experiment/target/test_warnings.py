"""The footnotes: settings that differ, conditions, host noise, and short slices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from dbhone.dbms._mysql_protocol import MYSQL
from dbhone.dbms._postgresql_protocol import POSTGRESQL
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.target.warnings import (
    ServerSetup,
    changed_settings,
    failure_notes,
    host_noise_notes,
    hybrid_notes,
    settings_notes,
    setup_notes,
    slice_notes,
    stall_notes,
)
from dbhone.instance.settings import ResolvedSettings, Translated
from dbhone.measurement.record import Sliced, Warning
from dbhone.measurement.store import Done
from tests.experiment.experiment_files import GOOD_SERVERS
from tests.measurement.store_records import a_slice


def texts(warnings: Iterable[Warning]) -> dict[str, str]:
    return {each.code: each.text for each in warnings}


def codes(warnings: Iterable[Warning]) -> list[str]:
    return list(texts(warnings))


def setup(title: str, **chosen: object) -> ServerSetup:
    protocol = POSTGRESQL if title.startswith("PostgreSQL") else MYSQL
    settings = ResolvedSettings(**({"values": {}} | chosen))  # type: ignore[arg-type]
    return ServerSetup(title=title, protocol=protocol, chosen=settings)


def test_no_note_replaces_another() -> None:
    busy = {
        "translated": (Translated("a", "1", {"b": "1"}), Translated("c", "1", {"d": "1"})),
        "dropped": ("e", "f"),
        "ignored": ("g", "h"),
    }
    setups = {
        "x": setup("MySQL 8.0.12", **busy, unproposed=("i",)),
        "y": setup("MySQL 5.7.22", **busy, unproposed=("j",)),
    }
    notes = settings_notes(setups)
    assert len({(each.code, each.subject) for each in notes}) == len(notes) == 6


def test_commits_that_do_not_wait_for_the_disk_are_told_with_the_setting() -> None:
    setups = {
        "pg": setup("PostgreSQL 15.18", values={"synchronous_commit": "off"}),
        "my": setup("MySQL 8.0.36", values={"innodb_flush_log_at_trx_commit": "1"}),
    }
    (note,) = settings_notes(setups)
    assert (note.code, note.subject) == ("asynchronous-commits", None)
    assert note.text.startswith(
        "commits of pg did not wait for the disk (synchronous_commit = off)"
    )
    (note,) = settings_notes({"pg": setups["pg"]})
    assert note.text.startswith("commits did not wait")
    assert settings_notes({"my": setups["my"]}) == ()
    logged = {"innodb_flush_log_at_trx_commit": "2", "log_bin": "binlog", "sync_binlog": "1"}
    assert settings_notes({"my": setup("MySQL 8.0.36", values=logged)}) == ()


def test_servers_with_the_same_settings_need_no_note() -> None:
    alike = {"unproposed": ("feedback",)}
    assert (
        settings_notes({"a": setup("MySQL 5.7.22", **alike), "b": setup("MySQL 8.0.12", **alike)})
        == ()
    )


def test_a_translation_is_told_with_what_it_became() -> None:
    translated = (
        Translated("tx_isolation", "SERIALIZABLE", {"transaction_isolation": "SERIALIZABLE"}),
        Translated("innodb_redo_log_capacity", "8G", {}),
    )
    (note,) = settings_notes({"my80": setup("MySQL 8.0.12", translated=translated)})
    assert (note.code, note.subject) == ("setting-translated", "my80")
    assert note.text == (
        "my80: MySQL 8.0.12 has other names for some settings: tx_isolation = SERIALIZABLE is set"
        " as transaction_isolation = SERIALIZABLE; innodb_redo_log_capacity is left to the settings"
        " that stand for it"
    )


def test_what_was_dropped_is_told_of_each_subject() -> None:
    notes = settings_notes(
        {
            "a": setup("MySQL 5.6.14", dropped=("innodb_page_cleaners", "log_timestamps")),
            "b": setup("MySQL 5.7.22"),
            "c": setup("MySQL 8.0.12", dropped=("sync_frm",)),
        }
    )
    assert [(each.code, each.text, each.subject) for each in notes] == [
        (
            "setting-dropped",
            "a ran without innodb_page_cleaners, log_timestamps: this MySQL 5.6.14 has no such"
            " settings",
            "a",
        ),
        ("setting-dropped", "c ran without sync_frm: this MySQL 8.0.12 has no such setting", "c"),
    ]


def test_what_a_settings_file_could_not_decide_is_told_once() -> None:
    ignored = {"ignored": ("datadir", "port")}
    (note,) = settings_notes(
        {"a": setup("MySQL 5.7", **ignored), "b": setup("MySQL 8.0", **ignored)}
    )
    assert note.subject is None
    assert note.text.endswith("belong to one server alone: datadir, port")


def test_proposals_that_some_versions_lack_are_told_in_one_note() -> None:
    (note,) = settings_notes(
        {
            "my56": setup("MySQL 5.6.14", unproposed=("mysqlx",)),
            "my57": setup("MySQL 5.7.22"),
            "my80": setup("MySQL 8.0.12", unproposed=("query_cache_type", "query_cache_size")),
            "my84": setup("MySQL 8.4.0", unproposed=("query_cache_type", "query_cache_size")),
        }
    )
    assert (note.code, note.subject) == ("settings-differ", None)
    assert note.text == (
        "not all versions have what hone sets by itself, so these ran with fewer settings than the"
        " others: my56 without mysqlx; my80, my84 without query_cache_type, query_cache_size"
    )


def test_servers_of_different_kinds_are_not_held_against_each_other() -> None:
    setups = {
        "pg": setup("PostgreSQL 9.6.24", unproposed=("jit",)),
        "my": setup("MySQL 8.0.12", unproposed=("query_cache_type",)),
    }
    assert settings_notes(setups) == ()


def test_settings_that_changed_since_a_run_began_are_named() -> None:
    before = {"sync_binlog": "0", "jit": "off", "work_mem": "4MB"}
    assert changed_settings(before, dict(before)) == ()
    assert changed_settings(before, {"sync_binlog": "1", "jit": "off", "port": "1"}) == (
        *("port", "sync_binlog", "work_mem"),
    )


AWAKE = parse(f"{GOOD_SERVERS}\n[design]\nawake = true\n", name="x.toml")
COLD = parse(GOOD_SERVERS.replace("os-cached", "cold"), name="x.toml")
ONE = parse(f'{GOOD_SERVERS}\n[design]\nservers = "one"\n', name="x.toml")
PLAIN = parse(GOOD_SERVERS, name="x.toml")


def test_a_footnote_names_the_conditions() -> None:
    assert codes(setup_notes(AWAKE)) == ["awake"]
    assert codes(setup_notes(COLD)) == ["cold"]
    assert codes(setup_notes(ONE)) == ["one-server"]
    assert list(setup_notes(PLAIN)) == []


def test_cpus_of_several_kinds_are_told_with_what_keeps_to_the_fastest() -> None:
    usable = frozenset(range(8))
    (note,) = hybrid_notes(usable, frozenset(range(4)))
    assert note.code == "hybrid-cpu"
    assert note.text.endswith("to use the fastest only: taskset -c 0-3 hone ...")
    assert not list(hybrid_notes(usable, usable))


def done(**conditions: float) -> Done:
    return Done(
        block=0,
        set="main",
        subject="rel",
        position=0,
        started_at=datetime.now(UTC),
        seconds=1.0,
        failure=None,
        conditions=conditions,
    )


def test_other_load_is_reported_with_its_mean_and_its_most() -> None:
    found = texts(host_noise_notes([done(others_cores=0.1), done(others_cores=0.9)]))
    assert found == {
        "other-load": "other processes kept 0.50 cores busy while it was measured (up to 0.90)"
    }


def test_a_quiet_machine_has_no_footnote() -> None:
    assert not list(host_noise_notes([done(others_cores=0.02, steal=0.0)]))
    assert not list(host_noise_notes([]))
    assert not list(host_noise_notes([done()]))


def test_steal_is_reported() -> None:
    assert "2.0% of the CPU time" in texts(host_noise_notes([done(steal=0.02)]))["steal"]


def test_memory_that_was_short_is_reported_and_waits_for_a_disk_are_not() -> None:
    seen = [done(pressure_memory=share, pressure_io=0.9) for share in (0.0, 0.1)]
    assert texts(host_noise_notes(seen)) == {
        "memory-pressure": "for 5.0% of the time programs waited for memory (up to 10.0%): the"
        " machine swapped, or read again what it had just dropped from its cache"
    }


def test_a_subject_that_failed_is_told_with_where_how_often_and_how_the_last_time() -> None:
    crashes = {(1, "cte"): "it crashed", (2, "main"): "it hung", (3, "cte"): "it died"}
    records = [
        replace(done(), block=block, set=name, failure=crashes.get((block, name)))
        for block in range(4)
        for name in ("main", "cte")
    ]
    sound = [replace(record, subject="other", failure=None) for record in records]
    (note,) = failure_notes([*records, *sound])
    assert (note.code, note.subject) == ("failed-invocations", records[0].subject)
    where = "cte in 2 of 4 blocks, main in 1 of 4 blocks"
    assert note.text.startswith(f"{note.subject} failed on {where} and has no figures of these")
    assert note.text.endswith("the last time: it died")


def sliced(block: int, subject: str, left_out: int) -> Sliced:
    slices = tuple(a_slice(number, counted=number >= left_out) for number in range(10))
    return Sliced(block=block, set="point-query", subject=subject, slices=slices)


def test_notes_tell_of_slices_and_how_many_rounds_were_left_out() -> None:
    assert list(slice_notes([])) == []
    notes = texts(slice_notes([sliced(0, "a", 0), sliced(0, "b", 0)]))
    assert set(notes) == {"short-slices"}
    assert "a slice took 0.25 s, and a step had 10 rounds in a block" in notes["short-slices"]
    notes = texts(slice_notes([sliced(0, "a", 2), sliced(0, "b", 2), sliced(1, "a", 1)]))
    assert notes["unsettled"].startswith("3 of 20 rounds at the start of trials were discarded")
    notes = texts(slice_notes([sliced(0, "a", 1), sliced(0, "b", 1)]))
    assert notes["unsettled"].startswith("1 of 10 rounds at the start of trials was discarded")


def running(subject: str, operations: Sequence[int], seconds: float = 0.25) -> Sliced:
    slices = tuple(
        replace(a_slice(number), operations=count, seconds=seconds)
        for number, count in enumerate(operations)
    )
    return Sliced(block=0, set="insert", subject=subject, slices=slices)


def test_a_subject_that_stands_still_is_told_with_what_that_costs() -> None:
    usual = [100, 102, 98, 100] * 5
    now_and_then = [*usual[:18], 0, 0]
    (note,) = stall_notes([running("rel", usual), running("pgo", now_and_then)])
    assert (note.code, note.subject) == ("stalls", "pgo")
    assert "stalled in 2 of 20 slices of insert (0.5 of 5 s)" in note.text
    assert "which costs it 10% of its throughput there" in note.text
    assert "their intervals allow for chance in how often it stalled" in note.text


def test_a_moment_that_the_machine_took_from_one_subject_is_no_stall() -> None:
    usual, hiccups = [100, 102, 98, 100] * 5, [100, 20, 98, 10] * 5
    assert not list(stall_notes([running("rel", usual, 0.1), running("pgo", hiccups, 0.1)]))
    stall = [*usual[:16], 10, 5, 0, 10]
    (note,) = stall_notes([running("rel", usual, 0.1), running("pgo", stall, 0.1)])
    assert "stalled in 4 of 20 slices of insert (0.4 of 2 s)" in note.text


def test_what_stops_all_subjects_is_no_stall_of_one() -> None:
    usual = [100, 102, 98, 100] * 5
    stopped = [*usual[:18], 1, 1]
    assert not list(stall_notes([running("rel", stopped), running("pgo", stopped)]))
    assert not list(stall_notes([running("rel", usual), running("pgo", usual)]))
    assert not list(stall_notes([]))
