"""Histories: the experiment that compares versions of a DBMS, and the order that makes it one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbhone.ages import age
from dbhone.dbms.base import load_dbms
from dbhone.errors import ExperimentError, UnknownName, UsageError
from dbhone.experiment.model import SubjectDeclaration
from dbhone.experiment.templates import (
    CONTROL,
    Wishes,
    Work,
    design_table,
    file_text,
    version_table,
    workload_table,
)
from dbhone.measurement.record import Role
from dbhone.source.known_versions import FILE, KnownVersion, KnownVersions


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRequest:
    """What a history is to be of, and how. ``versions`` are the oldest first."""

    dbms: str
    versions: tuple[KnownVersion, ...]
    work: Work
    wishes: Wishes


def choose_versions(
    known: KnownVersions, dbms: str, words: Sequence[str]
) -> tuple[KnownVersion, ...]:
    """Return the versions that are meant, the oldest first; the usual ones without ``words``.

    Raises UsageError if there are fewer than two or one is meant twice, UnknownName for an
    unknown one.
    """
    chosen = [known.find(dbms, word) for word in words]
    if not words:
        chosen = [each for each in known.of(dbms) if each.usual]
    for at, each in enumerate(chosen):
        if each in chosen[:at]:
            first, word = words[chosen.index(each)], words[at]
            same = f"{first} and {word} are both {each.name}"
            raise UsageError(f"{word} is named twice" if word == first else same)
    if len(chosen) < 2:
        names = ", ".join(each.name for each in known.of(dbms)) or "none"
        raise UsageError(
            "a history needs two versions or more",
            hint=f"known of {dbms}: {names}; more can be put into {FILE} in hone's home",
        )
    return tuple(sorted(chosen, key=lambda each: age(each.name)))


def history_text(request: HistoryRequest) -> str:
    """Return the experiment file of a history: the oldest version is the base, and the control."""
    dbms = load_dbms(request.dbms)
    names = [each.name for each in request.versions]
    first, *others = request.versions
    return file_text(
        f"Written by `hone history {request.dbms}`: change it, and give it to `hone run`.",
        {"title": f"{dbms.title} {names[0]} to {names[-1]}", "base": names[0]},
        {
            "history": {"order": names},
            "sources": {each.name: each.source for each in request.versions},
            "subjects": {
                first.name: version_table(first, dbms=dbms.name),
                CONTROL: {"like": first.name},
                **{each.name: version_table(each, dbms=dbms.name) for each in others},
            },
            "workload": workload_table(request.work, dbms),
            "design": design_table(request.wishes, len(names) + 1),
        },
    )


def check_order(order: Sequence[str], subjects: Sequence[SubjectDeclaration], where: str) -> None:
    """Refuse an order that cannot be meant: it begins with the base, and has each version once.

    Raises UnknownName or ExperimentError, told to be at ``where``.
    """
    versions = [each.name for each in subjects if each.role is not Role.CONTROL]
    for name in order:
        if name not in versions:
            raise UnknownName("version", name, versions, where=where)
    if len(set(order)) < len(order):
        raise ExperimentError(f"{where}: a version is named twice")
    missing = [name for name in versions if name not in order]
    if missing:
        raise ExperimentError(
            f"{where}: {missing[0]} has no place in it",
            hint="name all subjects but the control, the oldest first",
        )
    base = next(each.name for each in subjects if each.role is Role.BASE)
    if order[0] != base:
        raise ExperimentError(
            f"{where}: the oldest version, {order[0]}, has to be the base",
            hint=f'base = "{order[0]}"',
        )
