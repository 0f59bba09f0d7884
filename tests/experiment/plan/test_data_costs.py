"""What a server's loaded data is expected to cost: by kept data, by data like it, or by a guess."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.dbms.base_server import load_server_dbms
from dbhone.experiment.plan.data_costs import DataEstimator
from dbhone.experiment.plan.plan import DataCost
from dbhone.experiment.target.server_pool import data_name, identity_of
from dbhone.instance.data_facts import DataFacts, note_load
from dbhone.session import Session
from dbhone.workload.task import Scale
from dbhone.workload.workload import Workload

SUITE = "sysbench:micro"
SMOKE = Scale(size="smoke", data={"rows": 10_000})
SOURCE = "5" * 64
_MIB = 1024**2


def cost(session: Session, scale: Scale = SMOKE, version: str = "8.0.45") -> DataCost:
    workload = Workload(name=SUITE, scale=scale)
    return DataEstimator(session.home).cost("mysql", version, (), workload, source=SOURCE)


def keep(session: Session, name: str, volume: float, seconds: float, copy: float) -> Path:
    """Keep data of one MiB that took so long to be loaded and copied."""
    folder = session.home.data / name
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "rows").write_bytes(b"x" * _MIB)
    facts = DataFacts(
        dbms="mysql", driver="sysbench", volume=volume, load_seconds=seconds, copy_seconds=copy
    )
    note_load(folder, facts)
    return folder


def test_what_was_never_loaded_is_guessed_and_grows_with_the_rows(session: Session) -> None:
    small = cost(session)
    large = cost(session, Scale(size="smoke", data={"rows": 1_000_000}))
    assert small.load.guessed
    assert large.load.guessed
    assert large.load.seconds > 2 * small.load.seconds
    assert large.size > 2 * small.size


def test_data_like_it_tells_how_long_it_takes_by_its_volume(session: Session) -> None:
    volume = Workload(name=SUITE, scale=SMOKE).data.volume
    keep(session, "mysql-8.0.33-1", volume / 4, 5.0, 0.5)
    expected = cost(session)
    assert expected.load.seconds == pytest.approx(20.0)
    assert not expected.load.guessed
    assert expected.copy_seconds == pytest.approx(2.0, rel=0.05)


def test_data_that_is_far_smaller_tells_nothing(session: Session) -> None:
    volume = Workload(name=SUITE, scale=SMOKE).data.volume
    keep(session, "mysql-8.0.33-1", volume / 100, 5.0, 0.5)
    assert cost(session).load.guessed


def test_kept_data_is_not_loaded_again_where_the_version_is_known(session: Session) -> None:
    workload = Workload(name=SUITE, scale=SMOKE)
    content = workload.data
    identity = identity_of(workload.server_driver, content)
    name = data_name(
        load_server_dbms("mysql"), "8.0.45", (), identity, seed=content.seed, source=SOURCE
    )
    keep(session, name, content.volume, 5.0, 0.5)
    assert cost(session).load.done
    assert cost(session).copy_seconds == pytest.approx(0.5, rel=0.05)
    assert not cost(session, version="").load.done


def test_a_users_own_data_takes_what_its_files_take(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(Workload(name=SUITE, scale=SMOKE).data), "least_bytes", 2**50)
    assert cost(session).size == 2**50
