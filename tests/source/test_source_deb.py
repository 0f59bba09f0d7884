from __future__ import annotations

import os
from pathlib import Path

import pytest

from dbhone.errors import NoSpaceError, SourceError, ToolError
from dbhone.session import Session
from tests.files import put_program
from tests.source.apt_machine import Machine
from tests.source.getting import get, refused


def test_a_package_is_unpacked_and_not_installed(session: Session, apt_repository: Path) -> None:
    tree = get(session, "deb:tiny-server")
    assert tree.resolved == "deb:tiny-server=1.10"
    program = tree.path / "usr" / "sbin" / "tiny-server"
    assert "1.10" in program.read_text()
    assert os.access(program, os.X_OK)
    assert sorted(path.name for path in tree.path.iterdir()) == ["etc", "usr"]
    assert not Path("/dbhone-tests-were-here").exists()


def test_a_full_disk_while_a_package_is_unpacked_is_told_as_such(
    session: Session, apt_repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "echo 'dpkg-deb: error: No space left on device' >&2; exit 2"
    program = put_program(tmp_path / "bin" / "dpkg-deb", script)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    with pytest.raises(NoSpaceError, match="while unpacking tiny-server"):
        get(session, "deb:tiny-server")


def test_a_packages_absolute_links_lead_into_the_tree(
    session: Session, apt_repository: Path
) -> None:
    tree = get(session, "deb:tiny-server")
    link = tree.path / "usr" / "share" / "tiny-server" / "link"
    assert link.resolve() == (tree.path / "etc" / "tiny-server.conf").resolve()


def test_several_packages_become_one_tree(session: Session, apt_repository: Path) -> None:
    tree = get(session, "deb:tiny-server=1.0,tiny-common")
    assert tree.resolved == "deb:tiny-server=1.0,tiny-common=1.0"
    names = {path.name for path in (tree.path / "usr" / "sbin").iterdir()}
    assert names == {"tiny-server", "tiny-common"}


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("deb:tiny-server=1.0", "deb:tiny-server=1.0"),
        ("deb:tiny-server=2.0~bpo1", "deb:tiny-server=2.0~bpo1"),
        ("deb:tiny-plugin", "deb:tiny-plugin=1"),
    ],
)
def test_backports_are_taken_by_version_or_where_nothing_else_has_it(
    session: Session, apt_repository: Path, text: str, resolved: str
) -> None:
    assert get(session, text).resolved == resolved


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("deb:tiny-server=1.11", "no version 1.11", "there is: 1.0, 1.10, 2.0~bpo1"),
        ("deb:tiny-servre", "no package tiny-servre", "'tiny-server'"),
        ("deb:tiny-server,nothing", "no package nothing", "known: tiny-common"),
    ],
)
def test_what_is_unknown_is_answered_with_what_exists(
    session: Session, apt_repository: Path, text: str, message: str, hint: str
) -> None:
    error = refused(session, text)
    assert isinstance(error, SourceError)
    assert message in error.message
    assert hint in str(error.hint)


def test_a_package_source_of_sources_alone_has_no_binary_packages(
    session: Session, machine: Machine, apt_repository: Path
) -> None:
    entry = machine.parts / "main.sources"
    entry.write_text(entry.read_text().replace("Types: deb", "Types: deb-src"))
    assert "no package sources" in refused(session, "deb:tiny-server").message


def test_a_package_that_was_changed_is_not_unpacked(session: Session, apt_repository: Path) -> None:
    package = apt_repository / "pool" / "tiny-server_1.10_all.deb"
    content = package.read_bytes()
    package.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    error = refused(session, "deb:tiny-server")
    assert "downloading the package tiny-server=1.10 failed" in error.message
    assert error.log is not None


def test_a_list_of_packages_that_was_changed_is_not_used(
    session: Session, apt_repository: Path
) -> None:
    lists = apt_repository / "dists" / "stable" / "main" / "binary-all" / "Packages"
    lists.write_text(lists.read_text().replace("1.10", "1.11"))
    assert "not every package source could be read" in str(refused(session, "deb:tiny-server").hint)


def test_without_apt_the_error_says_what_to_install(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    error = refused(session, "deb:tiny-server")
    assert isinstance(error, ToolError)
    assert "needs apt-get and dpkg-deb, which" in error.message
