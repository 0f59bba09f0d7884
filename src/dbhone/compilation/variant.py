"""A variant is an ordered composition of transforms, such as ``rel+lto+pgo``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from dbhone import registry
from dbhone.compilation import host
from dbhone.compilation.bolt import find_usable_bolt
from dbhone.compilation.toolchain import Compiler
from dbhone.compilation.transforms.base import (
    DRAWER,
    FOLDER_PLACEHOLDER,
    PROFILE_PLACEHOLDER,
    FlagContext,
    Flags,
    Pass,
    Slot,
    Transform,
)
from dbhone.dbms.base import Dbms
from dbhone.errors import ToolError, UnknownName, VariantError
from dbhone.measurement.record import READY_MADE

COMPOSITIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "rel_withdbg": ("rel", "g"),
        "rel_o2": ("rel",),
        "rel_native": ("o3", "native"),
        "rel_o2_lto": ("rel", "lto"),
        "rel_native_lto": ("o3", "native", "lto"),
        "rel_lto": ("o3", "lto"),
    }
)
"""The transforms of each alias. An alias has an underscore, a transform has none."""


def expand(words: list[str]) -> list[str]:
    """Return the words of a variant with each alias replaced by its transforms."""
    return [transform for word in words for transform in COMPOSITIONS.get(word, (word,))]


USUAL = "rel"
"""How distributions compile: what is built if nobody names a variant, and what that is compared
with which somebody names."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Transforms in the order of their flags. Make one with ``parse_variant``.

    Without any it is a server that somebody else has built.
    """

    transforms: tuple[Transform, ...]

    @property
    def name(self) -> str:
        """The full name, the level included: ``rel+lto+pgo``."""
        return "+".join(transform.name for transform in self.transforms) or READY_MADE

    @property
    def ready_made(self) -> bool:
        """Whether nothing is built."""
        return not self.transforms

    @property
    def profile_guided(self) -> bool:
        """Whether it must be trained."""
        return any(transform.profile_guided for transform in self.transforms)

    @property
    def post_link(self) -> bool:
        """Whether a post-link optimiser works on what was linked."""
        return any(transform.post_link for transform in self.transforms)

    @property
    def host_specific(self) -> bool:
        """Whether its builds are for this machine's processor only."""
        return any(transform.host_specific for transform in self.transforms)

    @property
    def cpu_flags(self) -> frozenset[str]:
        """What a processor must have that runs its builds, as Linux names it."""
        return frozenset(flag for transform in self.transforms for flag in transform.cpu_flags)

    def passes(self) -> tuple[Pass, ...]:
        """Return the builds that it takes, in order."""
        own = next((transform.passes for transform in self.transforms if transform.passes), None)
        after = (Pass.POST_LINK_INSTRUMENT, Pass.POST_LINK_USE) if self.post_link else ()
        return (*(own or (Pass.PLAIN,)), *after)

    def note(self, pass_: Pass) -> str:
        """Return what tells a pass's build from the finished one, for people; empty for that."""
        unfinished = self.post_link and not pass_.post_link
        return pass_.note or ("as linked" if unfinished else "")

    def check_artifact(self, dbms: Dbms) -> None:
        """Raise VariantError for a transform that would change nothing in what is measured."""
        for transform in self.transforms:
            if transform.for_library and not dbms.is_library:
                raise VariantError(
                    f"'{transform.name}' changes nothing in {dbms.title}: it is for shared"
                    " libraries, and the server is a program",
                    hint=f"leave {transform.name} out",
                )

    @property
    def takes_foreign_profile(self) -> bool:
        """Whether the profile of another source may do: not where it is about one binary only."""
        return self.passes() == (Pass.INSTRUMENT, Pass.USE)

    def flags(
        self,
        compiler: Compiler,
        pass_: Pass,
        *,
        profile: str = PROFILE_PLACEHOLDER,
        build_folder: str = FOLDER_PLACEHOLDER,
    ) -> Flags:
        """Return all flags of one pass; with the default places, as they enter a digest."""
        context = FlagContext(
            family=compiler.family,
            pass_=pass_,
            profile=profile,
            build_folder=build_folder,
        )
        return sum((transform.flags(context) for transform in self.transforms), Flags())

    def check(self, compiler: Compiler) -> None:
        """Raise VariantError or ToolError if this compiler cannot make the variant here."""
        if self.post_link:
            find_usable_bolt()
        for transform in self.transforms:
            reason = transform.refusal(compiler.family, compiler.major) or host.lack(transform)
            if reason is not None:
                raise VariantError(
                    f"'{transform.name}' is impossible with {compiler.label}: {reason}"
                )
            for program in transform.programs(compiler.family):
                if compiler.find(program) is None:
                    raise ToolError(
                        f"'{transform.name}' with {compiler.label} needs {program}, which is"
                        " missing",
                        hint="'hone doctor' says what to install",
                    )


def parse_variant(text: str) -> Variant:
    """Return the variant that ``text`` names; the order of the words does not matter.

    A word is a transform or one of the names in ``COMPOSITIONS``. Raises UnknownName for
    a word that is neither, and VariantError with the reason for two that do not go together.
    """
    if text.strip() == READY_MADE:
        return Variant(())
    words = [word.strip() for word in text.split("+")]
    if not all(words):
        raise VariantError(f"'{text}' is not a variant", hint="write it as o3+lto+pgo")
    known = (*registry.names(DRAWER), *COMPOSITIONS)
    if READY_MADE in words:
        raise VariantError(
            f"'{text}' is impossible: a {READY_MADE} server is not compiled",
            hint="leave the rest out",
        )
    for word in words:
        if word not in known:
            raise UnknownName("transform", word, known)
    chosen = [registry.load(DRAWER, word, Transform, what="transform") for word in expand(words)]
    if all(transform.slot is not Slot.LEVEL for transform in chosen):
        chosen.insert(0, registry.load(DRAWER, USUAL, Transform, what="transform"))
    _check_together(text, chosen)
    return Variant(tuple(sorted(chosen, key=lambda transform: (transform.order, transform.name))))


def _check_together(text: str, chosen: list[Transform]) -> None:
    taken: dict[Slot, Transform] = {}
    for transform in chosen:
        other = taken.get(transform.slot)
        taken[transform.slot] = transform
        if other is transform:
            raise VariantError(f"'{text}' names '{transform.name}' twice")
        if other is not None:
            raise VariantError(
                f"'{text}' is impossible: '{other.name}' and '{transform.name}' both set"
                f" the {transform.slot.value}",
                hint="choose one of them",
            )
    by_name = {transform.name for transform in chosen}
    for transform in chosen:
        clash = by_name.intersection(transform.conflicts)
        if clash:
            raise VariantError(
                f"'{text}' is impossible: '{transform.name}' excludes '{min(clash)}'",
                hint="leave one of them out",
            )
