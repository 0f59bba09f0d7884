"""Tasks as plain values, by whose digest a training is known."""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass, replace
from pathlib import Path

from dbhone.files import digest_of
from dbhone.workload.task import ClientRun, Scale, plain
from dbhone.workload.workload import Workload


@dataclass(frozen=True)
class Job:
    name: str
    rows: tuple[int, ...] = ()


def run() -> ClientRun:
    workload = Workload(name="sysbench:micro", scale=Scale(size="smoke"))
    first = workload.tasks(("point-query_range=100",))[0].run
    assert first is not None
    return first


def test_a_field_with_a_default_changes_nothing_until_it_is_used() -> None:
    newer = make_dataclass("Job", [("name", str), ("rows", tuple, ()), ("order", int, 0)])
    assert plain(newer("scan")) == plain(Job("scan"))
    assert plain(newer("scan", order=1)) != plain(Job("scan"))
    assert plain(Job("scan", (1, 2))) == {"kind": "Job", "name": "scan", "rows": [1, 2]}


def test_what_clients_do_and_on_what_is_all_in_it() -> None:
    digests = [
        digest_of(plain(each))
        for each in (
            run(),
            replace(run(), threads=run().threads + 1),
            replace(run(), seconds=run().seconds + 1),
            replace(run(), data=run().data.with_seed(7)),
            replace(run(), job=Job("scan")),
        )
    ]
    assert len(set(digests)) == len(digests)


def test_where_scripts_lie_is_not_in_it() -> None:
    assert str(Path(__file__).parents[2]) not in str(plain(run()))
