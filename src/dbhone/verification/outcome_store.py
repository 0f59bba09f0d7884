"""Keeps what checks found, so that no list is run twice for one build.

The home's folder ``verifications`` has a folder for each build, with a file and a log for each list
of tests, and one for the outcome at each grade against each base.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from dbhone.compilation.manifest import Build
from dbhone.files import write_whole
from dbhone.home import Home
from dbhone.verification.outcome import Grade, ListResult, Outcome

T = TypeVar("T", ListResult, Outcome)
_OUTCOME = "outcome"


class OutcomeStore:
    """What was found of one build, since it was made.

    The digest that names a build is that of its inputs. What was found of an earlier build of the
    same inputs does not count.
    """

    def __init__(self, home: Home, build: Build) -> None:
        self._build = build
        self._folder = home.verifications / build.digest

    def find(self, name: str) -> ListResult | None:
        """Return the results that are kept under a name, None if there are none."""
        return self._read(self._folder / f"{name}.json", ListResult)

    def keep(self, name: str, result: ListResult, log: bytes) -> None:
        """Keep the results of a list, and the log, under a name."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        write_whole(self.log(name), log)
        write_whole(self._folder / f"{name}.json", result.model_dump_json(indent=1) + "\n")

    def log(self, name: str) -> Path:
        """Return where the log is of the results that are kept under a name."""
        return self._folder / f"{name}.log"

    def outcomes(self) -> tuple[Outcome, ...]:
        """Return the latest outcome at each grade against each base, the lowest grade first."""
        found: dict[tuple[Grade, str], Outcome] = {}
        read = (self._read(path, Outcome) for path in self._folder.glob(f"{_OUTCOME}-*.json"))
        for outcome in sorted(filter(None, read), key=lambda each: each.finished_at):
            found[outcome.grade, outcome.base] = outcome
        grades = list(Grade)
        return tuple(sorted(found.values(), key=lambda each: grades.index(each.grade)))

    def keep_outcome(self, outcome: Outcome) -> Outcome:
        """Keep an outcome in place of an earlier one of its grade and base, and return it.

        Lists that failed earlier stay part of it until they are run again: another workload may
        have been asked this time.
        """
        self._folder.mkdir(mode=0o700, exist_ok=True)
        path = self._folder / f"{_OUTCOME}-{outcome.grade.value}-{outcome.base[:12]}.json"
        earlier = self._read(path, Outcome)
        run = {each.name for each in outcome.lists}
        failed = [each for each in earlier.lists if each.failures] if earlier else []
        lists = (*outcome.lists, *(each for each in failed if each.name not in run))
        whole = outcome.model_copy(update={"lists": lists})
        write_whole(path, whole.model_dump_json(indent=1) + "\n")
        return whole

    def best(self) -> Outcome | None:
        """Return the outcome at the highest grade that the build passed, None if it passed none.

        Any build passes what it passes itself: as its own base only a usual base counts.
        """
        passed = (
            outcome
            for outcome in reversed(self.outcomes())
            if outcome.passed
            and (outcome.base != self._build.digest or self._build.manifest.is_usual_base)
        )
        return next(passed, None)

    def failed(self) -> Outcome | None:
        """Return an outcome at which the build failed a test that a base passes, None if none."""
        return next((outcome for outcome in self.outcomes() if outcome.failures), None)

    def _read(self, path: Path, kind: type[T]) -> T | None:
        try:
            found = kind.model_validate_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if found.finished_at >= self._build.manifest.built_at else None
