"""Sources that the command line gives instead of an experiment file's."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.errors import UnknownName, UsageError
from dbhone.experiment.declaration.load import load_file, load_shipped, with_sources

ONE = """\
title = "One"  # stays

[sources]
mysql = "apt:mysql"     # or dir:PATH

[subjects]
rel = { dbms = "mysql", source = "mysql" }
"""
TWO = '[sources]\nnew = "known:mysql@8.0"\n"o.ld" = "known:mysql@5.7"\n'


def test_nothing_but_the_source_is_changed() -> None:
    found = with_sources(ONE, ["mysql=git:https://example.org/mysql@v1"])
    assert found == ONE.replace("apt:mysql", "git:https://example.org/mysql@v1")


def test_the_only_source_needs_no_name() -> None:
    given = "deb:mysql-server=8.0.39-1"
    assert with_sources(ONE, [given]) == ONE.replace("apt:mysql", given)


def test_several_are_named() -> None:
    found = with_sources(TWO, ["o.ld=deb:mysql=5.6", "new=npm:mysql@9"])
    assert found == '[sources]\nnew = "npm:mysql@9"\n"o.ld" = "deb:mysql=5.6"\n'
    with pytest.raises(UsageError, match=r"there are new, o\.ld"):
        with_sources(TWO, ["apt:mysql"])


def test_they_may_be_written_in_one_line() -> None:
    found = with_sources('sources = { mysql = "apt:mysql" }\n', ["git:URL"])
    assert found == 'sources = { mysql = "git:URL" }\n'


def test_a_name_that_is_not_there_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="there is no source 'mysqld'") as found:
        with_sources(ONE, ["mysqld=apt:mysql"])
    assert "mysql" in (found.value.hint or "")


def test_a_relative_folder_is_beside_the_user_not_beside_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    file = tmp_path / "mine" / "experiment.toml"
    file.write_text(ONE + 'pgo = { like = "rel", variant = "o3" }\n[workload]\n')
    text = file.read_text().replace("[workload]", '[workload]\nsuite = "sysbench:micro"')
    file.write_text('base = "rel"\n' + text)
    monkeypatch.chdir(tmp_path)
    subject, *_ = load_file(file, sources=["dir:tree"]).subjects
    assert subject.inputs.source == f"dir:{tmp_path / 'tree'}"


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("git:.@v1", "git:{here}@v1"),
        ("git:../other.git@main~2", "git:{here}/../other.git@main~2"),
        ("git:https://example.org/mysql@v1", "git:https://example.org/mysql@v1"),
        ("git:me@example.org:mysql.git@v1", "git:me@example.org:mysql.git@v1"),
    ],
)
def test_a_repository_beside_the_user_is_the_same_one_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, taken: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert with_sources(ONE, [given]) == ONE.replace("apt:mysql", taken.format(here=tmp_path))


@pytest.mark.parametrize("text", ["not = = toml", "title = 'x'", "sources = 3"])
def test_what_is_wrong_with_a_file_is_left_to_who_reads_it(text: str) -> None:
    assert with_sources(text, ["apt:mysql"]) == text


def test_a_shipped_experiment_takes_another_source() -> None:
    found = load_shipped("postgresql-builds", sources=["git:https://example.org/postgres@REL_18"])
    assert {each.inputs.source for each in found.subjects} == {
        "git:https://example.org/postgres@REL_18"
    }
    assert "git:https://example.org/postgres@REL_18" in found.text
