"""What a reader must know of the settings of servers that are compared. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dbhone.dbms.base_protocol import Protocol
from dbhone.dbms.base_settings import pairs
from dbhone.instance.settings import ResolvedSettings, Translated


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One subject's server: what it is called, with its version, and its settings."""

    title: str
    protocol: Protocol
    chosen: ResolvedSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsNote:
    """A footnote; ``subject`` is None if it is about all."""

    code: str
    text: str
    subject: str | None = None


def settings_notes(setups: Mapping[str, Setup]) -> tuple[SettingsNote, ...]:
    """Return footnotes on whatever is not set as it was asked for, or not set alike.

    ``setups`` are by subject.
    """
    return (*_adapted(setups), *_ignored(setups), *_unlike(setups))


def changed_settings(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of settings whose values differ, those included that only one has."""
    names = sorted({*before, *now})
    return tuple(name for name in names if before.get(name) != now.get(name))


def _adapted(setups: Mapping[str, Setup]) -> Iterator[SettingsNote]:
    for name, setup in setups.items():
        chosen = setup.chosen
        if chosen.translated:
            yield SettingsNote(
                code="setting-translated",
                text=f"{name}: {setup.title} has other names for some settings:"
                f" {'; '.join(_said(each) for each in chosen.translated)}",
                subject=name,
            )
        if chosen.dropped:
            yield SettingsNote(
                code="setting-dropped",
                text=f"{name} ran without {', '.join(chosen.dropped)}: {setup.title} has no such"
                f" setting{'s' if len(chosen.dropped) > 1 else ''}",
                subject=name,
            )


def _said(each: Translated) -> str:
    if not each.values:
        return f"{each.name} is left to the settings that stand for it"
    return f"{each.name} = {each.value} is set as {pairs(each.values)}"


def _ignored(setups: Mapping[str, Setup]) -> Iterator[SettingsNote]:
    ignored = dict.fromkeys(each for setup in setups.values() for each in setup.chosen.ignored)
    if ignored:
        yield SettingsNote(
            code="setting-ignored",
            text=f"of the settings file, hone passed over what it decides itself:"
            f" {', '.join(ignored)}",
        )


def _unlike(setups: Mapping[str, Setup]) -> Iterator[SettingsNote]:
    """Tell which of hone's proposals some servers lack that others of their kind have."""
    lacking: dict[tuple[str, ...], list[str]] = {}
    for protocol in dict.fromkeys(setup.protocol for setup in setups.values()):
        kin = {name: each.chosen for name, each in setups.items() if each.protocol is protocol}
        for setting in dict.fromkeys(each for one in kin.values() for each in one.unproposed):
            without = tuple(name for name, one in kin.items() if setting in one.unproposed)
            if len(without) < len(kin):
                lacking.setdefault(without, []).append(setting)
    if lacking:
        told = (f"{', '.join(who)} without {', '.join(what)}" for who, what in lacking.items())
        yield SettingsNote(
            code="settings-differ",
            text="not all versions have what hone sets by itself, so these ran with fewer settings"
            f" than the others: {'; '.join(told)}",
        )
