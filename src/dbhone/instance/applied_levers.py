"""Pulls levers: reads what a user wrote, asks the machine for it, and sees that it took effect.

A lever is written as its name, or as ``name=value``. In a tuple of such words all are canonical
and in the order of their names, so that equal levers are equal words.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from dbhone import registry
from dbhone.dbms.base_server import ServerDbms
from dbhone.errors import UsageError
from dbhone.instance.host_capabilities import read_offer
from dbhone.instance.levers.base import (
    DRAWER,
    HostCapabilities,
    Lever,
    Need,
    ObservedState,
    Pull,
    Unavailable,
)
from dbhone.source.libraries import install_advice

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedLevers:
    """Levers that a machine gives to a server, and what each of them brings."""

    each: tuple[tuple[Lever, Pull], ...] = ()

    @property
    def whole(self) -> Pull:
        """What all of them bring together."""
        return _combined(pull for _, pull in self.each)

    def environment(self) -> dict[str, str]:
        """Return what tells the loader of what is preloaded."""
        paths = ":".join(str(path) for path in self.whole.preload)
        return {"LD_PRELOAD": paths} if paths else {}

    def without_effect(self, traces: ObservedState) -> Lever | None:
        """Return the first lever of which a running server shows nothing."""
        levers = (lever for lever, pull in self.each if not lever.took_effect(pull, traces))
        return next(levers, None)


def load_lever(name: str) -> Lever:
    """Return a lever. Raises UnknownName."""
    return registry.load(DRAWER, name, Lever, what="lever")


def canonical(words: Iterable[str]) -> Words:
    """Return what a user wrote, canonical.

    Raises UnknownName for a lever that does not exist, UsageError for a value that cannot be
    meant, and for levers that exclude each other.
    """
    taken: dict[str, str] = {}
    found = []
    for word in words:
        name, _, value = word.partition("=")
        lever = load_lever(name)
        value = lever.canonical(value)
        text = f"{name}={value}" if value else name
        other = taken.setdefault(lever.slot, text)
        if other != text:
            raise UsageError(f"{other} and {text} exclude each other: both set {lever.slot.value}")
        found.append(text)
    return tuple(sorted(set(found)))


def refusal(words: Words, need: Need, offer: HostCapabilities | None = None) -> Unavailable | None:
    """Say why one of the levers cannot be had, None if all can.

    The value in ``need`` does not count: each word has its own. Without an ``offer`` this
    machine is asked.
    """
    needs = _needs(words, need)
    offer = offer or read_offer(lever for lever, _ in needs)
    found = next(filter(None, (lever.refusal(own, offer) for lever, own in needs)), None)
    if found is None or not found.libraries:
        return found
    return dataclasses.replace(found, hint=install_advice(found.libraries))


def pull(words: Words, need: Need, offer: HostCapabilities | None = None) -> AppliedLevers:
    """Return what levers bring that can be had."""
    needs = _needs(words, need)
    offer = offer or read_offer(lever for lever, _ in needs)
    each = tuple((lever, lever.pull(own, offer)) for lever, own in needs)
    return AppliedLevers(each=each)


def survey(need: Need) -> Iterator[tuple[Lever, Unavailable | None]]:
    """Yield each lever that a machine may lack, and why this one lacks it, None if it does not."""
    for name, lever in registry.load_all(DRAWER, Lever, what="lever").items():
        if lever.typical is not None:
            word = f"{name}={lever.typical}" if lever.typical else name
            yield lever, refusal((word,), need)


def wanted_cache(dbms: ServerDbms, settings: Mapping[str, str], proposed: int) -> int:
    """Return how large a server's cache will be: ``proposed``, unless its settings say else."""
    for name, value in settings.items():
        if dbms.canonical(name) == dbms.cache_setting:
            size = dbms.bytes_of(value)
            # Of what is no size, the server itself will say so.
            return proposed if size is None else size
    return proposed


def _needs(words: Words, need: Need) -> tuple[tuple[Lever, Need], ...]:
    parts = (word.partition("=") for word in words)
    return tuple(
        (load_lever(name), dataclasses.replace(need, value=value)) for name, _, value in parts
    )


def _combined(pulls: Iterable[Pull]) -> Pull:
    """Add up what levers bring. No two have a slot in common, so none contradicts another."""
    whole = Pull()
    for each in pulls:
        whole = Pull(
            preload=(*whole.preload, *each.preload),
            prefix=(*whole.prefix, *each.prefix),
            cpus=whole.cpus if each.cpus is None else each.cpus,
            client_cpus=whole.client_cpus if each.client_cpus is None else each.client_cpus,
            settings={**whole.settings, **each.settings},
            huge_bytes=whole.huge_bytes + each.huge_bytes,
        )
    return whole
