"""Settings as they are asked for, and what became of their names from version to version.

The tables below ``settings/`` are only asked about a name that a server does not know: what it
knows, the server itself tells.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources

from pydantic import BaseModel, ConfigDict, Field

from dbhone.errors import SettingsError
from dbhone.versions import numbers

_LONGEST_VALUE = 4000

LOOSE = "loose_"
"""Before a setting's name: leave it out, with a footnote, where a version lacks it."""

ASK_THE_SERVER = (
    "ask the running server for all of its settings: docs/guides/your-server.md says how"
)
"""What to do with a settings file that is not the whole of what a server was given."""


class Origin(StrEnum):
    """Who requests a setting."""

    CONFIG = "config"
    """A named config: what a version lacks is left out."""
    FILE = "file"
    """A settings file of the user's own: what hone decides itself is ignored."""
    EXPERIMENT = "experiment"
    """The experiment file, which was written for this purpose only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedSetting:
    """A requested setting, with its name as written."""

    name: str
    value: str
    origin: Origin = Origin.EXPERIMENT

    def __post_init__(self) -> None:
        if len(self.value) > _LONGEST_VALUE:
            raise SettingsError(
                f"the value of {self.name} has {len(self.value):,} characters,"
                f" but at most {_LONGEST_VALUE:,} are allowed"
            )


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SettingHistory(_Section):
    """What became of one setting.

    ``since`` is the first version that has it, ``until`` the first that has it no more; both
    are for people. Since ``ignored`` it takes the name and does nothing: as if it had it no more.
    ``became`` is the name for the same thing elsewhere. The value there is this one's times
    ``factor``, with ``unit`` after it; or what stands in ``values``, where numbers above
    ``most`` mean what that means; or ``form`` with this value in place of ``{}``; or the same.
    ``note`` says what people should know.
    """

    since: str = ""
    until: str = ""
    ignored: str = ""
    became: str = ""
    factor: int = Field(default=1, ge=1)
    unit: str = ""
    values: dict[str, str] = {}
    most: int | None = None
    form: str = ""
    note: str = ""


class Product(_Section):
    """A setting that was two before: ``size`` times ``count``, usually ``usual_count``."""

    size: str
    count: str
    usual_count: int = Field(ge=1)


class SettingsTable(_Section):
    """What is known of the settings of one DBMS through its versions.

    Settings that stand ``together`` are valid only with each other: whoever asks for one of
    them decides all.
    """

    settings: dict[str, SettingHistory]
    products: dict[str, Product] = {}
    together: tuple[tuple[str, ...], ...] = ()

    def ignored(self, version: str) -> frozenset[str]:
        """Return the names that this version still accepts but ignores."""
        here = numbers(version)
        since = ((name, change.ignored) for name, change in self.settings.items() if change.ignored)
        return frozenset(name for name, first in since if numbers(first) <= here)

    def rivals(self, name: str) -> frozenset[str]:
        """Return the other names of the same setting: one of them overrides the others."""
        linked = _linked(name, self._renames())
        for whole, product in self.products.items():
            parts = {product.size, product.count}
            linked |= parts if name == whole else {whole} if name in parts else set()
        return frozenset(linked - {name})

    def related(self, name: str) -> frozenset[str]:
        """Return ``name``, other names of the same setting or its parts, and its companions."""
        links = self._renames()
        for whole, product in self.products.items():
            links += [(whole, product.size), (whole, product.count)]
        links += [(names[0], name) for names in self.together for name in names[1:]]
        return frozenset(_linked(name, links))

    def _renames(self) -> list[tuple[str, str]]:
        return [(old, change.became) for old, change in self.settings.items() if change.became]


def _linked(name: str, links: list[tuple[str, str]]) -> set[str]:
    """Return ``name`` and all names that links lead to from there."""
    reached, before = {name}, 0
    while len(reached) > before:
        before = len(reached)
        reached |= {other for link in links if reached & {*link} for other in link}
    return reached


@cache
def settings_table(name: str) -> SettingsTable:
    """Return the table ``name``; an empty one if a DBMS has none."""
    file = resources.files("dbhone.dbms").joinpath("settings", f"{name}.toml")
    if not file.is_file():
        return SettingsTable(settings={})
    return SettingsTable.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))


def explain_change(change: SettingHistory, version: str, title: str) -> str:
    """Return why ``version`` lacks a setting; empty if the table does not know."""
    here = numbers(version)
    if change.until and numbers(change.until) <= here:
        text = f"{title} has had no such setting since {change.until}"
    elif change.since and here < numbers(change.since):
        text = f"{title} has this setting only since {change.since}"
    elif change.ignored and numbers(change.ignored) <= here:
        text = f"{title} accepts and ignores it since {change.ignored}"
    else:
        text = ""
    return f"{text} ({change.note})" if text and change.note else text


def pairs(settings: Mapping[str, str]) -> str:
    """Return settings for people: ``a = 1, b = 2``."""
    return ", ".join(f"{name} = {value}" for name, value in settings.items())
