"""Experiment files that hone writes: what ``hone compare`` and ``hone history`` execute.

A side of a comparison is a source reference, with a variant after ``#`` if it is to be built in
another way than is usual: ``known:mysql@8.0.12``, ``apt:postgresql#lto+pgo``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import InlineTable

from dbhone.compilation.inputs import variant_of
from dbhone.compilation.variant import Variant
from dbhone.dbms.base import Dbms, load_dbms, system_names
from dbhone.errors import UsageError
from dbhone.experiment.resolve import MOST_LETTERS
from dbhone.experiment.subjects import CONTROL
from dbhone.files import digest_of
from dbhone.measurement.record import READY_MADE
from dbhone.source.kinds.base import absolute_reference, kind_of, parse_reference
from dbhone.source.known_versions import FILE, PREFIX, KnownVersion, KnownVersions
from dbhone.versions import age

_SUBJECT_SECONDS = 15 * 60.0
"""For each subject: a dozen blocks of the usual suite, and what comes before."""
SYNTAX = "SOURCE or SOURCE#VARIANT"
COMPARISON = "compare"
"""What the experiments are called that are written here."""
_LONGEST_NAME = 36
"""The letters of a side's name that come of what it is."""
_LEAST_HEAD = 12
"""The letters that a shortened name begins with at least."""
_DIGITS = 6
"""Of the digest that stands for what was taken out of a name."""
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9.+-]+")
"""What Debian calls a package."""
_FOREIGN = re.compile(r"[^A-Za-z0-9._+-]+")


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
    "design.layouts": "--layouts",
}
"""The options of commands that write an experiment, by the keys that they become."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignOptions:
    """How an experiment is to be measured.

    ``budget`` is in seconds, None for a quarter of an hour for each subject; ``target`` is a
    fraction.
    """

    budget: float | None
    target: float
    seed: int
    stop_early: bool = False
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
        "target": f"{options.target * 100:g}%",
        "budget": f"{budget / 60:g}m",
        "seed": options.seed,
        **({"stop_early": True} if options.stop_early else {}),
        **({"layouts": options.layouts} if options.layouts else {}),
    }


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two that are compared.

    ``source`` is a source reference and ``short`` what it is called; ``word`` is the variant as it
    was written, or the usual one of such a source, and ``variant`` what that means. ``dbms`` is
    None where the word does not tell it, ``compiler`` where it is the usual one.
    """

    source: str
    short: str
    word: str
    variant: Variant
    dbms: str | None
    compiler: str | None = None


def named_reference(word: str) -> str:
    """Return the source reference that a word means: a DBMS's own, or that of a package's source.

    What is neither the name of a DBMS nor that of a package is returned unchanged.
    """
    if word in system_names():
        return load_dbms(word).reference
    is_package = _PACKAGE.fullmatch(word) is not None and not Path(word).exists()
    return f"apt:{word}" if is_package else word


def parse_side(text: str, known: KnownVersions) -> Side:
    """Return what a word of the command line means. Nothing is fetched.

    Raises UsageError, UnknownName or VariantError for invalid input.
    """
    head, hash_, tail = text.rpartition("#")
    # What follows "#" may belong to the source: https://…#sha256=…
    of_source = not hash_ or "=" in tail
    reference, named_variant = (text, None) if of_source else (head, tail)
    version = _known(reference, known)
    parsed = parse_reference(version.source if version else named_reference(reference))
    word = named_variant or (version.variant if version else None)
    if named_variant == "":
        raise UsageError(f"'{text}' names no variant after '#'", hint=f"write it as {SYNTAX}")
    variant = variant_of(parsed.text, word)
    source = absolute_reference(parsed.text, Path())
    return Side(
        source=source,
        short=f"{version.dbms}-{version.name}" if version else _short(source),
        word=word or variant.name,
        variant=variant,
        dbms=version.dbms if version else reference if reference in system_names() else None,
    )


def with_dbms(side: Side, recognise: Callable[[Side], str]) -> Side:
    """Return a side that knows its DBMS; ``recognise`` is asked if it does not."""
    return side if side.dbms is not None else dataclasses.replace(side, dbms=recognise(side))


