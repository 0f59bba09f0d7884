from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

import pytest

from dbhone.errors import SourceError, ToolError
from dbhone.session import Session
from dbhone.source.ready_made import find_server
from tests.files import put_program
from tests.source.getting import get, refused
from tests.source.make_elf import elf

FAKE = Path(__file__).with_name("fake_mvn.py")
VERSIONS = "".join(f"<version>{each}</version>" for each in ("5.6.14", "5.7.22", "8.0.12"))


class Repository:
    """The repository of a pretended mvn, with one artifact."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "repository"
        self.folder.mkdir(parents=True)
        client = root / "mvn"
        client.write_text(f"#!{sys.executable}\n{FAKE.read_text()}")
        client.chmod(0o755)
        metadata = f"<metadata><versioning><versions>{VERSIONS}</versions></versioning></metadata>"
        (self.folder / "mysql.xml").write_text(metadata)
        self.has("mysql-8.0.12.jar")

    def has(self, name: str) -> None:
        """Add an artifact, a zip file with a server in it."""
        with zipfile.ZipFile(self.folder / name, "w") as archive:
            archive.writestr("mysql/bin/mysqld", elf())
            archive.writestr("LICENSE", name)

    def calls(self) -> list[str]:
        return (self.folder / "calls").read_text().splitlines()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    repository = Repository(tmp_path / "maven")
    monkeypatch.setenv("PATH", f"{tmp_path / 'maven'}:{os.environ['PATH']}")
    return repository


@pytest.mark.parametrize(
    ("name", "text", "resolved"),
    [
        ("mysql-8.0.12.jar", "org.x:mysql:8.0.12", "org.x:mysql:8.0.12@jar"),
        ("mysql-5.6.14-linux.zip", "org.x:mysql:5.6.14:linux", "org.x:mysql:5.6.14:linux@zip"),
        ("mysql-5.6.14.tgz", "org.x:mysql:5.6.14@tgz", "org.x:mysql:5.6.14@tgz"),
    ],
)
def test_an_artifact_is_fetched_whatever_its_extension_is(
    session: Session, repository: Repository, name: str, text: str, resolved: str
) -> None:
    repository.has(name)
    tree = get(session, f"maven:{text}")
    assert tree.resolved == f"maven:{resolved}"
    found = find_server(tree.path)
    assert found is not None
    assert os.access(found.program, os.X_OK)


def test_checksums_are_strict_and_no_question_is_asked(
    session: Session, repository: Repository
) -> None:
    get(session, "maven:org.x:mysql:8.0.12")
    (call,) = repository.calls()
    assert {"--strict-checksums", "--batch-mode"} <= set(call.split())


def test_nothing_is_taken_from_or_put_into_the_users_own_repository(
    session: Session, repository: Repository
) -> None:
    get(session, "maven:org.x:mysql:8.0.12")
    (call,) = repository.calls()
    assert f"-Dmaven.repo.local={session.home.root}" in call


def test_the_plugin_is_kept_and_the_artifact_is_not(
    session: Session, repository: Repository
) -> None:
    repository.has("mysql-5.7.22.jar")
    for version, refresh in (("8.0.12", False), ("5.7.22", False), ("8.0.12", True)):
        get(session, f"maven:org.x:mysql:{version}", refresh=refresh)
        (kept,) = (session.home.sources / "maven").iterdir()
        assert (kept / "plugin").is_dir()
        assert not list(kept.rglob("*.jar"))


def test_an_unknown_version_is_answered_with_the_nearest(
    session: Session, repository: Repository
) -> None:
    error = refused(session, "maven:org.x:mysql:8.0.13")
    assert isinstance(error, SourceError)
    assert error.message == "there is no version 8.0.13 of org.x:mysql"
    assert "'8.0.12'" in str(error.hint)
    # The version's absence is found out before other extensions are tried.
    assert len(repository.calls()) == 2


def test_an_unknown_artifact_is_reported(session: Session, repository: Repository) -> None:
    error = refused(session, "maven:org.x:mysq:8.0.12")
    assert "the repositories that mvn uses have no org.x:mysq" in error.message
    assert error.log is not None


def test_a_classifier_that_is_missing_or_wrong_is_answered_with_those_of_the_pom(
    session: Session, repository: Repository
) -> None:
    repository.has("mysql-5.6.14-linux.zip")
    words = "".join(f"<classifier>{each}</classifier>" for each in ("linux", "mac"))
    pom = f'<project xmlns="urn:pom">{words}</project>'
    (repository.folder / "mysql-5.6.14.pom").write_text(pom)
    for text in ("maven:org.x:mysql:5.6.14", "maven:org.x:mysql:5.6.14:windows"):
        error = refused(session, text)
        assert error.message == f"there is no such artifact: {text}"
        assert "check the classifier; its POM names linux, mac" in str(error.hint)


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("Could not transfer artifact a: Checksum validation failed, no checksums", "changed"),
        ("Could not transfer artifact a from/to central: Connection refused", "network"),
        ("Could not find artifact org.y:parent:pom:1 in central", "network"),
    ],
)
def test_what_mvn_says_of_a_failure_is_reported(
    session: Session, repository: Repository, said: str, hint: str
) -> None:
    (repository.folder / "says").write_text(said)
    error = refused(session, "maven:org.x:mysql:8.0.12")
    doing = "downloading org.x:mysql:8.0.12:jar"
    assert error.message == f"{doing} failed: {said}"
    assert hint in str(error.hint)
    assert error.log is not None
    assert said in error.log.read_text()
    assert len(repository.calls()) == 1


def test_a_missing_client_is_reported_with_what_to_install(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(put_program(tmp_path / "bin" / "apt-get").parent))
    error = refused(session, "maven:org.x:mysql:8.0.12")
    assert isinstance(error, ToolError)
    assert "recommends maven" in str(error.hint)
