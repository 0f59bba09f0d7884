from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dbhone.command import Command
from dbhone.errors import SourceError, ToolError
from dbhone.process import run
from dbhone.session import Session
from dbhone.source.fetch import FetchJob
from dbhone.source.kinds._apt_index import open_index
from dbhone.source.kinds._apt_sources import PackageType
from tests.files import put_program
from tests.source.apt_machine import Machine
from tests.source.getting import get, refused


def test_the_newest_version_that_the_machine_takes_by_itself_is_chosen(
    session: Session, apt_repository: Path
) -> None:
    tree = get(session, "apt:tiny")
    assert tree.resolved == "apt:tiny=1.10"
    assert '"1.10"' in (tree.path / "main.c").read_text()
    assert (tree.path / "debian" / "changelog").is_file()


@pytest.mark.parametrize("version", ["1.0", "1.9", "2.0~bpo1"])
def test_a_version_is_chosen_by_name_in_any_suite(
    session: Session, apt_repository: Path, version: str
) -> None:
    tree = get(session, f"apt:tiny={version}")
    assert f'"{version}"' in (tree.path / "main.c").read_text()
    assert tree.resolved == f"apt:tiny={version}"


def test_a_package_that_only_backports_have_is_found(
    session: Session, apt_repository: Path
) -> None:
    assert get(session, "apt:newcomer").resolved == "apt:newcomer=1"


def test_a_series_is_its_highest_number(session: Session, apt_repository: Path) -> None:
    assert get(session, "apt:series").resolved == "apt:series-10=10.1"


def test_a_version_that_is_listed_but_not_there_gives_way_to_the_one_before(
    session: Session, apt_repository: Path
) -> None:
    (apt_repository / "pool" / "tiny_1.10.tar.xz").unlink()
    notified: list[str] = []
    assert get(session, "apt:tiny", notified.append).resolved == "apt:tiny=1.9"
    assert "tiny 1.10 is listed but not there" in notified


def test_the_one_line_format_is_read_too(
    session: Session, machine: Machine, apt_repository: Path
) -> None:
    (machine.parts / "main.sources").unlink()
    line = f"deb [signed-by={apt_repository}/signer.asc] file:{apt_repository} stable main\n"
    (machine.root / "sources.list").write_text(line)
    assert get(session, "apt:tiny").resolved == "apt:tiny=1.10"


def test_notes_in_other_encodings_do_no_harm(
    session: Session, machine: Machine, apt_repository: Path
) -> None:
    (machine.root / "sources.list").write_bytes(b"# caf\xe9\n")
    with (machine.parts / "main.sources").open("ab") as file:
        file.write(b"X-Note: caf\xe9\n")
    assert get(session, "apt:other").resolved == "apt:other=3"


def test_the_lists_are_kept_for_a_day(session: Session, apt_repository: Path) -> None:
    notified: list[str] = []
    for name in ("tiny", "other", "tiny=1.0"):
        get(session, f"apt:{name}", notified.append)
    assert sum("lists" in line for line in notified) == 1
    (kept,) = (session.home.sources / "apt").iterdir()
    yesterday = time.time_ns() - 25 * 3600 * 10**9
    kept.rename(kept.with_name(f"{yesterday}-{kept.name.partition('-')[2]}"))
    get(session, "apt:tiny=1.9", notified.append)
    assert sum("lists" in line for line in notified) == 2
    assert len(list((session.home.sources / "apt").iterdir())) == 1


def test_the_lists_are_fetched_anew_for_what_they_lack(
    session: Session, machine: Machine, apt_repository: Path
) -> None:
    index = apt_repository / "dists" / "stable"
    index.rename(apt_repository / "away")
    shutil.copytree(apt_repository / "dists" / "stable-backports", index)
    (machine.parts / "main.sources").write_text(
        f"Types: deb\nURIs: file:{apt_repository}\nSuites: stable\nComponents: main\n"
        f"Signed-By: {apt_repository}/signer.asc\n"
    )
    get(session, "apt:newcomer")
    shutil.rmtree(index)
    (apt_repository / "away").rename(index)
    assert get(session, "apt:tiny=1.9").resolved == "apt:tiny=1.9"


def test_an_unknown_version_is_answered_with_those_that_exist(
    session: Session, apt_repository: Path
) -> None:
    error = refused(session, "apt:tiny=1.11")
    assert "no version 1.11" in error.message
    assert error.hint == "there is: 1.0, 1.9, 1.10, 2.0~bpo1"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("tniy", "'tiny'"),
        ("libother0", "apt:other"),
        ("zzzzzz", "known: newcomer, other, series-10, series-9, series-common, tiny"),
    ],
)
def test_an_unknown_package_is_answered_with_the_nearest(
    session: Session, apt_repository: Path, name: str, hint: str
) -> None:
    error = refused(session, f"apt:{name}")
    assert isinstance(error, SourceError)
    assert name in error.message
    assert hint in str(error.hint)


