"""Experiment files that hone writes: their tables, and the history of some versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tomlkit
from tomlkit.items import InlineTable

from dbhone.dbms.base import Dbms, load_dbms
from dbhone.errors import UsageError
from dbhone.experiment.declaration.subjects import CONTROL
from dbhone.measurement.record import READY_MADE
from dbhone.source.kinds.base import kind_of, parse_reference
from dbhone.source.known_versions import FILE, KnownVersion, KnownVersions
from dbhone.versions import age

_SUBJECT_SECONDS = 15 * 60.0
"""For each subject: a dozen blocks of the usual suite, and what comes before."""

OPTIONS: Mapping[str, str] = {
    "workload.suite": "--suite",
    "workload.data": "--data",
    "workload.size": "--size",
    "workload.sets": "--sets",
    "workload.threads": "--threads",
    "training.sets": "--train",
    "design.budget": "--budget",
    "design.target": "--target",
    "design.seed": "--seed",
    "design.tolerance": "--tolerance",
    "design.layouts": "--layouts",
}
"""The options of commands that write an experiment, by the keys that they become."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignOptions:
    """How an experiment is to be measured.

    ``budget`` is in seconds, None for a quarter of an hour for each subject; ``target`` and
    ``tolerance`` are fractions.
    """

    budget: float | None
    target: float
    seed: int
    stop_early: bool = False
    tolerance: float | None = None
    layouts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadOptions:
    """What the subjects are to do.

    ``suite`` None takes the usual one; ``sets`` and ``threads`` empty take the suite's own.
    ``data`` is the path of a dump, for a suite that is a workload file.
    """

    suite: str | None
    size: str
    sets: tuple[str, ...] = ()
    threads: tuple[int, ...] = ()
    data: str | None = None


def workload_table(options: WorkloadOptions, dbms: Dbms) -> dict[str, Any]:
    """Return the ``[workload]`` of an experiment on a DBMS."""
    chosen = {"sets": options.sets, "threads": options.threads}
    return {
        "suite": options.suite or dbms.usual_suite,
        "size": options.size,
        **({"data": options.data} if options.data is not None else {}),
        **{name: values for name, values in chosen.items() if values},
    }


def design_table(options: DesignOptions, subjects: int, building: float = 0.0) -> dict[str, Any]:
    """Return the ``[design]`` of an experiment of this many subjects.

    Without a budget it has the seconds that ``building`` takes, too.
    """
    budget = options.budget or building + _SUBJECT_SECONDS * subjects
    return {
        "target": _percent(options.target),
        "budget": f"{budget / 60:g}m",
        "seed": options.seed,
        **({"stop_early": True} if options.stop_early else {}),
        **({"tolerance": _percent(options.tolerance)} if options.tolerance is not None else {}),
        **({"layouts": options.layouts} if options.layouts else {}),
    }


def _percent(share: float) -> str:
    return f"{share * 100:g}%"


def version_table(version: KnownVersion, **taken: str) -> dict[str, Any]:
    """Return the subject that is a version, with what else makes it (``dbms`` or ``like``)."""
    variant = {"variant": version.variant} if version.variant is not None else {}
    return {**taken, "source": version.name, **variant}


def file_text(
    comment: str, head: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]
) -> str:
    """Return a file's text: a comment, what stands before all tables, and the tables."""
    document = tomlkit.document()
    document.add(tomlkit.comment(comment))
    document.add(tomlkit.nl())
    for name, value in head.items():
        document.add(name, value)
    for name, values in tables.items():
        if values:
            table = tomlkit.table()
            for key, value in values.items():
                table.add(key, _inline(value) if isinstance(value, Mapping) else value)
            document.add(tomlkit.nl())
            document.add(name, table)
    return tomlkit.dumps(document)


def _inline(values: Mapping[str, Any]) -> InlineTable:
    """Return a table that stands on one line, as a subject does."""
    table = tomlkit.inline_table()
    table.update(
        {
            key: _inline(value) if isinstance(value, Mapping) else value
            for key, value in values.items()
        }
    )
    return table


def choose_versions(
    known: KnownVersions, dbms: str, words: Sequence[str]
) -> tuple[KnownVersion, ...]:
    """Return the versions that are meant, the oldest first; the usual ones without ``words``.

    Raises UsageError if there are fewer than two or one is meant twice, UnknownName for an
    unknown one.
    """
    chosen = [known.find(dbms, word) for word in words]
    if not words:
        chosen = [version for version in known.of(dbms) if version.usual]
    for at, version in enumerate(chosen):
        if version in chosen[:at]:
            first, word = words[chosen.index(version)], words[at]
            same = f"{first} and {word} are both {version.name}"
            raise UsageError(f"{word} is named twice" if word == first else same)
    if len(chosen) < 2:
        names = ", ".join(version.name for version in known.of(dbms)) or "none"
        raise UsageError(
            "a history needs two versions or more",
            hint=f"known of {dbms}: {names}; more can be put into {FILE} in hone's home;"
            f" 'hone history {dbms} --source git:URL --versions A..B --output FILE' writes a file"
            " of a repository's releases",
        )
    return tuple(sorted(chosen, key=lambda version: age(version.name)))


def history_text(
    dbms: str,
    versions: Sequence[KnownVersion],
    workload: WorkloadOptions,
    design: DesignOptions,
    *,
    variant: str | None = None,
    compiler: str | None = None,
    optional: bool = False,
) -> str:
    """Return the experiment file of a history: the oldest version is the base, and the control.

    The ``versions`` are the oldest first. ``variant`` is how those are built that have none of
    their own, and ``compiler`` by what all that are built. With ``optional`` a version that cannot
    be built is left out, unless it is the oldest. Raises UsageError if a variant or a compiler is
    named and nothing is to be compiled.
    """
    system = load_dbms(dbms)
    names = [version.name for version in versions]
    first, *others = versions
    compiled = compiled_versions(versions)
    left_out = {"optional": True} if optional else {}
    chosen = {"variant": variant, "compiler": compiler}
    given = {key: value for key, value in chosen.items() if value is not None}
    if given and not compiled:
        raise UsageError(f"these versions are ready-made, and no {next(iter(given))} makes them")

    def subject(version: KnownVersion) -> dict[str, Any]:
        table = version_table(version, dbms=dbms)
        return given | table if version in compiled else table

    return file_text(
        f"Written by `hone history {dbms}`: change it, and give it to `hone run`.",
        {"title": f"{system.title} {names[0]} to {names[-1]}", "base": names[0]},
        {
            "history": {"order": names},
            "sources": {version.name: version.source for version in versions},
            "subjects": {
                first.name: subject(first),
                CONTROL: {"like": first.name},
                **{version.name: subject(version) | left_out for version in others},
            },
            "workload": workload_table(workload, system),
            "design": design_table(design, len(names) + 1, len(compiled) * system.build_seconds),
        },
    )


def compiled_versions(versions: Sequence[KnownVersion]) -> list[KnownVersion]:
    """Return the versions that are compiled, without those that are fetched as programs."""
    return [version for version in versions if not _is_ready_made(version)]


def _is_ready_made(version: KnownVersion) -> bool:
    kind = kind_of(parse_reference(version.source).kind)
    return kind.ready_made or version.variant == READY_MADE
