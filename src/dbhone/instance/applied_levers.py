"""Applies levers: parses what a user wrote, checks the machine, and verifies that they took effect.

A lever is written as its name, or as ``name=value``. A tuple of such words is canonical and sorted
by name, so that equal levers are equal tuples.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from dbhone import registry
from dbhone.dbms.base_server import ServerDbms
from dbhone.errors import UsageError
from dbhone.instance.host_state import read_host_capabilities
from dbhone.instance.levers.base import (
    DRAWER,
    HostCapabilities,
    Lever,
    LeverChanges,
    LeverContext,
    ObservedState,
    Unavailable,
)
from dbhone.source.libraries import install_advice

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedLevers:
    """The levers of a server, and what each of them changes.

    On which CPUs the server and its clients are ``placed``, no lever says.
    """

    changes: tuple[tuple[Lever, LeverChanges], ...] = ()
    placed: LeverChanges = field(default_factory=LeverChanges)

    @property
    def whole(self) -> LeverChanges:
        """What all of them change together."""
        return _combined((self.placed, *(changes for _, changes in self.changes)))

    def environment(self) -> dict[str, str]:
        """Return the variables by which the loader preloads the levers' libraries."""
        paths = ":".join(str(path) for path in self.whole.preload)
        return {"LD_PRELOAD": paths} if paths else {}

    def without_effect(self, observed: ObservedState) -> Lever | None:
        """Return the first lever that had no effect on a running server."""
        levers = (
            lever for lever, changes in self.changes if not lever.took_effect(changes, observed)
        )
        return next(levers, None)


def load_lever(name: str) -> Lever:
    """Return a lever. Raises UnknownName."""
    return registry.load(DRAWER, name, Lever, what="lever")


def in_service(words: Words, dbms: ServerDbms) -> tuple[str, ...]:
    """Return for each lever, in canonical words, how somebody sets it for a service."""
    context = LeverContext(value="", dbms=dbms, cache_bytes=0, servers=1)
    return tuple(
        f"{word}: {lever.in_service(own_context)}"
        for word, (lever, own_context) in zip(words, _contexts(words, context), strict=True)
    )


def canonical(words: Iterable[str]) -> Words:
    """Return the canonical words for what a user wrote.

    Raises UnknownName for a lever that does not exist, UsageError for an invalid value and for
    levers that exclude each other.
    """
    taken: dict[str, str] = {}
    texts = []
    for word in words:
        name, _, value = word.partition("=")
        lever = load_lever(name)
        value = lever.canonical(value)
        text = f"{name}={value}" if value else name
        other = taken.setdefault(lever.slot, text)
        if other != text:
            raise UsageError(f"{other} and {text} exclude each other: both set {lever.slot.value}")
        texts.append(text)
    return tuple(sorted(set(texts)))


def refusal(
    words: Words, context: LeverContext, host: HostCapabilities | None = None
) -> Unavailable | None:
    """Return why one of the levers is unavailable, None if all are available.

    The value in ``context`` is ignored: each word has its own. Without ``host``, this machine's
    capabilities are read.
    """
    contexts = _contexts(words, context)
    host = host or read_host_capabilities(lever for lever, _ in contexts)
    reasons = (lever.refusal(own_context, host) for lever, own_context in contexts)
    reason = next(filter(None, reasons), None)
    if reason is None or not reason.libraries:
        return reason
    return dataclasses.replace(reason, hint=install_advice(reason.libraries))


def apply(
    words: Words, context: LeverContext, host: HostCapabilities | None = None
) -> AppliedLevers:
    """Return what available levers change."""
    contexts = _contexts(words, context)
    host = host or read_host_capabilities(lever for lever, _ in contexts)
    return AppliedLevers(
        changes=tuple((lever, lever.apply(own_context, host)) for lever, own_context in contexts)
    )


def survey(context: LeverContext) -> Iterator[tuple[Lever, Unavailable | None]]:
    """Yield each lever that not every machine has, and why this one lacks it, if it does."""
    for name, lever in registry.load_all(DRAWER, Lever, what="lever").items():
        if lever.typical is not None:
            word = f"{name}={lever.typical}" if lever.typical else name
            yield lever, refusal((word,), context)


def _contexts(words: Words, context: LeverContext) -> tuple[tuple[Lever, LeverContext], ...]:
    parts = (word.partition("=") for word in words)
    return tuple(
        (load_lever(name), dataclasses.replace(context, value=value)) for name, _, value in parts
    )


def _combined(parts: Iterable[LeverChanges]) -> LeverChanges:
    """Combine what levers change. No two levers share a slot, so none contradicts another."""
    whole = LeverChanges()
    for part in parts:
        whole = LeverChanges(
            preload=(*whole.preload, *part.preload),
            prefix=(*whole.prefix, *part.prefix),
            cpus=whole.cpus if part.cpus is None else part.cpus,
            client_cpus=whole.client_cpus if part.client_cpus is None else part.client_cpus,
            settings={**whole.settings, **part.settings},
            huge_bytes=whole.huge_bytes + part.huge_bytes,
        )
    return whole
