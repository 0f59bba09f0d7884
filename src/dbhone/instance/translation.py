"""Translates a setting for a server that calls it otherwise.

Pure: names and values in, names and values out. A translation means exactly the same; without an
exact one there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dbhone.dbms.base_settings import Product, SettingHistory, SettingsTable
from dbhone.errors import UsageError
from dbhone.units import parse_size

_MIB = 1024**2
_NOTHING = re.compile(r"0[a-zA-Z]*")


@dataclass(frozen=True, slots=True)
class Translator:
    """Translates settings to the names that a server knows."""

    table: SettingsTable
    known: frozenset[str]

    def translate(self, name: str, wanted: Mapping[str, str]) -> dict[str, str] | None:
        """Return the settings in the place of ``name``, which the server does not know.

        ``wanted`` has the values of all wanted settings, this one included; those that the server
        knows stay as they are. The result is empty if another setting already says the same,
        and None if this server has no such setting.
        """
        for whole, product in self.table.products.items():
            if name == whole and product.size in self.known:
                return {} if product.size in wanted else self._divide(product, wanted[whole])
            if name == product.size and whole in self.known:
                return {} if whole in wanted else _multiply(whole, product, wanted)
            if name == product.count and product.size in wanted:
                if product.size in self.known:
                    return _multiply(product.size, product, wanted)
                return {} if whole in self.known else None
        return self._renamed(name, wanted)

    def _divide(self, product: Product, value: str) -> dict[str, str] | None:
        """Return size and count for a whole. A server without the count has one part."""
        if product.count not in self.known:
            return {product.size: value}
        parts = product.usual_count
        total = _bytes(value)
        if total is None or total % parts:
            return None
        return {product.size: _written(total // parts), product.count: str(parts)}

    def _renamed(self, name: str, wanted: Mapping[str, str]) -> dict[str, str] | None:
        """Follow the names of the same setting until the server knows one."""
        reached = {name: wanted[name]}
        queue = [name]
        for current in queue:
            for other, converted in self._neighbours(current, reached[current]):
                if other in self.known:
                    return {other: wanted.get(other, converted)}
                if other not in reached:
                    reached[other] = converted
                    queue.append(other)
        return None

    def _neighbours(self, name: str, value: str) -> Iterator[tuple[str, str]]:
        """Yield the next newer and older names of a setting, each with the value in its form."""
        change = self.table.settings.get(name)
        if change is not None and change.became:
            converted = to_newer(change, value)
            if converted is not None:
                yield change.became, converted
        for older, later in self.table.settings.items():
            if later.became == name:
                converted = to_older(later, value)
                if converted is not None:
                    yield older, converted


def to_newer(change: SettingHistory, value: str) -> str | None:
    """Return the value in the newer name's form, None if it has none."""
    if change.most is not None and value.isdigit():
        value = str(min(int(value), change.most))
    if change.values:
        return _looked_up(change.values, value)
    if change.form:
        return change.form.replace("{}", value)
    if change.factor == 1:
        return value
    return f"{int(value) * change.factor}{change.unit}" if value.isdigit() else None


def to_older(change: SettingHistory, value: str) -> str | None:
    """Return the value in the older name's form, None if it has no exact one."""
    if change.values:
        inverse: dict[str, str] = {}
        for older, newer in change.values.items():
            inverse.setdefault(newer, older)
        return _looked_up(inverse, value)
    if change.form:
        before, _, after = change.form.partition("{}")
        fits = value.startswith(before) and value.endswith(after)
        return value[len(before) : len(value) - len(after)] if fits else None
    if change.factor == 1:
        return value
    amount, step = _bytes(value), _bytes(f"{change.factor}{change.unit}")
    if amount is None or not step or amount % step:
        return None
    return str(amount // step)


def _looked_up(values: Mapping[str, str], value: str) -> str | None:
    return {key.lower(): other for key, other in values.items()}.get(value.lower())


def _multiply(target: str, product: Product, wanted: Mapping[str, str]) -> dict[str, str] | None:
    """Return size times count as one setting."""
    size = _bytes(wanted[product.size])
    count = wanted.get(product.count, str(product.usual_count))
    if size is None or not count.isdigit():
        return None
    return {target: _written(size * int(count))}


def _bytes(value: str) -> int | None:
    """Return the number that a value with or without a unit stands for."""
    if _NOTHING.fullmatch(value):
        return 0
    try:
        return parse_size(value)
    except UsageError:
        return None


def _written(size: int) -> str:
    return f"{size // _MIB}M" if size and size % _MIB == 0 else str(size)
