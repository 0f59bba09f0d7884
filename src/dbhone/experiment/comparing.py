"""The experiment that compares two versions or builds, written from two words.

A word is a source reference, with a variant behind ``#`` if it is to be built in another way
than is usual: ``known:mysql@8.0.12``, ``apt:postgresql#lto+pgo``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dbhone.compilation.variant import Variant, parse_variant
from dbhone.dbms.base import load_dbms
from dbhone.errors import UsageError
from dbhone.experiment.templates import (
    CONTROL,
    Wishes,
    Work,
    design_table,
    file_text,
    workload_table,
)
from dbhone.measurement.record import READY_MADE
from dbhone.source.known_versions import PREFIX, KnownVersion, KnownVersions
from dbhone.source.reference import kind_of, parse_reference

SYNTAX = "SOURCE or SOURCE#VARIANT"
COMPARISON = "compare"
"""What the experiments are called that are written here."""
_VARIANT = "rel"
_LONGEST = 36
_FOREIGN = re.compile(r"[^A-Za-z0-9._+-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two that are compared.

    ``source`` is a source reference and ``short`` what it is called; ``word`` is the variant as it
    was written, or the usual one of such a source, and ``variant`` what that means. ``dbms`` is
    None where the word does not tell it.
    """

    source: str
    short: str
    word: str
    variant: Variant
    dbms: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRequest:
    """What is to be compared, and how; both sides know their DBMS.

    ``train`` are the sets that profile-guided builds are trained on.
    """

    first: Side
    second: Side
    train: tuple[str, ...]
    work: Work
    wishes: Wishes


def parse_side(text: str, known: KnownVersions) -> Side:
    """Return what a word of the command line means. Nothing is fetched.

    Raises UsageError, UnknownName or VariantError for what cannot be meant.
    """
    head, hash_, tail = text.rpartition("#")
    # What stands behind "#" may belong to the source: https://…#sha256=…
    of_source = not hash_ or "=" in tail
    reference, asked = (text, None) if of_source else (head, tail)
    version = _known(reference, known)
    parsed = parse_reference(version.source if version else reference)
    word = asked or (version.variant if version else None)
    if asked == "":
        raise UsageError(f"'{text}' names no variant behind '#'", hint=f"write it as {SYNTAX}")
    ready_made = kind_of(parsed.kind).ready_made
    word = word or (READY_MADE if ready_made else _VARIANT)
    variant = parse_variant(word)
    if ready_made and not variant.ready_made:
        raise UsageError(
            f"{reference} brings a ready-made server, which cannot be built as {word}",
            hint="leave the variant out, or name a source that brings the server's source",
        )
    # A relative folder is one of where hone was started, wherever the experiment is kept.
    source = f"dir:{parsed.location}" if parsed.kind == "dir" else parsed.text
    return Side(
        source=source,
        short=f"{version.dbms}-{version.name}" if version else _short(source),
        word=word,
        variant=variant,
        dbms=version.dbms if version else None,
    )


def with_dbms(side: Side, recognise: Callable[[Side], str]) -> Side:
    """Return a side that knows its DBMS; ``recognise`` is asked if it does not."""
    return side if side.dbms is not None else dataclasses.replace(side, dbms=recognise(side))


def check_together(first: Side, second: Side, train: tuple[str, ...]) -> None:
    """Refuse two sides that cannot be compared, or not with this training. Raises UsageError."""
    if first.source == second.source and first.variant == second.variant:
        raise UsageError(
            f"both are {first.short} as {first.word}: there is nothing to compare",
            hint="name another version or variant; every comparison has an A/A control already",
        )
    guided = [each for each in (first, second) if each.variant.profile_guided]
    if guided and not train:
        raise UsageError(
            f"the variant {guided[0].word} is profile-guided and must be trained",
            hint="add --train point-query, or for SQLite --train main",
        )
    if train and not guided:
        one, other = first.word, second.word
        neither = f"{one} takes no" if one == other else f"neither {one} nor {other} takes"
        raise UsageError(f"{neither} training", hint="add pgo to a variant, or leave --train out")


def compare_text(request: CompareRequest) -> str:
    """Return the experiment file: the first side is the base and the control."""
    first, second = request.first, request.second
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
            "training": {"sets": request.train} if request.train else {},
            "workload": workload_table(request.work, load_dbms(first.dbms or "")),
            "design": design_table(request.wishes, 3),
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
    return _FOREIGN.sub("-", last).strip("-._+") or "source"


def _names(first: Side, second: Side) -> tuple[str, str]:
    """Return what the two are called: by that in which they differ."""
    if first.source == second.source:
        pair = (first.word, second.word)
    elif first.variant == second.variant:
        pair = (first.short, second.short)
    else:
        pair = (f"{first.short}-{first.word}", f"{second.short}-{second.word}")
    one, two = (_FOREIGN.sub("-", each)[-_LONGEST:].lstrip("-._+") for each in pair)
    if one == two or CONTROL in (one, two):
        return f"{one}-a", f"{two}-b"
    return one, two


def _subject(side: Side, source: str) -> dict[str, Any]:
    return {"dbms": side.dbms, "source": source, "variant": side.word}
