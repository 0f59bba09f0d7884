"""What a setting is called, and how its value is written, on a server that lacks its name.

Pure: names and values in, names and values out. A translation says the same thing or there is
none; what cannot be said exactly is not said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dbhone.dbms.base_settings import Change, Product, SettingsTable
from dbhone.errors import UsageError
from dbhone.units import parse_size

_MIB = 1024**2
_NOTHING = re.compile(r"0[a-zA-Z]*")


@dataclass(frozen=True, slots=True)
class Translator:
    """Translates to the names that a server knows."""

    table: SettingsTable
    known: frozenset[str]

    def translate(self, name: str, wanted: Mapping[str, str]) -> dict[str, str] | None:
        """Return what to set instead of ``name``, which the server does not know.

        ``wanted`` has the values of all settings that are asked for, this one among them; what
        is asked for by a name that the server knows stays as it is. Nothing is to be set where
        another setting says it all; None if this server has nothing for it.
        """
        for whole, product in self.table.products.items():
            if name == whole and product.size in self.known:
                return {} if product.size in wanted else self._parted(product, wanted[whole])
            if name == product.size and whole in self.known:
                return {} if whole in wanted else _whole(whole, product, wanted)
            if name == product.count and product.size in wanted:
                if product.size in self.known:
                    return _whole(product.size, product, wanted)
                return {} if whole in self.known else None
        return self._renamed(name, wanted)

    def _parted(self, product: Product, value: str) -> dict[str, str] | None:
        """Return size and count for a whole; there is one part where the server has no count."""
        if product.count not in self.known:
            return {product.size: value}
        parts = product.usual_count
        total = _bytes(value)
        if total is None or total % parts:
            return None
        return {product.size: _written(total // parts), product.count: str(parts)}

    def _renamed(self, name: str, wanted: Mapping[str, str]) -> dict[str, str] | None:
        """Follow the names for the same thing until the server knows one."""
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
        """Yield the names that this one became or came from, with the value as each has it."""
        change = self.table.settings.get(name)
        if change is not None and change.became:
            converted = forth(change, value)
            if converted is not None:
                yield change.became, converted
        for older, each in self.table.settings.items():
            if each.became == name:
                converted = back(each, value)
                if converted is not None:
                    yield older, converted


def forth(change: Change, value: str) -> str | None:
    """Return the value under the newer name, None if it cannot be said there."""
    if change.most is not None and value.isdigit():
        value = str(min(int(value), change.most))
    if change.values:
        return _looked_up(change.values, value)
    if change.form:
        return change.form.replace("{}", value)
    if change.factor == 1:
        return value
    return f"{int(value) * change.factor}{change.unit}" if value.isdigit() else None


def back(change: Change, value: str) -> str | None:
    """Return the value under the older name, None if it cannot be said there exactly."""
    if change.values:
        turned: dict[str, str] = {}
        for older, newer in change.values.items():
            turned.setdefault(newer, older)
        return _looked_up(turned, value)
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
    return {key.lower(): each for key, each in values.items()}.get(value.lower())


def _whole(target: str, product: Product, wanted: Mapping[str, str]) -> dict[str, str] | None:
    """Return all of size times count under one name."""
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
