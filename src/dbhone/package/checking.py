"""Checks a package on any machine: files, signature, grade and verdict.

The verdict is recomputed from the samples. Whether the grade was passed follows from the lists.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AliasPath, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
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
from dbhone.source.libraries import advice_on_missing, missing_system_libraries
from dbhone.verification.outcome import Outcome
from dbhone.versions import numbers

_DEFINITION = (PROVENANCE, "buildDefinition")
_ODD_VALUES = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError, OSError, RecursionError),
    *(TypeError, ValueError),
)
"""What values raise that somebody made up, such as a time that no calendar has."""
_TOLERANCE = 1e-5
"""By how much another machine's arithmetic may differ, as a fraction."""


class _Values(BaseModel):
    """Values of a statement. What else it has is not read here."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Asked(_Values):
    """What was to be built. ``packaging`` names the distribution's rules by which it was."""

    dbms: str
    version: str
    variant: str
    packaging: str | None


class Made(_Values):
    """How it was built, and what for.

    ``machine`` is the kind of processor; a build for a single one names what that has,
    ``native_cpu_flags``. ``glibc`` is the oldest version that is enough, None if no program needs
    it. ``system_libraries`` are the system's that it is linked with. ``lacks`` is what a
    distribution's packages have besides. ``package`` identifies the whole.
    """

    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    system_libraries: tuple[Annotated[str, Field(pattern=r"^[0-9A-Za-z_.+-]{1,100}$")], ...]
    machine: str
    native_cpu_flags: frozenset[Annotated[str, Field(pattern=r"^[0-9a-z_]{1,40}$")]]
    glibc: Annotated[str, Field(pattern=r"^[0-9]{1,9}(\.[0-9]{1,9}){0,3}$")] | None
    lacks: tuple[str, ...]
    package: dict[str, Any]
    image: dict[str, Any] | None = None


class EnclosedExperiment(_Values):
    """What repeats a measurement (``public``), or why others cannot repeat it (``private``)."""

    public: dict[str, Any] | None = None
    private: str = "the package has no experiment"


class StatedMeasurement(_Values):
    """Which subject was measured, of which build, and by what."""

    subject: str
    build: str
    experiment: EnclosedExperiment


class Stated(_Values):
    """What a package's statements say.

    ``build`` is the digest of its inputs. ``differing`` are the files that a second build of them
    differs in, None if there was none.
    """

    asked: Asked = Field(validation_alias=AliasPath(*_DEFINITION, "externalParameters"))
    made: Made = Field(validation_alias=AliasPath(*_DEFINITION, "internalParameters"))
    build: str = Field(
        validation_alias=AliasPath(PROVENANCE, "runDetails", "metadata", "invocationId")
    )
    outcome: Annotated[Outcome, BeforeValidator(outcome_of)] = Field(validation_alias=VERIFICATION)
    measurement: StatedMeasurement | None = Field(default=None, validation_alias=MEASUREMENT)
    differing: tuple[str, ...] | None = Field(
        default=None, validation_alias=AliasPath(REPRODUCTION, "differing")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A package that is what it says.

    ``key`` is the id of the key that signed it, None if unsigned. ``found`` is what its samples
    show, computed here, None without a measurement.
    """

    name: str
    files: int
    key: str | None
    stated: Stated
    found: Mapping[str, Any] | None

    @property
    def subject(self) -> str | None:
        """The subject that was measured, None without a measurement."""
        measurement = self.stated.measurement
        return None if measurement is None else measurement.subject

    @property
    def measured(self) -> bool:
        """Whether this very build was measured, and not another of its source and variant."""
        measurement = self.stated.measurement
        return measurement is not None and measurement.build == self.stated.build

    @property
    def experiment(self) -> EnclosedExperiment:
        """What repeats its measurement."""
        measurement = self.stated.measurement
        return EnclosedExperiment() if measurement is None else measurement.experiment

    @property
    def why_not_here(self) -> str | None:
        """Why its programs cannot run on this machine, None if nothing speaks against it."""
        made = self.stated.made
        if made.machine != machine_here():
            return f"it is for {made.machine}, and this machine is {machine_here()}"
        variant = self._known_variant
        of_variant = frozenset[str]() if variant is None else variant.cpu_flags
        lacking = lacking_instructions(of_variant | made.native_cpu_flags)
        if lacking is not None:
            return f"it was compiled as {self.stated.asked.variant}, and {lacking}"
        if made.image is not None:  # it brings its own libraries
            return None
        return _why_not_this_glibc(made.glibc) or _why_not_these_libraries(made.system_libraries)

    @property
    def why_perhaps_not_here(self) -> str | None:
        """Why its programs may not run on this machine, None if no such reason is known."""
        variant = self._known_variant
        if variant is None:
            name = self.stated.asked.variant
            return f"this hone does not know for which processors {name} compiles"
        unknown = variant.host_specific and not self.stated.made.native_cpu_flags
        return OF_ONE_PROCESSOR if unknown else None

    @property
    def _known_variant(self) -> Variant | None:
        try:
            return parse_variant(self.stated.asked.variant)
        except HoneError:
            return None

    @property
    def gains(self) -> tuple[Gain, ...]:
        """What the samples show of the subject, over all steps that are alike in-sample."""
        return gains(self.found["summaries"], self.subject) if self.found else ()


def _why_not_this_glibc(needed: str | None) -> str | None:
    if needed is None:
        return None
    here = glibc_here()
    if here is None:
        return f"it needs glibc {needed}, and this machine's C library is not glibc"
    if numbers(here) < numbers(needed):
        return f"it needs glibc {needed} or newer, and this machine has glibc {here}"
    return None


def _why_not_these_libraries(needed: tuple[str, ...]) -> str | None:
    missing = missing_system_libraries(needed)
    if not missing:
        return None
    names = " and ".join(missing)
    return f"it needs {names}, which this machine lacks ({advice_on_missing(missing)})"


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
    measurement = statements.predicates.get(MEASUREMENT)
    found = None if measurement is None else _found_again(measurement, entries)
    try:
        stated = Stated.model_validate(statements.predicates)
    except ValidationError as error:
        raise PackageError("the package's statements are incomplete") from error
    _check_whole(image, identity(name, moment, statements.predicates), stated.made)
    if not stated.outcome.passed:
        raise PackageError(f"the package's build has passed no grade: {stated.outcome.reason()}")
    if stated.outcome.build != stated.build:
        raise PackageError("what passed the grade is another build than the package's")
    return Checked(name=name, files=len(entries), key=statements.key, stated=stated, found=found)


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


def _check_whole(image: Image | None, found: Mapping[str, Any], made: Made) -> None:
    """Raise PackageError unless a package as a whole is the one that its statements speak of.

    ``found`` is its identity. An image may be around it.
    """
    if made.image != (None if image is None else image.stated):
        raise PackageError("the image is not the one that the package's statements are about")
    if made.package != found:
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
