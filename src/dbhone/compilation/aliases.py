"""Aliases: the names of Mark Callaghan's builds, as compositions of hone's transforms.

He names them after CMake's build types; his posts on smalldatum.blogspot.com and the scripts in
the repository mdcallag/mytools define them. His ``rel`` (CMake's Release, -O3) has no entry,
because hone's transform ``rel`` means -O2: his ``rel`` is ``o3`` here.
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
"""The transforms of each alias. An alias has an underscore, a transform has none."""


def expand(words: list[str]) -> list[str]:
    """Return the words of a variant with each alias replaced by its transforms."""
    return [transform for word in words for transform in COMPOSITIONS.get(word, (word,))]
