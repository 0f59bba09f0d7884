"""Histories: the experiment that compares versions of a DBMS, and the order that makes it one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from dbhone.dbms.base_server import ServerDbms
from dbhone.errors import ExperimentError, UnknownName, UsageError
from dbhone.experiment.model import SubjectDeclaration
from dbhone.experiment.production import load_dbms
from dbhone.measurement.record import Role
from dbhone.source.versions import FILE, KnownVersion, KnownVersions, age

CONTROL = "control"
_SHARE = 15 * 60.0
"""Seconds for each subject: a dozen blocks of the usual suite, and what comes before."""
_SUITE = "speedtest1"
_SERVER_SUITE = "sysbench:micro"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRequest:
    """What a history is to be of. ``versions`` are the oldest first.

    ``suite`` None takes the usual one; ``sets`` and ``threads`` empty take the suite's own;
    ``budget`` is in seconds, None for a quarter of an hour for each version and the control;
    ``target`` is a fraction.
    """

    dbms: str
    versions: tuple[KnownVersion, ...]
    suite: str | None
    size: str
    sets: tuple[str, ...]
    threads: tuple[int, ...]
    budget: float | None
    target: float
    seed: int


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
            raise UsageError(f"{words[at]} is {each.name}, which is named before")
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
    first, *others = [each.name for each in request.versions]
    suite = request.suite or (_SERVER_SUITE if isinstance(dbms, ServerDbms) else _SUITE)
    workload = {"suite": _text(suite), "size": _text(request.size)}
    if request.sets:
        workload["sets"] = _list(request.sets)
    if request.threads:
        workload["threads"] = json.dumps(request.threads)
    budget = request.budget or _SHARE * (len(request.versions) + 1)
    design = {
        "target": _text(f"{request.target * 100:g}%"),
        "budget": _text(f"{budget / 60:g}m"),
        "seed": str(request.seed),
    }
    subjects = {
        first: _subject(request.versions[0]),
        CONTROL: f"{{ like = {_text(first)} }}",
        **{each.name: _subject(each) for each in request.versions[1:]},
    }
    parts = (
        f"# Written by `hone history {request.dbms}`: change it, and give it to `hone run`.",
        _lines({"title": _text(f"{dbms.title} {first} to {others[-1]}"), "base": _text(first)}),
        "[history]\n" + _lines({"order": _list([first, *others])}),
        "[sources]\n" + _lines({each.name: _text(each.source) for each in request.versions}),
        "[subjects]\n" + _lines(subjects),
        "[workload]\n" + _lines(workload),
        "[design]\n" + _lines(design),
    )
    return "\n\n".join(parts) + "\n"


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


def _subject(version: KnownVersion) -> str:
    made = f", variant = {_text(version.variant)}" if version.variant is not None else ""
    return f"{{ dbms = {_text(version.dbms)}, source = {_text(version.name)}{made} }}"


def _lines(values: dict[str, str]) -> str:
    return "\n".join(f"{_key(name)} = {value}" for name, value in values.items())


def _key(name: str) -> str:
    return name if name.isalpha() else _text(name)


def _text(value: str) -> str:
    # What JSON writes as a string is one in TOML, too.
    return json.dumps(value)


def _list(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"
