"""Keeps what checks found, so that no list is run twice for one build.

The home's folder ``verifications`` has a folder for each build, with a file and a log for each list
of tests, and one for the outcome at each grade.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from dbhone.files import write_whole
from dbhone.home import Home
from dbhone.verification.outcome import Grade, ListResult, Outcome

T = TypeVar("T", bound=BaseModel)


class OutcomeStore:
    """What was found of one build, by its digest."""

    def __init__(self, home: Home, build: str) -> None:
        self._folder = home.verifications / build

    def find(self, name: str) -> ListResult | None:
        """Return the results that are kept under a name, None if there are none."""
        return _read(self._folder / f"{name}.json", ListResult)

    def keep(self, name: str, result: ListResult, log: bytes) -> None:
        """Keep the results of a list, and the log, under a name."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        write_whole(self.log(name), log)
        write_whole(self._folder / f"{name}.json", result.model_dump_json(indent=1) + "\n")

    def log(self, name: str) -> Path:
        """Return where the log is of the results that are kept under a name."""
        return self._folder / f"{name}.log"

    def outcome(self, grade: Grade) -> Outcome | None:
        """Return the latest outcome at a grade, None if the build was not verified at it."""
        return _read(self._outcome(grade), Outcome)

    def keep_outcome(self, outcome: Outcome) -> Path:
        """Keep an outcome in place of an earlier one of its grade; return its file."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        path = self._outcome(outcome.grade)
        write_whole(path, outcome.model_dump_json(indent=1) + "\n")
        return path

    def best(self) -> Outcome | None:
        """Return the outcome at the highest grade that the build passed, None if it passed none."""
        found = (self.outcome(grade) for grade in reversed(Grade))
        return next((outcome for outcome in found if outcome is not None and outcome.passed), None)

    def failed(self) -> Outcome | None:
        """Return the outcome at a grade that the build does not pass, None if there is none."""
        found = (self.outcome(grade) for grade in Grade)
        return next((each for each in found if each is not None and not each.passed), None)

    def _outcome(self, grade: Grade) -> Path:
        return self._folder / f"outcome-{grade.value}.json"


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        return kind.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
