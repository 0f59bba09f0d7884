"""Where an instance lives."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dbhone.account import Account, Tenant
from dbhone.errors import MachineError
from dbhone.home import Home
from dbhone.instance.place import make_place, remove_place
from dbhone.session import Session, open_session


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_place_is_private_and_goes_again(open_session_home: Session) -> None:
    place = make_place(open_session_home, Tenant())
    folders = (place.data.parent, place.data, place.sockets, place.scratch)
    assert {mode(folder) for folder in folders} == {0o700}
    assert not place.log.exists()
    remove_place(place)
    assert not place.data.parent.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_place_of_another_account_lets_it_in_and_nobody_else(open_session_home: Session) -> None:
    place = make_place(open_session_home, Tenant(account=Account("x", 54321, 54322)))
    root = place.data.parent
    assert (root.stat().st_uid, root.stat().st_gid, mode(root)) == (0, 54322, 0o750)
    for folder in (place.data, place.sockets, place.scratch):
        assert (folder.stat().st_uid, mode(folder)) == (54321, 0o700)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_home_that_the_account_cannot_enter_is_refused(open_folder: Path) -> None:
    closed = open_folder / "closed"
    closed.mkdir()
    closed.chmod(0o700)
    with open_session(Home(closed / "home")) as session:
        with pytest.raises(MachineError, match=f"cannot enter {closed}$"):
            make_place(session, Tenant(account=Account("x", 54321, 54322)))
        assert not any(session.scratch.iterdir())


def test_a_socket_with_too_long_a_path_is_refused(tmp_path: Path) -> None:
    with open_session(Home(tmp_path / ("long" * 30))) as session:
        with pytest.raises(
            MachineError, match=r"has \d+ bytes, and the system allows 107"
        ) as caught:
            make_place(session, Tenant())
        assert caught.value.hint == "choose a home with a shorter path: --home or DBHONE_HOME"
        assert not any(session.scratch.iterdir())


def test_the_longest_path_that_is_allowed_is_accepted(open_folder: Path) -> None:
    with open_session(Home(open_folder / "h")) as session:
        used = len(str(make_place(session, Tenant()).sockets / ".s.PGSQL.5432"))
    with open_session(Home(open_folder / ("h" * (108 - used)))) as session:
        place = make_place(session, Tenant())
        assert len(str(place.sockets / ".s.PGSQL.5432")) == 107
    with (
        open_session(Home(open_folder / ("h" * (109 - used)))) as session,
        pytest.raises(MachineError, match="has 108 bytes"),
    ):
        make_place(session, Tenant())