def test_a_package_source_that_fails_does_not_stop_another(
    session: Session, machine: Machine, apt_repository: Path
) -> None:
    (machine.repository("unsigned") / "dists" / "stable" / "InRelease").unlink()
    missing = "Types: deb\nURIs: file:/nowhere\nSuites: stable\nComponents: main\n"
    (machine.parts / "missing.sources").write_text(missing)
    notified: list[str] = []
    assert get(session, "apt:tiny", notified.append).resolved == "apt:tiny=1.10"
    assert any("not every package source could be read" in line for line in notified)
    # What failed is tried again the next time.
    assert not (session.home.sources / "apt").exists()


def forge_signed_text(folder: Path) -> None:
    release = folder / "dists" / "stable" / "InRelease"
    release.write_text(release.read_text().replace("Origin: dbhone", "Origin: forged"))


def unsign(folder: Path) -> None:
    release = folder / "dists" / "stable" / "InRelease"
    text = release.read_text().split("\n\n", 1)[1].partition("-----BEGIN")[0]
    release.with_name("Release").write_text(text)
    release.unlink()


def forge_index(folder: Path) -> None:
    index = folder / "dists" / "stable" / "main" / "source" / "Sources"
    index.write_text(index.read_text().replace("other", "otter"))


def lose_the_key(folder: Path) -> None:
    (folder / "signer.asc").unlink()


@pytest.mark.parametrize("forge", [forge_signed_text, unsign, forge_index, lose_the_key])
def test_a_package_source_that_cannot_be_verified_is_not_used(
    session: Session, apt_repository: Path, forge: Callable[[Path], None]
) -> None:
    forge(apt_repository)
    error = refused(session, "apt:tiny")
    assert isinstance(error, SourceError)
    assert "not every package source could be read" in str(error.hint)
    assert error.log is not None
    assert "update" in error.log.read_text()


def test_what_was_verified_before_does_not_excuse_a_failure_now(
    session: Session, apt_repository: Path
) -> None:
    get(session, "apt:tiny")
    forge_signed_text(apt_repository)
    for name in ("tiny", "other", "tiny=1.9"):
        with pytest.raises(SourceError):
            get(session, f"apt:{name}", refresh=True)


@pytest.mark.parametrize("name", ["tiny_1.10.dsc", "tiny_1.10.tar.xz"])
def test_a_package_that_was_changed_is_refused(
    session: Session, apt_repository: Path, name: str
) -> None:
    content = (apt_repository / "pool" / name).read_bytes()
    (apt_repository / "pool" / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    error = refused(session, "apt:tiny")
    assert isinstance(error, SourceError)
    assert "downloading the source package tiny=1.10 failed" in error.message
    assert error.log is not None


def test_the_machines_hooks_do_not_run(
    session: Session, machine: Machine, apt_repository: Path
) -> None:
    get(session, "apt:tiny")
    assert not (machine.root / "hooked").exists()


def test_all_that_apt_writes_goes_to_private_places(
    apt_repository: Path, job_for: Callable[[str], FetchJob]
) -> None:
    job = job_for("apt:tiny")
    config = open_index(job, PackageType.SOURCE, refresh=False).config(job)
    names = ("Dir::State", "Dir::State::Lists", "Dir::Cache", "Dir::Cache::Archives")
    words = (word for number, name in enumerate(names) for word in (f"V{number}", f"{name}/d"))
    argv = ("apt-config", "-c", str(config), "shell", *words)
    printed = run(Command(argv=argv, cwd=job.scratch)).text()
    places = [Path(line.partition("=")[2].strip("'")) for line in printed.splitlines()]
    assert len(places) == len(names)
    assert all(place.is_relative_to(job.scratch.parent) for place in places)


def test_a_machine_without_package_sources_is_reported(session: Session, machine: Machine) -> None:
    error = refused(session, "apt:tiny")
    assert "no package sources" in error.message
    assert "sources.list" in str(error.hint)


@pytest.mark.parametrize(
    ("found", "missing", "hint"),
    [
        ([], "apt-get and dpkg-source", "install what brings apt-get and dpkg-source (Debian"),
        (["apt-get"], "dpkg-source", "apt-get install"),
    ],
)
def test_a_missing_program_is_reported_with_what_to_install(
    session: Session,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    found: list[str],
    missing: str,
    hint: str,
) -> None:
    for name in found:
        put_program(tmp_path / name)
    monkeypatch.setenv("PATH", str(tmp_path))
    error = refused(session, "apt:tiny")
    assert isinstance(error, ToolError)
    assert f"needs {missing}, which this machine lacks" in error.message
    assert hint in str(error.hint)
