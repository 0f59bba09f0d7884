"""The home folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dbhone.capture import live
from dbhone.errors import MachineError, UsageError
from dbhone.home import Home, locate, make_root
from dbhone.package import originals
from dbhone.session import open_session
from dbhone.source.known_versions import FILE


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_home_folder_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:
        monkeypatch.setattr("os.geteuid", lambda: 1000)
    home = Home(tmp_path / "home")
    with open_session(home) as session:
        assert {mode(path) for path in (home.root, *home.places())} == {0o700}
        assert mode(session.workdir("x")) == 0o700
        assert mode(session.scratch) == 0o700
        assert mode(home.database) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only for root are they different")
def test_roots_home_can_be_passed_but_not_listed_on_the_way_to_builds_and_data(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path / "home")
    with open_session(home) as session:
        passable = {home.root, home.builds, home.data, home.scratch}
        assert {mode(path) for path in passable} == {0o711}
        assert {mode(path) for path in {*home.places()} - passable} == {0o700}
        assert mode(session.workdir("x")) == 0o700
        assert mode(session.scratch) == 0o711
        assert mode(home.database) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only for root are they different")
def test_an_older_home_of_root_becomes_passable_but_not_a_folder_with_other_things(
    tmp_path: Path,
) -> None:
    own, foreign = Home(tmp_path / "own"), Home(tmp_path / "foreign")
    for home in (own, foreign):
        home.builds.mkdir(parents=True, mode=0o700)
        home.root.chmod(0o700)
    (foreign.root / ".bashrc").touch()
    foreign.sessions.mkdir()
    with open_session(own), open_session(foreign):
        assert mode(own.root) == mode(own.builds) == 0o711
        assert mode(foreign.root) == 0o700


def test_a_folder_of_other_things_is_no_home(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    (tmp_path / "main.py").touch()
    with (
        pytest.raises(UsageError, match="is not a home folder of hone's"),
        open_session(Home(tmp_path)),
    ):
        pass
    with pytest.raises(UsageError, match="is not a home folder of hone's"):
        make_root(Home(tmp_path))
    assert mode(data) == 0o755
    assert {path.name for path in tmp_path.iterdir()} == {"data", "main.py"}


@pytest.mark.parametrize("name", [FILE, originals._FOLDER, live._FOLDER])
def test_what_hone_or_its_user_puts_into_a_home_makes_no_other_folder_of_it(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / name).mkdir()
    with open_session(Home(tmp_path)) as session:
        assert session.home.builds.is_dir()


def test_an_empty_name_is_no_home() -> None:
    with pytest.raises(UsageError, match="--home is empty"):
        locate(Path())


def test_a_store_that_others_can_read_is_hidden(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.database.write_bytes(b"")
    home.database.chmod(0o644)
    with open_session(home):
        assert mode(home.database) == 0o600


def test_the_default_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBHONE_HOME", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert locate(None).root == Path("/var/lib/dbhone")
    monkeypatch.setenv("XDG_DATA_HOME", "/srv/data")
    assert locate(None).root == Path("/srv/data/dbhone")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", "/home/dba")
    assert locate(None).root == Path("/home/dba/.local/share/dbhone")


def test_the_option_goes_before_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBHONE_HOME", str(tmp_path / "variable"))
    assert locate(None).root == tmp_path / "variable"
    assert locate(tmp_path / "option").root == tmp_path / "option"


@pytest.mark.parametrize(
    ("kind", "refused"),
    [("nfs4", True), ("cifs", True), ("fuse.sshfs", True), ("9p", False), ("virtiofs", False)],
)
def test_a_home_that_machines_would_share_is_refused_before_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, refused: bool
) -> None:
    shared = (tmp_path / "shared").resolve()
    shared.mkdir()
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        f"27 1 254:0 / / rw - ext4 /dev/vda rw\n30 27 0:30 / {shared} rw - {kind} server:/home rw\n"
    )
    monkeypatch.setattr("dbhone.home._MOUNTS", mounts)
    if refused:
        with (
            pytest.raises(MachineError, match=rf"is on a network file system \({kind}\)") as error,
            open_session(Home(shared / "home")),
        ):
            pass
        assert "choose a folder on a disk of this machine" in (error.value.hint or "")
        assert not list(shared.iterdir())
    else:
        with open_session(Home(shared / "home")):
            pass
    with open_session(Home(tmp_path / "home")):
        pass


def test_a_home_with_a_space_is_refused() -> None:
    with pytest.raises(UsageError, match="has a space"):
        locate(Path("/tmp/my home"))


def test_a_home_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(MachineError, match="cannot use the home folder"), open_session(Home(file)):
        pass
