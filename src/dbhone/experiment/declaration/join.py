"""The experiment that joins further versions to a history that was measured before."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dbhone.dbms.base import load_dbms
from dbhone.errors import UnknownName, UsageError
from dbhone.experiment.declaration.subjects import CONTROL, OWN
from dbhone.experiment.declaration.templates import (
    DesignOptions,
    compiled_versions,
    design_table,
    file_text,
    version_table,
)
from dbhone.measurement.record import Run
from dbhone.source.known_versions import KnownVersion
from dbhone.versions import age

_KEPT = ("config", "observe", "training", "files")
"""What both runs have alike, or they would not add up; the files are those of a user's suite."""
_KEPT_OF_DESIGN = ("allot", "awake", "slices")
"""What both designs have alike, for the same reason."""


def joining_text(
    run: Run,
    dbms: str,
    versions: Sequence[KnownVersion],
    design: DesignOptions,
    *,
    anchor: str | None = None,
    sets: tuple[str, ...] = (),
    optional: bool = False,
) -> str:
    """Return the experiment file: an anchor of the run and the new versions, at the same work.

    The ``anchor`` is the version of the run that is measured once more beside the new ones, None
    for the one that is nearest to them. ``sets`` empty are those of the run. With ``optional`` a
    new version that cannot be built is left out, unless it is the base. Raises UsageError for a run
    or an anchor that nothing can join, UnknownName for an unknown anchor.
    """
    declared = tomllib.loads(run.experiment)
    order = declared.get("history", {}).get("order", [])
    sound = [
        subject.name for subject in run.subjects if subject.name in order and subject.broken is None
    ]
    new = [version.name for version in versions]
    _check_joinable(run, dbms, sound, new, earlier=order)
    anchor = _anchor(run, anchor, sound, new)
    if anchor not in declared["subjects"]:
        raise UsageError(
            f"{anchor} of run {run.id} is a version with a varied setting, which cannot be joined",
            hint="write an experiment with the versions and their settings instead",
        )
    names = sorted([anchor, *new], key=age)
    system = load_dbms(dbms)
    building = len(compiled_versions(versions)) * system.build_seconds

    def subject(version: KnownVersion) -> dict[str, Any]:
        left_out = {"optional": True} if optional and version.name != names[0] else {}
        return version_table(version, like=anchor) | left_out

    return file_text(
        f"Written by `hone history --join {run.id}`: joins that run through {anchor}.",
        {"title": f"{system.title} {' and '.join(new)} beside {anchor}", "base": names[0]},
        {
            "history": {"order": names},
            "sources": _sources(declared, anchor)
            | {version.name: version.source for version in versions},
            "subjects": {
                anchor: _subject(declared, anchor),
                **{version.name: subject(version) for version in versions},
                CONTROL: {"like": names[0]},
            },
            **{name: declared.get(name, {}) for name in _KEPT},
            "workload": declared["workload"] | ({"sets": sets} if sets else {}),
            "design": _design(run, declared) | design_table(design, len(names) + 1, building),
        },
    )


def _check_joinable(
    run: Run, dbms: str, sound: Sequence[str], new: Sequence[str], *, earlier: Sequence[str]
) -> None:
    """Refuse a run that ``new`` versions cannot join; ``earlier`` are its own, some ``sound``."""
    if not sound:
        raise UsageError(
            f"run {run.id} is not a history with a sound version, and only histories can be joined",
            hint="'hone runs' lists the runs",
        )
    if run.layouts:
        raise UsageError(
            f"run {run.id} was measured in layouts, and a later run takes other layouts of the same"
            " version",
            hint="measure all versions in one run",
        )
    if not new:
        raise UsageError(
            f"no version to join run {run.id} is named", hint="name them by --versions"
        )
    others = {subject.dbms for subject in run.subjects} - {dbms}
    if others:
        raise UsageError(f"run {run.id} is of {others.pop()}, not of {dbms}")
    known = [name for name in new if name in earlier]
    if known:
        raise UsageError(f"run {run.id} has {known[0]} already")


def joining_name(run: Run, dbms: str) -> str:
    """Return what the experiment is called: beside the run's own file if that was one."""
    name = f"{dbms}-joins-{run.id}"
    own = Path(run.experiment_name)
    return str(own.with_name(f"{name}.toml")) if own.is_absolute() else name


def _anchor(run: Run, named: str | None, sound: Sequence[str], new: Sequence[str]) -> str:
    """Return the anchor: the newest of the run's versions that is older than all new ones."""
    if named is not None:
        if named not in sound:
            raise UnknownName(f"version in run {run.id}", named, sound)
        return named
    by_age = sorted(sound, key=age)
    older = [name for name in by_age if age(name) < min(map(age, new))]
    return older[-1] if older else by_age[0]


def _subject(declared: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return what a subject is declared to be, with what it takes over from others.

    It takes part in any case, also if it was optional.
    """
    own = dict(declared["subjects"][name])
    own.pop("optional", None)
    like = own.pop("like", None)
    if like is None:
        return own
    model = _subject(declared, like)
    return {key: model[key] for key in model if key not in OWN} | own


def _design(run: Run, declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of the design; what hone chose then is no longer hone's to choose."""
    design = declared.get("design", {})
    kept = {name: design[name] for name in _KEPT_OF_DESIGN if name in design}
    if not run.in_short_slices:
        kept["slices"] = "fresh"
    return kept | {
        "servers": "one" if run.one_server else "all",
        "placement": "auto" if run.cpus_apart else "free",
    }


def _sources(declared: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the source of a subject, and the one whose profile it takes."""
    subject = _subject(declared, name)
    named = {subject.get("source"), subject.get("profile_source")}
    return {key: value for key, value in declared.get("sources", {}).items() if key in named}
