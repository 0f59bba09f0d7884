"""Workload files come from outside: only what is written as it must be is read."""

from __future__ import annotations

import errno
import io
import json
import os
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dbhone.capture.capture import CaptureOptions, capture
from dbhone.errors import HoneError, NoSpaceError, UsageError
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.target.server_target import ServerTarget
from dbhone.measurement.record import Group
from dbhone.workload import suite as suites
from dbhone.workload.drivers.replay import PLUGIN, HalfOfWorkload
from dbhone.workload.replay_file import Half, group_of, parts_of, write_half, writes
from dbhone.workload.suite import ServerSet
from dbhone.workload.task import Scale, Task, plain
from dbhone.workload.workload import Workload
from dbhone.workload.workload_file import (
    WorkloadWriter,
    read_header,
    read_transactions,
    written,
)

LOG = Path(__file__).parents[1] / "golden" / "capture" / "postgresql-15-csvlog.csv"


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    path = tmp_path / "a.workload"
    capture((LOG,), path, CaptureOptions())
    return path


def rewritten(path: Path, header: Any = None, transactions: str | None = None) -> Path:
    """Write the file anew, with another header or other transactions."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name).decode() for name in file.namelist()}
    if header is not None:
        members["workload.json"] = json.dumps({**json.loads(members["workload.json"]), **header})
    if transactions is not None:
        members["transactions.jsonl"] = transactions
    with zipfile.ZipFile(path, "w") as file:
        for name, text in members.items():
            file.writestr(name, text)
    return path


def test_only_its_user_may_read_it(workload: Path) -> None:
    assert workload.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"version": 2}, "has version 2 of the format"),
        ({"format": "other"}, "is not a workload file: format"),
        ({"cut": -1}, "does not end between"),
        ({"more": 1}, "more"),
        ({"templates": [{"pieces": []}]}, "templates"),
    ],
)
def test_a_header_that_is_wrong_is_refused(
    workload: Path, header: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        read_header(rewritten(workload, header))


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "5",
        "[[0, 1, [[99999, 1, 0, []]]]]",
        "[[0, 1, [[0, -1, 0, []]]]]",
        "[[0, 1, [[0, 1, 0, [5]]]]]",
        '[[0, 1, [[0, 1, 0, ["1", "2", "3", "4", "5", "6", "7"]]]]]',
        "[[0, 1, []]]",
        "[" * 100_000,
    ],
)
def test_a_transaction_that_is_wrong_is_refused(workload: Path, line: str) -> None:
    rewritten(workload, transactions=line + "\n")
    with pytest.raises(UsageError, match="line 1 of its transactions is wrong"):
        list(read_transactions(workload, read_header(workload)))


def test_what_is_no_archive_is_refused(workload: Path) -> None:
    whole = workload.read_bytes()
    for content in (b"", b"PK", whole[: len(whole) // 2], whole[:-100]):
        workload.write_bytes(content)
        with pytest.raises(UsageError, match="workload file"):
            read_header(workload)


@pytest.mark.parametrize(("at", "value"), [(8, 1), (10, 14)])
def test_an_archive_that_is_encrypted_or_packed_in_another_way_is_refused(
    workload: Path, at: int, value: int
) -> None:
    archive = bytearray(workload.read_bytes())
    archive[archive.index(b"PK\x01\x02") + at] = value
    workload.write_bytes(archive)
    with pytest.raises(UsageError, match="packed in another way"):
        read_header(workload)


def test_it_is_a_suite_of_two_halves_with_the_heaviest_statements_as_parts(workload: Path) -> None:
    suite = suites.load(str(workload))
    assert suite.measured() == ("earlier", "later")
    assert suite.protocols == ("postgresql",)
    parts, numbers = parts_of(read_header(workload))
    assert suite.sets["later"].keys() == ("", *(part.key for part in parts))
    assert len(parts) == 11
    assert parts[-1].key == "rest"
    assert max(numbers) == len(parts) - 1
    assert sum(float(part.title.partition("%")[0]) for part in parts) == pytest.approx(100, abs=1)


def test_a_template_whose_transactions_are_all_left_out_is_no_part(workload: Path) -> None:
    header = read_header(workload)
    dead, living = header.templates[0], header.replayed()[1][0]
    templates = (dead.model_copy(update={"executions": 0}), *header.templates[1:])
    less = header.model_copy(update={"templates": templates})
    assert dead not in [template for template, _ in less.replayed()]
    titles = " ".join(part.title for part in parts_of(less)[0])
    assert living.text[:20] in titles
    assert len(parts_of(less)[1]) == len(header.templates)
    assert sum(weight for _, weight in less.replayed()) == pytest.approx(1)


def test_each_kind_of_statement_is_a_set_on_request(workload: Path) -> None:
    suite = suites.load(str(workload))
    parts, _ = parts_of(read_header(workload))
    assert suite.measurable() == ("earlier", "later", *(part.key for part in parts))
    for number, part in enumerate(parts):
        declared = suite.sets[part.key]
        assert isinstance(declared, ServerSet)
        job = PLUGIN.job({name: declared.driver_keys[name] for name in ("half", "part")})
        assert job == HalfOfWorkload(half=Half.EARLIER, part=number)


def test_a_set_on_request_takes_part_where_an_experiment_names_it(workload: Path) -> None:
    target = ServerTarget.__new__(ServerTarget)
    target.suite, target.driver = suites.load(str(workload)), PLUGIN
    name = target.suite.measurable()[2]
    asked = Workload(name=str(workload), scale=Scale(size="smoke"), sets=("later", name))
    target.experiment = cast(Experiment, SimpleNamespace(workload=asked))
    assert target._common_sets(iter([workload.parent])) == ("later", name)


def test_the_statements_of_one_kind_are_work_of_the_earlier_half(workload: Path) -> None:
    suite = suites.load(str(workload))
    first, second, *_ = (name for name in suite.measurable() if suite.is_on_request(name))
    assert suite.sharing(first) == {"earlier", first}
    assert suite.sharing("later") == {"later"}
    assert {"earlier", first, second} <= suite.sharing("earlier")
    assert "later" not in suite.sharing("earlier")


def test_a_replay_tells_how_many_transactions_it_has(workload: Path, tmp_path: Path) -> None:
    dump = tmp_path / "a.dump"
    dump.touch()
    suite = suites.load(str(workload))
    names = ("later", "earlier", suite.measurable()[2])
    asked = Workload(name=str(workload), scale=Scale(size="smoke", data={"dump": str(dump)}))
    found = {task.set: PLUGIN.distinct_events(task) for task in asked.tasks(names)}
    transactions = read_header(workload).transactions
    part = found.pop(names[-1])
    assert found == {"later": transactions // 2, "earlier": transactions // 4}
    assert part is not None
    assert 0 <= part <= transactions // 4


def test_a_training_on_it_is_another_when_the_workload_or_the_dump_changes(
    workload: Path, tmp_path: Path
) -> None:
    dump = tmp_path / "a.dump"
    dump.touch()
    given = Scale(size="smoke", data={"dump": str(dump)})

    def task() -> Task:
        return Workload(name=str(workload), scale=given).tasks(("earlier",))[0]

    before = plain(task())
    decisive = {path.name for path in PLUGIN.run_scripts(task())}
    assert {workload.name, "replay.lua", "transactions.lua", "counting.lua"} <= decisive
    assert plain(task()) == before
    dump.write_text("another")
    assert plain(task()) != before


def test_both_halves_are_written_for_clients(workload: Path, tmp_path: Path) -> None:
    header = read_header(workload)
    sizes = []
    for half in Half:
        write_half(workload, header, half, tmp_path / half)
        data = (tmp_path / half).read_bytes()
        assert data[:8] == b"DBHONE-1"
        sizes.append(int.from_bytes(data[12:16], "little"))
    assert sum(sizes) >= header.sessions


@pytest.mark.parametrize(
    ("number", "error"), [(errno.ENOSPC, NoSpaceError), (errno.EIO, UsageError)]
)
def test_a_line_that_cannot_be_written_is_no_fault_of_the_log(
    number: int, error: type[HoneError]
) -> None:
    class Failing(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(number, os.strerror(number))

    with pytest.raises(error, match="writ"):
        WorkloadWriter(Failing(), Path("shop.workload")).line("[]\n")


def test_two_captures_into_one_file_do_not_mix(workload: Path, tmp_path: Path) -> None:
    path = tmp_path / "b.workload"
    with written(path) as first, written(path) as second:
        for number, writer in enumerate((first, second)):
            writer.line(f"[{number}]\n")
            writer.header = read_header(workload)
    with zipfile.ZipFile(path) as file:
        assert file.read("transactions.jsonl") == b"[0]\n"
    assert {each.name for each in tmp_path.iterdir()} == {"a.workload", "b.workload"}


@pytest.mark.parametrize("limit", ["LONGEST_LINE", "LONGEST_HEADER"])
def test_what_could_not_be_read_again_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(f"dbhone.workload.workload_file.{limit}", 100)
    with pytest.raises(UsageError, match=r"a\.workload: .*could not be read"):
        capture((LOG,), tmp_path / "a.workload", CaptureOptions())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("SELECT 1 FROM item WHERE id = ?", Group.POINT),
        ("WITH recent AS (SELECT ?) SELECT 1 FROM recent", Group.POINT),
        ("WITH gone AS (DELETE FROM item RETURNING id) SELECT 1 FROM gone", Group.WRITE),
        ("UPDATE item SET stock = ?", Group.WRITE),
        ("COMMIT", Group.WRITE),
        ("/*+ SeqScan(item) */ SELECT 1 FROM item", Group.POINT),
        ("/*+ SeqScan(item) */ WITH a AS (DELETE FROM item) SELECT 1 FROM a", Group.WRITE),
        ("SET STATEMENT max_statement_time = ? FOR SELECT sum(id) FROM item", Group.AGGREGATE),
        ("SET STATEMENT max_statement_time = ? FOR UPDATE item SET id = ?", Group.WRITE),
    ],
)
def test_the_group_of_a_statement(text: str, group: Group) -> None:
    assert group_of(text) is group


def test_a_workload_that_only_reads_writes_nothing_though_it_commits() -> None:
    reads = (
        "BEGIN",
        "SET LOCAL work_mem = ?",
        "SELECT 1",
        "WITH a AS (SELECT 1) TABLE a",
        "COMMIT",
    )
    assert not writes(reads)
    assert writes((*reads, "CALL restock(?)"))
    assert writes((*reads, "SET STATEMENT a = ? FOR DELETE FROM item"))
