"""Known versions: what ships can be meant, and a user's file adds to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.errors import UnknownName, UsageError
from dbhone.home import Home
from dbhone.source.kinds.base import kind_of, parse_reference
from dbhone.source.known_versions import KnownVersions, known_versions


@pytest.fixture
def shipped() -> KnownVersions:
    return known_versions()


def _with(tmp_path: Path, text: str) -> KnownVersions:
    (tmp_path / "versions.toml").write_text(text)
    return known_versions(Home(tmp_path))


def test_what_ships_comes_from_sources_that_bring_programs(shipped: KnownVersions) -> None:
    for each in shipped.versions:
        assert kind_of(parse_reference(each.source).kind).ready_made
        assert not each.of_user


@pytest.mark.parametrize("dbms", ["mysql", "mariadb", "postgresql"])
def test_a_history_of_each_server_can_be_made_of_what_ships(
    dbms: str, shipped: KnownVersions
) -> None:
    assert sum(each.usual for each in shipped.of(dbms)) >= 3


def test_versions_are_sorted_by_age_not_by_letters(shipped: KnownVersions) -> None:
    names = [each.name for each in shipped.of("postgresql")]
    assert names[:3] == ["9.6.24", "10.23", "11.22"]
    names = [each.name for each in shipped.of("mariadb")]
    assert names.index("10.2.11") < names.index("10.11.5")


def test_a_series_means_its_newest_version(shipped: KnownVersions) -> None:
    assert shipped.find("postgresql", "13").name.startswith("13.")
    assert shipped.find("mysql", "5.7").name == "5.7.22"
    assert shipped.find("mysql", "5.7.19").name == "5.7.19"


def test_known_stands_for_the_source_of_a_version(shipped: KnownVersions) -> None:
    assert shipped.meaning("known:mysql@5.7.22") == shipped.find("mysql", "5.7.22").source
    assert shipped.meaning("dir:/opt/mysql") == "dir:/opt/mysql"


@pytest.mark.parametrize(
    ("reference", "said", "next_"),
    [
        ("known:mysql@8.0.13", "there is no known version of mysql '8.0.13'", "8.0.12"),
        ("known:mysq@8.0", "there is no DBMS 'mysq'", "mysql"),
        ("known:mysql", "'known:mysql' names no version", "known:DBMS@VERSION"),
        ("known:mysql@", "'known:mysql@' names no version", "known:DBMS@VERSION"),
    ],
)
def test_what_is_not_known_is_reported_with_the_nearest(
    reference: str, said: str, next_: str, shipped: KnownVersions
) -> None:
    with pytest.raises(UsageError) as error:
        shipped.meaning(reference)
    assert error.value.message == said
    assert error.value.hint is not None
    assert next_ in error.value.hint


@pytest.mark.parametrize(
    ("reference", "next_"),
    [
        ("known:mariadb@10.4", "the nearest known are 10.2.11 and 10.11.5; "),
        ("known:mariadb@5.5", "the nearest known is 10.1.8; "),
        ("known:mysql@8.0.9", "the nearest known are 5.7.22 and 8.0.12; "),
        ("known:postgresql@99", "the nearest known is 18.6; "),
        ("known:sqlite@3.40", "no version of sqlite is known: "),
        ("known:mysql@trunc", "did you mean 'trunk'?"),
    ],
)
def test_the_nearest_of_a_number_are_the_next_older_and_the_next_newer(
    reference: str, next_: str, tmp_path: Path
) -> None:
    known = _with(tmp_path, '[mysql.trunk]\nsource = "dir:/opt/mysql"\n')
    with pytest.raises(UnknownName) as error:
        known.meaning(reference)
    assert error.value.hint is not None
    assert error.value.hint.startswith(next_)
    assert ("versions.toml" in error.value.hint) is ("trunk" not in next_)


def test_a_users_file_adds_versions_and_goes_before_what_ships(
    tmp_path: Path, shipped: KnownVersions
) -> None:
    known = _with(
        tmp_path,
        '[mysql."5.7.22"]\nsource = "dir:/opt/mysql"\nhistory = false\n'
        '[mysql."8.4.0"]\nsource = "git:https://example.org/m@mysql-8.4.0"\nnote = "ours"\n',
    )
    assert len(known.versions) == len(shipped.versions) + 1
    changed, added = known.find("mysql", "5.7.22"), known.of("mysql")[-1]
    assert (changed.source, changed.usual, changed.of_user) == ("dir:/opt/mysql", False, True)
    assert (added.name, added.note, added.usual, added.of_user) == ("8.4.0", "ours", True, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[mysql", "is not valid TOML"),
        ('[mysql."1"]\nurl = "x"', "mysql.1.source: field required"),
        ('[mysql."1"]\nsource = "dir:/x"\nnot = 1', "mysql.1.not: extra inputs"),
        ('[mysql."1"]\nsource = "ftp:x"', "mysql.1: there is no source kind 'ftp'"),
        ('[oracle."1"]\nsource = "dir:/x"', "there is no DBMS 'oracle'"),
        ('[mysql."a b"]\nsource = "dir:/x"', "'a b' cannot be the name of a version"),
        ('[mysql."control"]\nsource = "dir:/x"', "'control' cannot be the name of a version"),
        ("mysql = 3", "mysql: write a table, such as {"),
    ],
)
def test_a_users_file_that_is_malformed_is_reported_with_its_place(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(UsageError) as error:
        _with(tmp_path, text)
    assert str(tmp_path / "versions.toml") in error.value.message
    assert said in error.value.message


def test_a_file_that_is_no_text_is_reported(tmp_path: Path) -> None:
    (tmp_path / "versions.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="is not a text file"):
        known_versions(Home(tmp_path))


def test_an_unknown_version_is_an_unknown_name(shipped: KnownVersions) -> None:
    with pytest.raises(UnknownName):
        shipped.find("postgresql", "8.1")
