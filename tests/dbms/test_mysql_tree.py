"""Whose a source tree of MySQL's kind is, and whose a server that prints its version."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone import registry
from dbhone.dbms._mysql_server import MysqlServer
from dbhone.dbms._mysql_tree import Vendor, identify, version_of
from dbhone.dbms.base import DRAWER, Dbms
from dbhone.dbms.mariadb import PLUGIN as MARIADB
from dbhone.dbms.myrocks import PLUGIN as MYROCKS
from dbhone.dbms.mysql import PLUGIN as MYSQL
from dbhone.dbms.percona import PLUGIN as PERCONA
from dbhone.errors import SourceError
from tests.dbms import mysql_trees as trees
from tests.dbms.mysql_trees import Tree
from tests.files import put

PLUGINS = {each.vendor: each for each in (MYSQL, PERCONA, MYROCKS)}


@pytest.mark.parametrize(
    ("tree", "vendor", "version"),
    [
        (trees.MYSQL_56, Vendor.MYSQL, "5.6.51"),
        (trees.MYSQL_80, Vendor.MYSQL, "8.0.39"),
        (Tree(version="8.0.4", extra="-rc"), Vendor.MYSQL, "8.0.4-rc"),
        (trees.PERCONA_80, Vendor.PERCONA, "8.0.36-28"),
        (Tree(version="5.6.51", extra="-rel91.0"), Vendor.PERCONA, "5.6.51-rel91.0"),
        (trees.PERCONA_84, Vendor.PERCONA, "8.4.7-7"),
        (trees.MYROCKS_56, Vendor.MYROCKS, "5.6.35"),
        (trees.MYROCKS_80, Vendor.MYROCKS, "8.0.32"),
    ],
)
def test_a_tree_says_whose_it_is(tmp_path: Path, tree: Tree, vendor: Vendor, version: str) -> None:
    written = tree.write(tmp_path / "tree")
    found = identify(written)
    assert found is not None
    assert (found.vendor, found.version) == (vendor, version)
    assert PLUGINS[vendor].version(written) == version


def test_no_tree_is_taken_by_two(tmp_path: Path) -> None:
    everybody = registry.load_all(DRAWER, Dbms, what="DBMS")
    for number, tree in enumerate((trees.MYSQL_57, trees.PERCONA_84, trees.MYROCKS_80)):
        written = tree.write(tmp_path / str(number))
        takers = [name for name, dbms in everybody.items() if _takes(dbms, written)]
        assert len(takers) == 1


def _takes(dbms: Dbms, tree: Path) -> bool:
    try:
        dbms.version(tree)
    except SourceError:
        return False
    return True


def test_the_tree_of_another_maker_is_told_with_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"source tree of Percona Server 8\.0\.36-28") as caught:
        MYSQL.version(trees.PERCONA_80.write(tmp_path / "tree"))
    assert caught.value.hint == 'say dbms = "percona"'


def test_mariadbs_tree_is_told_as_such(tmp_path: Path) -> None:
    text = "MYSQL_VERSION_MAJOR=11\nMYSQL_VERSION_MINOR=4\nMYSQL_VERSION_PATCH=5\n"
    put(tmp_path / "VERSION", f"{text}SERVER_MATURITY=stable\n")
    assert MARIADB.version(tmp_path) == "11.4.5"
    with pytest.raises(SourceError, match=r"source tree of MariaDB 11\.4\.5"):
        version_of(tmp_path, Vendor.MYSQL)


@pytest.mark.parametrize("text", ["", "3.40.1\n", "MYSQL_VERSION_MAJOR=8\n"])
def test_a_tree_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    put(tmp_path / "VERSION", text)
    with pytest.raises(SourceError, match="not MySQL's source tree"):
        MYSQL.version(tmp_path)


SAID = {
    "mysqld  Ver 8.0.12 for Linux on x86_64 (MySQL Community Server - GPL)": ("mysql", "8.0.12"),
    "mysqld  Ver 5.6.14 for Linux on x86_64 (MySQL Community Server (GPL))": ("mysql", "5.6.14"),
    "/x/bin/mysqld  Ver 8.0.39 for Linux on x86_64 (Source distribution)": ("mysql", "8.0.39"),
    "mysqld  Ver 8.0.36-0ubuntu0.22.04.1 for Linux on x86_64 ((Ubuntu))": ("mysql", "8.0.36"),
    "mysqld  Ver 9.7.2-4 for Linux on x86_64 ((Debian))": ("mysql", "9.7.2"),
    "mysqld  Ver 10.3.39-MariaDB-0+deb10u1 for debian-linux-gnu on x86_64 ((Debian))": (
        "mariadb",
        "10.3.39",
    ),
    "mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28, Revision 4)": (
        "percona",
        "8.0.36-28",
    ),
    "mysqld  Ver 5.6.51-rel91.0 for Linux on x86_64 (Percona Server (GPL), Release rel91.0)": (
        "percona",
        "5.6.51-rel91.0",
    ),
    "mysqld  Ver 8.4.7-7 for Linux on x86_64 (Source distribution)": ("percona", "8.4.7-7"),
    "mysqld  Ver 8.0.32 for Linux on x86_64 (MyRocks)": ("myrocks", "8.0.32"),
    "mariadbd  Ver 10.11.5-MariaDB for Linux on x86_64 (Source distribution)": (
        "mariadb",
        "10.11.5",
    ),
}


@pytest.mark.parametrize("printed", SAID)
def test_a_server_is_known_by_what_it_prints_and_to_one_alone(printed: str) -> None:
    known = {
        each.name: each.version_in(printed)
        for each in (MYSQL, PERCONA, MYROCKS, MARIADB)
        if each.version_in(printed)
    }
    assert known == dict([SAID[printed]])


def test_all_of_mysqls_kind_know_their_maker() -> None:
    assert all(
        isinstance(each, MysqlServer) and each.name == each.vendor for each in PLUGINS.values()
    )
