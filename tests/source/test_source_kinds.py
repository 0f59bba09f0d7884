from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.errors import UnknownName, UsageError
from dbhone.source.kinds.base import known_syntax, parse_reference

SUM = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "location", "revision", "sha256"),
    [
        ("apt:sqlite3", "sqlite3", None, None),
        ("apt:sqlite3=3.40.1-2+deb12u2", "sqlite3", "3.40.1-2+deb12u2", None),
        ("apt:g++-12=1:2.0~rc1", "g++-12", "1:2.0~rc1", None),
        (f"https://h.example/a.tar.gz#sha256={SUM}", "https://h.example/a.tar.gz", None, SUM),
        (f"https://h.example/a?b=c#sha256={SUM.upper()}", "https://h.example/a?b=c", None, SUM),
        (f"https://h.example/a?design=b#sha256={SUM}", "https://h.example/a?design=b", None, SUM),
        ("git:https://h.example/a.git@v1.0", "https://h.example/a.git", "v1.0", None),
        ("git:git@h.example:a/b.git@feature/x", "git@h.example:a/b.git", "feature/x", None),
        ("git:ssh://git@h.example/a@v1", "ssh://git@h.example/a", "v1", None),
        ("git:/srv/a@0123456", "/srv/a", "0123456", None),
        ("dir:/srv/my project", "/srv/my project", None, None),
        ("deb:mariadb-server-core", "mariadb-server-core", None, None),
        ("deb:a1=1:2-3+b1, libstdc++6", "a1=1:2-3+b1,libstdc++6", None, None),
        ("maven:org.x:a-b:1.0-2", "org.x:a-b", "1.0-2", None),
        ("maven:org.x:a:1.0:linux-amd64@tar.gz", "org.x:a:linux-amd64@tar.gz", "1.0", None),
        ("npm:mysql-server@5.6.24", "mysql-server", "5.6.24", None),
        ("npm:@scope/name@1.0.0-beta.1", "@scope/name", "1.0.0-beta.1", None),
        ("  dir:/srv/a  ", "/srv/a", None, None),
    ],
)
def test_parts_of_a_reference_are_understood(
    text: str, location: str, revision: str | None, sha256: str | None
) -> None:
    reference = parse_reference(text)
    assert reference.text == text.strip()
    assert reference.kind == text.strip().partition(":")[0]
    assert (reference.location, reference.revision) == (location, revision)
    assert reference.sha256 == sha256


