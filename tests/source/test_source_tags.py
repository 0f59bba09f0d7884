"""Releases out of a repository's tags."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dbhone.errors import SourceError, UsageError
from dbhone.source import tags
from dbhone.source.tags import tagged_versions

TAGS = (
    *("version-3.8.11", "version-3.38.0", "version-3.38.1", "version-3.40.1", "version-3.45.0"),
    *("version-3.46.0-beta", "nightly", "release", "debian-version-3.40.1"),
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("repository")

    def git(*words: str) -> None:
        user = ("-c", "user.name=a", "-c", "user.email=a@localhost")
        subprocess.run(("git", "-C", str(folder), *user, *words), check=True, capture_output=True)

    git("init", "--quiet")
    git("commit", "--allow-empty", "--message=all")
    for tag in TAGS:
        git("tag", tag)
    return f"git:{folder}"


def names(repository: str, *words: str, every: int = 1) -> list[str]:
    return [version.name for version in tagged_versions("sqlite", repository, words, every)]


def test_releases_are_sorted_by_age_and_what_is_none_is_passed_over(repository: str) -> None:
    assert names(repository) == ["3.8.11", "3.38.0", "3.38.1", "3.40.1", "3.45.0"]


def test_a_release_is_fetched_by_its_own_tag(repository: str) -> None:
    (version,) = tagged_versions("sqlite", repository, ("3.40.1",))
    assert version.source == f"{repository}@version-3.40.1"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("3.38.1..3.45.0",), ["3.38.1", "3.40.1", "3.45.0"]),
        (("3.38..3.40",), ["3.38.0", "3.38.1", "3.40.1"]),
        (("..3.38.0",), ["3.8.11", "3.38.0"]),
        (("3.40..",), ["3.40.1", "3.45.0"]),
        (("3.45.0", "3.8.11"), ["3.8.11", "3.45.0"]),
        (("version-3.38.1..version-3.45",), ["3.38.1", "3.40.1", "3.45.0"]),
        (("version-3.45.0",), ["3.45.0"]),
    ],
)
def test_ranges_hold_both_ends(
    repository: str, words: tuple[str, ...], expected: list[str]
) -> None:
    assert names(repository, *words) == expected


def test_of_many_the_first_and_the_last_are_always_taken(repository: str) -> None:
    assert names(repository, every=3) == ["3.8.11", "3.40.1", "3.45.0"]
    assert names(repository, every=100) == ["3.8.11", "3.45.0"]


@pytest.mark.parametrize(
    ("tag", "version"),
    [
        ("mysql-8.0.36", "8.0.36"),
        ("REL_15_1", "15.1"),
        ("REL9_6_24", "9.6.24"),
        ("mariadb-10.11.6", "10.11.6"),
        ("v8.1.1", "8.1.1"),
        ("Percona-Server-8.0.30-22", "8.0.30-22"),
        ("10.5", "10.5"),
    ],
)
def test_tags_are_read_as_projects_write_them(tmp_path: Path, tag: str, version: str) -> None:
    commit = ("commit", "--quiet", "--allow-empty", "--message=m")
    for words in (("init", "--quiet"), commit, ("tag", tag), ("tag", f"{tag}-rc1")):
        user = ("-c", "user.name=a", "-c", "user.email=a@localhost")
        subprocess.run(("git", "-C", str(tmp_path), *user, *words), check=True)
    assert names(f"git:{tmp_path}") == [version]


def test_another_product_of_the_repository_has_tags_of_its_own() -> None:
    named = ("mysql-5.7.1", "mysql-5.7.2", "mysql-8.0.1", "mysql-cluster-7.5.1", "vesion-9.0.1")
    found = tags._by_version(named)
    assert list(found) == ["5.7.1", "5.7.2", "8.0.1", "9.0.1"]


@pytest.mark.parametrize("word", ["9.9", "nightly", "nightly..release"])
def test_what_is_not_there_is_told_with_what_is(repository: str, word: str) -> None:
    with pytest.raises(UsageError, match=f"has no release {word}") as caught:
        names(repository, word)
    assert caught.value.hint == "it has 5, from 3.8.11 to 3.45.0"


@pytest.mark.parametrize(
    ("repository", "error", "said"),
    [
        ("apt:sqlite3", UsageError, "'apt:sqlite3' has no tags"),
        ("git:--upload-pack=x", UsageError, "cannot be a repository"),
        ("git:/nowhere/at/all", SourceError, "has no tags to be read"),
    ],
)
def test_what_is_no_repository_is_refused(
    repository: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        names(repository)
