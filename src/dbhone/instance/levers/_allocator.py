"""What the allocators have in common: a library that is loaded before all others."""

from __future__ import annotations

from dbhone.instance.levers.base import (
    HostCapabilities,
    Lever,
    Need,
    ObservedState,
    Pull,
    Slot,
    Unavailable,
)


class Allocator(Lever):
    """An allocator in place of the C library's. ``libraries`` are its names, the best first."""

    slot = Slot.ALLOCATOR
    remedy = (
        "the loader's own words are in the server's log; a server that was linked statically, or"
        " that brings a C library of its own, takes no other allocator"
    )

    def refusal(self, need: Need, offer: HostCapabilities) -> Unavailable | None:
        """Say that the library is not installed."""
        del need
        if any(each in offer.libraries for each in self.libraries):
            return None
        return Unavailable(
            reason=f"{self.name} is not installed: there is no {' or '.join(self.libraries)}",
            libraries=self.libraries,
        )

    def pull(self, need: Need, offer: HostCapabilities) -> Pull:
        """Return the first of its libraries that there is."""
        del need
        found = next(each for each in self.libraries if each in offer.libraries)
        return Pull(preload=(offer.libraries[found],))

    def took_effect(self, pull: Pull, traces: ObservedState) -> bool:
        """Return whether the library is in the server's memory."""
        return all(path.resolve() in traces.files for path in pull.preload)
