"""Which build a command is about: one that is named, or a run's winner."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dbhone.cli.context import Context, find_run, open_store
from dbhone.compilation.manifest import Build, all_builds, read_build
from dbhone.errors import UsageError, nearest_of_many
from dbhone.home import Home
from dbhone.measurement.record import Run, Subject
from dbhone.report.page import build_page

_DIGEST = re.compile(r"[0-9a-f]{4,64}")
RUN = re.compile(r"last|\d{1,5}")
"""How a run is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenBuild:
    """A build; as a run's winner with that ``run``, the ``subject`` and the build of its base.

    ``base`` is None where the base's build is no longer kept.
    """

    build: Build
    run: Run | None = None
    subject: Subject | None = None
    base: Build | None = None


def choose(context: Context, selector: str) -> ChosenBuild:
    """Return the build that ``selector`` names: a digest or its beginning, a folder, or a run.

    Of a run it is the winner. Raises UsageError if there is none.
    """
    if not RUN.fullmatch(selector) or _is_build_only(context, selector):
        return ChosenBuild(build=find_build(context.home, selector))
    with open_store(context) as store:
        run = find_run(store, selector)
        page = build_page(run, store.samples(run.id))
    if page.winner is None or run.base is None:
        raise UsageError(
            f"run {run.id} has no winner: {page.why_no_winner}",
            hint="name a build by its digest to use it anyway: 'hone builds' lists them",
        )
    build = _kept_build(context.home, page.winner)
    if build is None:
        raise UsageError(
            f"the build of {page.winner.name}, which run {run.id} measured, is no longer kept",
            hint="run the same experiment again: it makes the builds that are not there",
        )
    return ChosenBuild(
        build=build, run=run, subject=page.winner, base=_kept_build(context.home, run.base)
    )


def _is_build_only(context: Context, word: str) -> bool:
    """Return whether digits are no run's number, but long enough to begin a build's digest."""
    if not _DIGEST.fullmatch(word):
        return False
    with open_store(context) as store:
        if any(int(word) == summary.id for summary in store.runs()):
            return False
    return any(build.digest.startswith(word) for build in all_builds(context.home))


def _kept_build(home: Home, subject: Subject) -> Build | None:
    return read_build(home.builds / subject.build_digest)


def find_build(home: Home, word: str) -> Build:
    """Return the build that a digest, its beginning or a folder names. Raises UsageError."""
    name = Path(word).name if "/" in word else word
    builds = {build.digest: build for build in all_builds(home)}
    found = [build for digest, build in builds.items() if digest.startswith(name)]
    if not _DIGEST.fullmatch(name) or not found:
        near = nearest_of_many(name, [digest[:12] for digest in builds])
        raise UsageError(
            f"'{word}' is neither a build nor a run",
            hint=f"'hone builds' lists the builds, 'hone runs' the runs; {near}",
        )
    if len(found) > 1:
        raise UsageError(f"{len(found)} builds begin with '{word}'", hint="give more of the digest")
    return found[0]
