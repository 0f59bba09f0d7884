"""What a hone tells others of what it does."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from dbhone.activity import Activity, activity_of, tell
from dbhone.home import Home
from dbhone.session import open_session

BUILDING = Activity(
    stage="build",
    what="lto: rel+lto with gcc",
    began_at=datetime(2026, 5, 4, 10, 20, tzinfo=UTC),
    expected=300.0,
    left=None,
)


def test_the_latest_that_a_session_tells_is_known_until_it_ends(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with open_session(home) as session:
        assert activity_of(home, session.id) is None
        tell(session, BUILDING)
        training = BUILDING.model_copy(update={"stage": "train"})
        tell(session, training)
        assert activity_of(home, session.id) == training
    assert activity_of(home, session.id) is None


def test_where_nothing_can_be_written_the_work_goes_on(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with open_session(home) as session:
        (home.scratch / session.id).write_text("no folder")
        tell(session, BUILDING)
        assert activity_of(home, session.id) is None


def test_what_is_no_activity_tells_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with open_session(home) as session:
        tell(session, BUILDING)
        (home.scratch / session.id / "activity.json").write_text('{"stage": 1}')
        assert activity_of(home, session.id) is None
