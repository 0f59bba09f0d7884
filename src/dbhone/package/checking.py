"""Checks a package on any machine: files, signature, grade and verdict.

The verdict is recomputed from the samples. Whether the grade was passed follows from the lists.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from securesystemslib.signer import SSlibKey

from dbhone.compilation.host import lacking_instructions
from dbhone.compilation.variant import Variant, parse_variant
from dbhone.errors import HoneError, PackageError
from dbhone.package.archive import Entry, unpack
from dbhone.package.image import Image, read_layout
from dbhone.package.measurement import Measured, findings, of_csv
from dbhone.package.packing import SAMPLES, outcome_of
from dbhone.package.proof import (
    MEASUREMENT,
    PROVENANCE,
    REPRODUCTION,
    VERIFICATION,
    Statements,
    identity,
    read_proof,
)
from dbhone.package.read_me import OF_ONE_PROCESSOR
from dbhone.package.repetition import Gain, gains
from dbhone.source.elf import glibc_here, machine_here
from dbhone.versions import numbers

_CPU_FLAG = re.compile(r"[0-9a-z_]{1,40}")
_VERSION = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,3}")
_ODD_VALUES = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError, OSError, RecursionError),
    *(TypeError, ValueError),
)
"""What values raise that somebody made up, such as a time that no calendar has."""
_TOLERANCE = 1e-5
"""By how much another machine's arithmetic may differ, as a fraction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A package that is what it says.

    ``key`` is the id of the key that signed it, None if unsigned. ``build`` says what was built and
    how, ``machine`` for which kind of processor, ``variant`` for which of them. One for a single
    processor names what that has, ``native_cpu_flags``; packages of before do not. ``glibc`` is the
    oldest version that is enough: None for an image, which brings one, and for a package that names
    none. ``grade`` was passed, by a plain build perhaps as its own base, ``is_own_base``;
    ``lists`` has, for each list, how many of how many tests proved something. ``found`` is what
    its samples show of the ``subject``, computed here; both are None without a measurement. Of
    packages by a distribution's rules (``packaging``) another build may have been measured;
    ``measured`` says whether it was this one. ``differing`` are the files that a second build
    of the same inputs differs in, None if there was none. ``lacks`` is what a distribution's
    packages have besides. ``experiment`` is what repeats the measurement, or ``private`` says
    why others cannot.
    """

    name: str
    files: int
    key: str | None
    dbms: str
    version: str
    build: str
    machine: str
    grade: str
    lists: tuple[tuple[str, int, int], ...]
    subject: str | None
    found: Mapping[str, Any] | None
    packaging: str | None
    measured: bool
    variant: str
    native_cpu_flags: frozenset[str] = frozenset()
    glibc: str | None = None
    differing: tuple[str, ...] | None = None
    lacks: tuple[str, ...] = ()
    is_own_base: bool = False
    experiment: Mapping[str, Any] | None = None
    private: str = ""

    @property
    def why_not_here(self) -> str | None:
        """Why its programs cannot run on this machine, None if nothing speaks against it."""
        if self.machine != machine_here():
            return f"it is for {self.machine}, and this machine is {machine_here()}"
        variant = self._known_variant
        of_variant = frozenset[str]() if variant is None else variant.cpu_flags
        lacking = lacking_instructions(of_variant | self.native_cpu_flags)
        if lacking is not None:
            return f"it was compiled as {self.variant}, and {lacking}"
        if self.glibc is None:
            return None
        here = glibc_here()
        if here is None:
            return f"it needs glibc {self.glibc}, and this machine's C library is not glibc"
        if numbers(here) < numbers(self.glibc):
            return f"it needs glibc {self.glibc} or newer, and this machine has glibc {here}"
        return None

    @property
    def why_perhaps_not_here(self) -> str | None:
        """Why its programs may not run on this machine, None if no such reason is known."""
        variant = self._known_variant
        if variant is None:
            return f"this hone does not know for which processors {self.variant} compiles"
        unknown = variant.host_specific and not self.native_cpu_flags
        return OF_ONE_PROCESSOR if unknown else None

    @property
    def _known_variant(self) -> Variant | None:
        try:
            return parse_variant(self.variant)
        except HoneError:
            return None

    @property
    def gains(self) -> tuple[Gain, ...]:
        """What the samples show of the subject, over all steps that are alike in-sample."""
        return gains(self.found["summaries"], self.subject) if self.found else ()


def check_package(file: bytes, trusted: SSlibKey | None = None) -> Checked:
    """Return what a package says, all of it checked.

    Raises PackageError if any byte of it was altered, if it is not signed by the ``trusted`` key,
    or if its samples do not show what it says.
    """
    try:
        return _checked(file, trusted)
    except _ODD_VALUES as error:
        raise PackageError("the package holds values that hone never writes") from error


def _checked(file: bytes, trusted: SSlibKey | None) -> Checked:
    name, moment, listed = unpack(file)
    image = None
    if not name:
        name, moment, listed, image = read_layout(listed)
    entries = {entry.name: entry for entry in listed}
    if len(entries) != len(listed):
        raise PackageError("the package holds a file twice")
    statements = read_proof(entries, trusted)
    _check_files(entries, statements)
    for kind in (PROVENANCE, VERIFICATION):
        if kind not in statements.predicates:
            raise PackageError(f"the package has no statement of the type {kind}")
    _check_whole(image, identity(name, moment, statements.predicates), statements)
    measurement = statements.predicates.get(MEASUREMENT)
    found = None if measurement is None else _found_again(measurement, entries)
    try:
        return _described(name, len(entries), statements, found)
    except (KeyError, TypeError, ValueError) as error:
        raise PackageError("the package's statements are incomplete") from error


def _described(
    name: str, files: int, statements: Statements, found: Mapping[str, Any] | None
) -> Checked:
    definition = statements.predicates[PROVENANCE]["buildDefinition"]
    asked, made = definition["externalParameters"], definition["internalParameters"]
    made_as = statements.predicates[PROVENANCE]["runDetails"]["metadata"]["invocationId"]
    outcome = outcome_of(statements.predicates[VERIFICATION])
    if not outcome.passed:
        raise PackageError(f"the package's build has passed no grade: {outcome.reason()}")
    if outcome.build != made_as:
        raise PackageError("what passed the grade is another build than the package's")
    measurement = statements.predicates.get(MEASUREMENT)
    experiment = dict((measurement or {}).get("experiment", {}))
    reproduction = statements.predicates.get(REPRODUCTION)
    flags = " ".join(map(str, (*made["compile_flags"], *made["link_flags"])))
    return Checked(
        name=name,
        files=files,
        key=statements.key,
        dbms=str(asked["dbms"]),
        version=str(asked["version"]),
        build=f"{asked['dbms']} {asked['version']}, {asked['variant']}: {flags}",
        machine=str(made["machine"]),
        variant=str(asked["variant"]),
        native_cpu_flags=_cpu_flags(made.get("native_cpu_flags", [])),
        glibc=_glibc(made.get("glibc")) if made.get("image") is None else None,
        lacks=tuple(map(str, made.get("lacks", ()))),
        grade=outcome.grade.value,
        is_own_base=outcome.base == outcome.build,
        lists=tuple((tests.name, tests.proving, tests.tests) for tests in outcome.lists),
        subject=None if measurement is None else str(measurement["subject"]),
        found=found,
        packaging=asked.get("packaging"),
        measured=measurement is not None and measurement.get("build", made_as) == made_as,
        experiment=experiment.get("public"),
        private=str(experiment.get("private", "the package has no experiment")),
        differing=None if reproduction is None else tuple(map(str, reproduction["differing"])),
    )


def _glibc(stated: Any) -> str | None:
    """Return the version that a package states; one of before states none. Raises ValueError."""
    if stated is not None and not _VERSION.fullmatch(str(stated)):
        raise ValueError("glibc")
    return None if stated is None else str(stated)


def _cpu_flags(stated: Any) -> frozenset[str]:
    """Return the names that a package states of a processor's flags. Raises ValueError."""
    if not isinstance(stated, list) or not all(_CPU_FLAG.fullmatch(str(flag)) for flag in stated):
        raise ValueError("native_cpu_flags")
    return frozenset(map(str, stated))


