"""The file that tells a reader what a package is, what it needs and what it lacks."""

from __future__ import annotations

from dbhone.compilation.manifest import Build, Manifest
from dbhone.dbms.base import load_dbms
from dbhone.own_version import own_version
from dbhone.package.archive import Entry
from dbhone.package.content import Content, public_reference, without_paths
from dbhone.verification.outcome import Outcome

OF_ONE_PROCESSOR = (
    "it was compiled for the very processor of the machine that built it: on another its programs"
    " may end with an illegal instruction"
)
"""What is to be said of a build for one processor of which nothing is known."""
_RULES = (
    "The packages are the distribution's own, built by its rules. They have its features and its",
    "hardening; the server alone is compiled with other flags.",
    "",
    "'hone install FILE' installs those whose originals are installed, and keeps the originals.",
    "",
)
_OF_ANOTHER_BUILD = (
    "What was measured is another build of this source and variant, by hone's own recipe: without",
    "the distribution's options and without its hardening, which costs speed (stack protector,",
    "checked functions, code at any address, addresses bound at start).",
    "",
)


def read_me(
    build: Build,
    content: Content,
    outcome: Outcome,
    levers: tuple[str, ...],
    *,
    another_was_measured: bool,
) -> Entry:
    """Return the file that tells a reader what a package is.

    ``levers`` say how those are set that the measured server had. ``another_was_measured`` is
    whether the enclosed measurement is of another build of the same source.
    """
    manifest, dbms = build.manifest, load_dbms(build.manifest.dbms)
    flags = " ".join(without_paths(flag) for flag in build.shown_flags)
    lists = ", ".join(f"{tests.name} ({tests.proving})" for tests in outcome.lists)
    lines = [
        f"{dbms.title} {manifest.version}, built by hone {own_version()}",
        "",
        f"variant    {manifest.variant}",
        f"compiler   {manifest.compiler}",
        f"flags      {flags}",
        f"source     {public_reference(manifest.source)}",
        f"           tree of digest {manifest.source_digest}",
        f"runs on    {_needed(content)}",
        f"verified   at the grade {outcome.grade.value}: {_passes(outcome)} of {lists}",
        f"licence    {content.licence.name}, see licences/",
        "",
        content.licence.duty,
        "",
        *_lacks(content),
        *_besides(levers),
        *_processors(manifest),
        *(_RULES if manifest.inputs.packaging else ("The folder may lie anywhere.",)),
        *(_OF_ANOTHER_BUILD if another_was_measured else ()),
        "'hone package --check FILE' of the whole file says, on any machine, whether this is what",
        "hone packed, and what its measurement shows.",
        "",
    ]
    return Entry(name="README", data="\n".join(lines).encode())


def _needed(content: Content) -> str:
    """Return the processor, and the libraries of the system that are needed."""
    glibc = (f"glibc {content.glibc} or newer",) if content.glibc else ()
    libraries = ", ".join((*content.libraries, *glibc))
    return f"{content.machine}, with {libraries}" if libraries else content.machine


def _passes(outcome: Outcome) -> str:
    if outcome.build == outcome.base:
        return "it is its own base, and passes"
    return "passes what the base passes"


def _besides(levers: tuple[str, ...]) -> list[str]:
    """Return the lines on the levers of the server that was measured."""
    if not levers:
        return []
    return [
        "What was measured had levers besides, which are no part of this package. They are set so:",
        *(f"  - {lever}" for lever in levers),
        "",
    ]


def _processors(manifest: Manifest) -> list[str]:
    """Return the lines on the processors that it runs on, if not on all of its kind."""
    lines = []
    if manifest.cpu_flags:
        lines.append(f"It needs a processor that has {', '.join(sorted(manifest.cpu_flags))}.")
    if manifest.inputs.variant.host_specific and not manifest.native_cpu_flags:
        lines.append(f"{OF_ONE_PROCESSOR[0].upper()}{OF_ONE_PROCESSOR[1:]}.")
    return [*lines, ""] if lines else []


def _lacks(content: Content) -> list[str]:
    """Return the lines that tell what a distribution's packages have besides."""
    if not content.lacks:
        return []
    return [
        "A distribution's packages have what this build has not:",
        *(f"  - {what}" for what in content.lacks),
        "",
    ]