@pytest.mark.parametrize("text", ["dir:a/b", "git:a/b@main", "git:../b@main"])
def test_local_paths_become_absolute(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    location = Path(parse_reference(text).location)
    assert location.is_absolute()
    assert str(location).startswith(str(tmp_path))


def test_tilde_is_the_users_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert parse_reference("dir:~/a").location == "/home/somebody/a"
    assert parse_reference("git:~/a@v1").location == "/home/somebody/a"


@pytest.mark.parametrize(("wrong", "right"), [("gti:a@b", "git"), ("http://a/b", "https")])
def test_an_unknown_kind_is_refused_with_the_nearest(wrong: str, right: str) -> None:
    with pytest.raises(UnknownName) as caught:
        parse_reference(wrong)
    assert f"'{right}'" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "not a source reference"),
        ("sqlite3", "not a source reference"),
        ("apt:", "names no source"),
        ("dir:", "names no source"),
        ("apt:SQLite", "cannot be the name"),
        ("apt:-o=1", "cannot be the name"),
        ("apt:a/b", "cannot be the name"),
        ("apt:sqlite3=", "cannot be the version"),
        ("apt:sqlite3=-1", "cannot be the version"),
        ("https://h.example/a.tar.gz", "has no sha256"),
        ("https://h.example/a.tar.gz#sha256=abc", "has no sha256"),
        (f"https://h.example/a.tar.gz sha256:{SUM}", "has no sha256"),
        (f"https://h.example/#sha256={SUM}", "names no file"),
        (f"https:a.tar.gz#sha256={SUM}", "names no file"),
        (f"https://h.example:port/a#sha256={SUM}", "names no file"),
        (f"https://[::1/a#sha256={SUM}", "names no file"),
        (f"https://me:secret@h.example/a#sha256={SUM}", "password or token"),
        (f"https://h.example/a?X-Amz-Date=1&X-Amz-Signature=ab#sha256={SUM}", "password or token"),
        (f"https://h.example/a?AWSAccessKeyId=ab#sha256={SUM}", "password or token"),
        (f"https://h.example/a?sv=1&sig=ab#sha256={SUM}", "password or token"),
        (f"https://h.example/a?private_token=ab#sha256={SUM}", "password or token"),
        (f"https://h.example/a?v=1;%70assword=ab#sha256={SUM}", "password or token"),
        ("git:https://h.example/a.git", "which revision"),
        ("git:https://me@h.example", "which revision"),
        ("git:https://token@h.example/a@v1", "password or token"),
        ("git:ssh://me:secret@h.example/a@v1", "password or token"),
        ("git:git@h.example:a/b", "cannot be a revision"),
        ("git:--upload-pack=x@v1", "cannot be a repository"),
        ("git:ext::sh -c x@v1", "cannot be a repository"),
        ("git:/srv/a@--output=x", "cannot be a revision"),
        ("git:/srv/a@", "which revision"),
        ("git:/srv/a@a..b", "cannot be a revision"),
        ("git:/srv/a@~1", "cannot be a revision"),
        ("git:/srv/a@main^{tree}", "cannot be a revision"),
        ("git:/srv/a@main~1:file", "cannot be a revision"),
        ("dir:~no-such-user-here/a", "no such user"),
        ("dir:/a\nb", "one line"),
        ("deb:MySQL", "cannot be the name"),
        ("deb:a1,", "cannot be the name"),
        ("deb:a1=", "cannot be the version"),
        ("deb:a1=1,a1=2", "twice"),
        ("maven:org.x:a", "cannot be a Maven artifact"),
        ("maven:org.x::1", "cannot be a Maven artifact"),
        ("maven:org.x:a:1:c:d", "cannot be a Maven artifact"),
        ("maven:org.x:../a:1", "cannot be a Maven artifact"),
        ("maven:org.x:a:1@", "cannot be a Maven artifact"),
        ("maven:org.x:a:1-SNAPSHOT", "another artifact tomorrow"),
        ("maven:org.x:a:LATEST", "another artifact tomorrow"),
        ("maven:org.x:a:[1,2)", "cannot be a Maven artifact"),
        ("npm:name", "cannot be a package"),
        ("npm:../name@1.0.0", "cannot be a package"),
        ("npm:--name@1.0.0", "cannot be a package"),
        ("npm:git+ssh://h/name@1.0.0", "cannot be a package"),
        ("npm:name@latest", "not a whole version"),
        ("npm:name@^1.0.0", "not a whole version"),
        ("npm:name@file:/x", "not a whole version"),
        ("dir:/a\0b", "one line"),
    ],
)
def test_what_is_malformed_is_refused(text: str, part: str) -> None:
    with pytest.raises(UsageError, match=re.escape(part)):
        parse_reference(text)


def test_a_missing_checksum_is_answered_with_how_to_give_it() -> None:
    with pytest.raises(UsageError) as caught:
        parse_reference("https://h.example/a.tar.gz")
    assert "#sha256=" in str(caught.value.hint)
    assert "sha256sum" in str(caught.value.hint)


def test_a_folder_without_its_kind_is_answered_with_the_kind(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        parse_reference(str(tmp_path))
    assert f"dir:{tmp_path}" in str(caught.value.hint)


def test_every_kind_says_how_it_is_written() -> None:
    names = [syntax.partition(":")[0] for syntax in known_syntax()]
    assert names == ["apt", "deb", "dir", "git", "https", "maven", "npm"]


@given(
    st.sampled_from(["", "apt:", "deb:", "maven:", "npm:", "dir:", "git:", "https://", "https:"]),
    st.text(max_size=40),
)
def test_any_text_is_understood_or_refused(prefix: str, rest: str) -> None:
    try:
        reference = parse_reference(prefix + rest)
    except UsageError:
        return
    assert parse_reference(reference.text) == reference
