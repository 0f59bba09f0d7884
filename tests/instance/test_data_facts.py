"""What is known of kept data: how long it took to be loaded and copied."""

from __future__ import annotations

from pathlib import Path

from dbhone.instance.data_facts import DataFacts, KeptFacts, disk_size, kept_facts, note_copy
from dbhone.instance.data_facts import note_load as note
from dbhone.session import Session

FACTS = DataFacts(dbms="mysql", driver="sysbench", volume=4000.0, load_seconds=8.0)


def kept(session: Session, name: str) -> Path:
    folder = session.home.data / name
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "rows").write_bytes(b"x" * 10_000)
    return folder


def test_the_first_copy_counts_and_facts_are_found_beside_the_data(session: Session) -> None:
    folder = kept(session, "mysql-8.0.45-1")
    note(folder, FACTS)
    note_copy(folder, 0.5)
    note_copy(folder, 0.1)
    (found,) = kept_facts(session.home)
    assert (found.facts.load_seconds, found.facts.copy_seconds) == (8.0, 0.5)
    assert found.size == disk_size(folder) >= 10_000


def test_data_of_an_older_hone_tells_nothing(session: Session) -> None:
    note_copy(kept(session, "mysql-8.0.45-1"), 0.5)
    (kept(session, "mysql-8.0.45-2") / "facts.json").write_text('{"unheard": 1}')
    assert list[KeptFacts](kept_facts(session.home)) == []


def test_a_home_without_data_has_no_facts(session: Session) -> None:
    assert list(kept_facts(session.home)) == []
