"""What a build is made of: one value, from the experiment file to the report.

To add an input, add a field to ``BuildKeys`` and let ``spec.py`` act on it. The experiment file,
the build's digest, its manifest and the store then know it too.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator

from dbhone.compilation.variant import USUAL, Variant, parse_variant
from dbhone.errors import HoneError, UsageError
from dbhone.measurement.record import READY_MADE
from dbhone.source.kinds.base import kind_of, parse_reference

Words = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False)]
"""A list of words. TOML and JSON have lists where Python has tuples."""

USUAL_COMPILER = "gcc"
"""What compiles if nobody names a compiler."""


def _variant(value: object) -> Variant:
    """Return the variant that ``value`` is or names. Raises ValueError, as pydantic wants it."""
    if isinstance(value, Variant):
        return value
    if not isinstance(value, str):
        raise ValueError("a variant is a text")
    try:
        return parse_variant(value)
    except HoneError as error:
        raise ValueError(error.message) from error


_VariantByName = Annotated[
    Variant,
    PlainValidator(_variant),
    PlainSerializer(lambda variant: variant.name, return_type=str),
]
_IN_COMMANDS = frozenset({"dbms", "source", "variant", "compiler", "fixes", "profile_source"})
"""The inputs that a digest has already: in the source tree, the profile or the command lines."""
_DIGEST_KEYS = {"copy_number": "copy"}


class BuildKeys(BaseModel):
    """The inputs of a build that an experiment file names as they are.

    ``compiler`` is a name such as ``gcc-12``, or a path. ``linker`` is the linker that the
    compiler calls, None for its own choice. ``options`` are options of the DBMS's build system.
    ``fixes`` are names of known fixes, or patch files. ``packaging`` names the kind of packages
    that are built by the distribution's own rules, with its options; None is hone's own build.
    ``targets`` says that all is built that the configured tree has, to time it; None is what is
    measured and what that needs.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    dbms: str = ""
    compiler: str = USUAL_COMPILER
    linker: str | None = None
    options: Words = ()
    fixes: Words = ()
    packaging: Literal["deb"] | None = None
    targets: Literal["all"] | None = None


class BuildInputs(BuildKeys):
    """Everything that a user decides of one build.

    ``source`` is a source reference. ``copy_number`` tells apart builds of the same inputs: a
    control that is built again has 1. ``profile_source`` is the source whose profile a build
    takes, such as the release before; None is its own. ``layouts`` is in how many random orders of
    its functions it is linked besides the usual one.
    """

    source: str
    variant: _VariantByName
    copy_number: int = 0
    profile_source: str | None = None
    layouts: int = 0

    @property
    def trained(self) -> BuildInputs:
        """The inputs of the instrumented build that is trained: those of the profile's source."""
        changed: dict[str, object] = {"layouts": 0}
        if self.profile_source is not None:
            changed |= {"source": self.profile_source, "profile_source": None, "fixes": ()}
        return self.model_copy(update=changed)

    @property
    def in_few_layouts(self) -> BuildInputs:
        """The inputs of a build of which only the usual layout is wanted.

        How many others there are changes nothing in that one, only whether there are any.
        """
        return self.model_copy(update={"layouts": min(1, self.layouts)})

    @property
    def label(self) -> str:
        """The inputs beside DBMS and source, for people: ``rel+lto -DX=1 with gcc``."""
        return self.words if self.variant.ready_made else f"{self.words} with {self.compiler}"

    @property
    def words(self) -> str:
        """The variant, and what was asked besides, without the compiler."""
        named = {
            "linker": self.linker,
            "packaging": self.packaging,
            "targets": self.targets,
            "profile": self.profile_source,
            "layouts": self.layouts,
        }
        rest = (f"{name}={value}" for name, value in named.items() if value)
        return " ".join((self.variant.name, *self.options, *self.fixes, *rest))

    def chosen(self) -> dict[str, object]:
        """Return the inputs that are not at their defaults, as values of JSON."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def digest_entries(self) -> dict[str, object]:
        """Return what a digest needs to know beside the tree and the compiler's command lines."""
        chosen = self.model_dump(mode="json", exclude=set(_IN_COMMANDS))
        return {
            _DIGEST_KEYS.get(name, name): value
            for name, value in chosen.items()
            if value or name == "copy_number"
        }


def variant_of(source: str, asked: str | None) -> Variant:
    """Return the variant that a source is built as: the usual one if none is ``asked`` for.

    Programs that somebody else has built have one only. Raises UsageError.
    """
    ready_made = kind_of(parse_reference(source).kind).ready_made
    variant = parse_variant(asked or (READY_MADE if ready_made else USUAL))
    if ready_made and not variant.ready_made:
        raise UsageError(
            f"{source} brings a ready-made server, which cannot be built as {asked}",
            hint="leave the variant out, or name a source that brings the server's source",
        )
    return variant


def check_profile_source(variant: Variant, source: str) -> None:
    """Raise UsageError if a build of this variant cannot take the profile of another source."""
    if not variant.takes_foreign_profile:
        raise UsageError(
            f"the variant {variant.name} cannot take the profile of another source",
            hint="leave that source out; a variant such as pgo or lto+pgo can",
        )
    if kind_of(parse_reference(source).kind).ready_made:
        raise UsageError(f"{source} brings a ready-made server, which cannot be trained")