def _check_files(entries: Mapping[str, Entry], statements: Statements) -> None:
    """Raise PackageError unless the statements name all files but their own, and these only."""
    files = entries.keys() - {statements.file}
    stated = set(statements.subjects)
    for name in sorted(files ^ stated):
        what = "lacks" if name in stated else "holds the undeclared file"
        raise PackageError(f"the package {what} {name}")
    for name in sorted(files):
        if (entries[name].digest, entries[name].kind) != statements.subjects[name]:
            raise PackageError(f"{name} is not the file that the package's statements are about")


def _check_whole(image: Image | None, found: Mapping[str, Any], statements: Statements) -> None:
    """Raise PackageError unless a package as a whole is the one that its statements speak of.

    ``found`` is its identity; a package of before states none. An image may be around it.
    """
    try:
        definition = statements.predicates[PROVENANCE]["buildDefinition"]
        stated = definition["internalParameters"]
        of_image, of_package = stated.get("image"), stated.get("package", found)
    except (KeyError, TypeError, AttributeError) as error:
        raise PackageError("the package's statements are incomplete") from error
    if of_image != (None if image is None else image.stated):
        raise PackageError("the image is not the one that the package's statements are about")
    if of_package != found:
        raise PackageError("the package's name, time or list of statements was altered")


def _found_again(measurement: Mapping[str, Any], entries: Mapping[str, Entry]) -> dict[str, Any]:
    """Return what the samples show. Raises PackageError if the package says otherwise."""
    try:
        measured, said = Measured.of_json(measurement["measured"]), measurement["found"]
        samples = of_csv(entries[SAMPLES].data)
    except KeyError as error:
        raise PackageError("the package's measurement is incomplete") from error
    found = findings(measured, samples)
    where = _difference(said, found, "")
    if where is not None:
        raise PackageError(f"the samples do not support what the package claims about {where}")
    return found


def _difference(said: Any, found: Any, where: str) -> str | None:
    """Return the place of the first difference between two plain values, None if there is none."""
    if isinstance(said, dict) and isinstance(found, dict):
        if said.keys() != found.keys():
            return where or "its parts"
        pairs = ((said[key], found[key], f"{where}.{key}".lstrip(".")) for key in found)
        return next(filter(None, (_difference(*pair) for pair in pairs)), None)
    if isinstance(said, list) and isinstance(found, list):
        if len(said) != len(found):
            return where
        triples = zip(said, found, strict=True)
        places = (_difference(a, b, f"{where}[{at}]") for at, (a, b) in enumerate(triples))
        return next(filter(None, places), None)
    return None if _same(said, found) else where


def _same(said: Any, found: Any) -> bool:
    if isinstance(said, float) and isinstance(found, float):
        return math.isclose(said, found, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    return bool(said == found)