def compiled_by(first: Side, second: Side, compilers: Sequence[str]) -> tuple[Side, Side]:
    """Return two sides that one compiler builds, or a compiler each.

    Raises UsageError if more are named, or one for what is ready-made.
    """
    if len(compilers) > 2:
        raise UsageError(
            f"{len(compilers)} compilers are named for two builds",
            hint="name one for both, or one for A and one for B",
        )
    ready_made = [side for side in (first, second) if side.variant.ready_made]
    if len(ready_made) + len(compilers) > 2:
        raise UsageError(f"{ready_made[0].short} is ready-made, and no compiler makes it")
    of_both = (*compilers, *compilers)[:2] if compilers else (None, None)
    first, second = (
        side if side.variant.ready_made else dataclasses.replace(side, compiler=compiler)
        for side, compiler in zip((first, second), of_both, strict=True)
    )
    return first, second


def check_together(first: Side, second: Side, train: tuple[str, ...]) -> None:
    """Refuse two sides that cannot be compared, or not with this training. Raises UsageError."""
    if not _differences(first, second):
        raise UsageError(
            f"both are {first.short} as {first.word}: there is nothing to compare",
            hint="name another version, variant or compiler; every comparison has an A/A control"
            " already",
        )
    guided = [build for build in (first, second) if build.variant.profile_guided]
    if train and not guided:
        first_word, other = first.word, second.word
        neither = (
            f"{first_word} takes no"
            if first_word == other
            else f"neither {first_word} nor {other} takes"
        )
        raise UsageError(
            f"{neither} training", hint="add pgo or bolt to a variant, or leave --train out"
        )


def compare_text(
    first: Side,
    second: Side,
    train: tuple[str, ...],
    workload: WorkloadOptions,
    design: DesignOptions,
) -> str:
    """Return the experiment file: the first side is the base and the control.

    Both sides know their DBMS. ``train`` are the sets that profile-guided builds are trained on.
    """
    base, candidate = _names(first, second)
    title = f"{candidate} beside {base}"
    called = (base, candidate)
    if first.source == second.source:
        title, called = f"{first.short}: {title}", (first.short, first.short)
    return file_text(
        "Written by `hone compare`: change it, and give it to `hone run`.",
        {"title": title, "base": base},
        {
            "sources": dict(zip(called, (first.source, second.source), strict=True)),
            "subjects": {
                base: _subject(first, called[0]),
                CONTROL: {"like": base},
                candidate: _subject(second, called[1]),
            },
            "training": {"sets": train} if train else {},
            "workload": workload_table(workload, load_dbms(first.dbms or "")),
            "design": design_table(design, 3),
        },
    )


def as_name(text: str) -> str:
    """Return a text with a hyphen for whatever no subject's name may have."""
    return _FOREIGN.sub("-", text)


def fitting_name(head: str, tail: str = "") -> str:
    """Return a subject's name of both parts.

    In a name that would be too long a digest stands for the middle.
    """
    whole, end = as_name(head + tail), as_name(tail)
    if len(whole) <= MOST_LETTERS:
        return whole
    room = MOST_LETTERS - _DIGITS - 1
    if room - len(end) < _LEAST_HEAD:
        end = ""
    digest = digest_of(head + tail)[:_DIGITS]
    return f"{whole[: room - len(end)].rstrip('-._+')}-{digest}{end}"


def _known(reference: str, known: KnownVersions) -> KnownVersion | None:
    if not reference.startswith(PREFIX):
        return None
    known.meaning(reference)  # refuses what is written wrongly
    dbms, _, word = reference.removeprefix(PREFIX).partition("@")
    return known.find(dbms, word)


def _short(source: str) -> str:
    """Return the end of a source reference, as far as it can be part of a name."""
    last = source.partition("#")[0].rstrip("/").rpartition("/")[2].rpartition(":")[2]
    return as_name(last).strip("-._+") or "source"


def _names(first: Side, second: Side) -> tuple[str, str]:
    """Return what the two are called: by that in which they differ."""
    pair = ("-".join(words) for words in zip(*_differences(first, second), strict=True))
    first_name, two = (as_name(name)[-_LONGEST_NAME:].lstrip("-._+") for name in pair)
    if first_name == two or CONTROL in (first_name, two):
        return f"{first_name}-a", f"{two}-b"
    return first_name, two


def _differences(first: Side, second: Side) -> list[tuple[str, str]]:
    """Return what each is called by that in which they differ: source, compiler, variant."""
    found = []
    if first.source != second.source:
        found.append((first.short, second.short))
    if first.compiler and second.compiler and first.compiler != second.compiler:
        found.append((Path(first.compiler).name, Path(second.compiler).name))
    if first.variant != second.variant:
        found.append((first.word, second.word))
    return found


def _subject(side: Side, source: str) -> dict[str, Any]:
    compiler = {} if side.compiler is None else {"compiler": side.compiler}
    return {"dbms": side.dbms, "source": source, "variant": side.word, **compiler}
