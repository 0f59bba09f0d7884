"""The base of the allocators: a library that is loaded before all others."""

from __future__ import annotations

from dbhone.instance.levers.base import (
    HostCapabilities,
    Lever,
    LeverChanges,
    LeverContext,
    ObservedState,
    Slot,
    Unavailable,
)


class Allocator(Lever):
    """An allocator in place of the C library's."""

    slot = Slot.ALLOCATOR
    remedy = (
        "the server's log has the loader's message; a server that was linked statically, or"
        " that brings a C library of its own, takes no other allocator"
    )

    def __init__(self, name: str, *libraries: str) -> None:
        """Name the allocator, and the file names that its library has, the best first."""
        self.name = name
        self.summary = f"the allocator {name} instead of the C library's"
        self.libraries = libraries

    def refusal(self, context: LeverContext, host: HostCapabilities) -> Unavailable | None:
        """Say that the library is not installed."""
        del context
        if any(name in host.libraries for name in self.libraries):
            return None
        return Unavailable(
            reason=f"{self.name} is not installed: there is no {' or '.join(self.libraries)}",
            libraries=self.libraries,
        )

    def apply(self, context: LeverContext, host: HostCapabilities) -> LeverChanges:
        """Return the first of its libraries that the machine has."""
        del context
        name = next(name for name in self.libraries if name in host.libraries)
        return LeverChanges(preload=(host.libraries[name],))

    def in_service(self, context: LeverContext) -> str:
        """Return the variable that has the loader take it."""
        del context
        return f"Environment=LD_PRELOAD={self.libraries[0]} under [Service] of its unit"

    def took_effect(self, changes: LeverChanges, observed: ObservedState) -> bool:
        """Return whether the library is in the server's memory."""
        return all(path.resolve() in observed.files for path in changes.preload)
