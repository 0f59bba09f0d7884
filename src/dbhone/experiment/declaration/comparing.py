"""The two sides of a comparison, and the experiment file that ``hone compare`` writes of them.

A side is a source reference, with a variant after ``#`` if it is to be built in another way than is
usual: ``known:mysql@8.0.12``, ``apt:postgresql#lto+pgo``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbhone.compilation.inputs import variant_of
from dbhone.compilation.variant import Variant
from dbhone.dbms.base import load_dbms, system_names
from dbhone.errors import UsageError
from dbhone.experiment.declaration.subject_names import as_name
from dbhone.experiment.declaration.subjects import CONTROL
from dbhone.experiment.declaration.templates import (
    DesignOptions,
    WorkloadOptions,
    design_table,
    file_text,
    workload_table,
)
from dbhone.source.kinds.base import absolute_reference, parse_reference
from dbhone.source.known_versions import PREFIX, KnownVersion, KnownVersions

SYNTAX = "SOURCE or SOURCE#VARIANT"
COMPARISON = "compare"
"""What the experiments are called that are written here."""
_LONGEST_NAME = 36
"""The letters of a side's name that come of what it is."""
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9.+-]+")
"""What Debian calls a package."""


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


def split_variant(text: str) -> tuple[str, str | None]:
    """Return the source of ``SOURCE#VARIANT`` and the variant, None if it names none."""
    source, hash_, variant = text.rpartition("#")
    # What follows "#" may belong to the source: https://…#sha256=…
    of_source = not hash_ or "=" in variant
    return (text, None) if of_source else (source, variant)


def parse_side(text: str, known: KnownVersions) -> Side:
    """Return what a word of the command line means. Nothing is fetched.

    Raises UsageError, UnknownName or VariantError for invalid input.
    """
    reference, named_variant = split_variant(text)
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
