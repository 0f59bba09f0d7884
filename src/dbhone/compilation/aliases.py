"""Names that others use for builds, as compositions of hone's transforms.

Mark Callaghan names his builds after CMake's build types; his posts on
smalldatum.blogspot.com and the scripts in the repository mdcallag/mytools tell what they
are. His ``rel`` (CMake's Release, -O3) has no entry, because ``rel`` is hone's own word for
-O2: what he calls ``rel`` is ``o3`` here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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
"""The transforms that each name stands for. A name has an underscore, a transform has none."""


def expand(words: list[str]) -> list[str]:
    """Return the words of a variant with each name replaced by what it stands for."""
    return [each for word in words for each in COMPOSITIONS.get(word, (word,))]
