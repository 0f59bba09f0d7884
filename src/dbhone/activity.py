"""What a hone that executes a run does now: it tells others of it by a file of its session."""

from __future__ import annotations

import contextlib
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from dbhone.files import write_whole
from dbhone.home import Home, make_folder
from dbhone.session import Session

_FILE = "activity.json"


class Activity(BaseModel):
    """A piece of work of a ``stage`` of a run that has begun, ``what`` in words.

    ``expected`` is about how many seconds it takes, ``left`` how many of the budget were left when
    it began; they are None where that is not known.
    """

    model_config = ConfigDict(frozen=True)

    stage: str
    what: str
    began_at: datetime
    expected: float | None
    left: float | None


def tell(session: Session, activity: Activity) -> None:
    """Tell others what this session does. It goes on where nothing can be written."""
    with contextlib.suppress(OSError):
        make_folder(session.scratch, shared=True)
        write_whole(session.scratch / _FILE, activity.model_dump_json())


def activity_of(home: Home, session_id: str) -> Activity | None:
    """Return what a session does now, None if it tells nothing."""
    try:
        text = (home.scratch / session_id / _FILE).read_text(encoding="utf-8")
        return Activity.model_validate_json(text)
    except (OSError, ValueError):
        return None
