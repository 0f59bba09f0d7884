"""Quantities as people write them. Storage is always in base units: seconds, bytes, ratios."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from dbhone.errors import UsageError

_DURATION = re.compile(r"(\d{1,15}(?:\.\d+)?)\s*(ms|s|min|m|h|d)?\s*")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
_MOST_LISTED = 4
_SIZE = re.compile(r"(\d{1,15}(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)


def parse_duration(text: str) -> float:
    """Return the seconds that ``text`` means: ``90s``, ``8m``, ``1h30m``.

    Raises UsageError when it is not a duration, not positive, or a number without its unit.
    """
    position, parts = 0, []
    stripped = text.strip()
    while match := _DURATION.match(stripped, position):
        parts.append((match[1], match[2]))
        position = match.end()
    if not parts or position != len(stripped):
        raise UsageError(f"'{text}' is not a duration", hint="write it as 90s, 8m or 1h30m")
    if not any(float(number) for number, _ in parts):
        raise UsageError(f"'{text}' is no time at all", hint="write it as 90s, 8m or 1h30m")
    bare = next((number for number, unit in parts if unit is None), None)
    if bare is not None:
        raise UsageError(f"'{text}' lacks a unit", hint=f"write {bare}s or {bare}m, not {bare}")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def parse_percent(text: str) -> float:
    """Return the fraction that ``text`` means: ``2%`` and ``0.02`` are both 0.02.

    A bare number over a tenth is refused: by 0.5 half a percent may be meant.
    """
    stripped = text.strip()
    try:
        value = float(stripped[:-1]) / 100 if stripped.endswith("%") else float(stripped)
    except ValueError:
        raise UsageError(f"'{text}' is not a percentage", hint="write it like this: 2%") from None
    if 0.1 < value < 1 and not stripped.endswith("%"):
        raise UsageError(f"'{text}' lacks its unit", hint=f"write {stripped}% or {100 * value:g}%")
    if not 0 < value < 1:
        has_lost_its_sign = 1 <= value < 100 and not stripped.endswith("%")
        hint = f"write it as {stripped}%" if has_lost_its_sign else "write it like this: 2%"
        raise UsageError(f"'{text}' does not lie between 0% and 100%", hint=hint)
    return value


def parse_size(text: str) -> int:
    """Return the bytes that ``text`` means: ``64M``, ``64MiB``, ``1.5G``; units are binary.

    Raises UsageError when it is not a size or not positive.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"'{text}' is not a size", hint="write it as 64M or 1.5G")
    power = " kmgt".index(match.group(2).lower() or " ")
    value = round(float(match.group(1)) * float(1 << (10 * power)))
    if value <= 0:
        raise UsageError(f"a size must be more than nothing, not '{text}'")
    return value


def duration(seconds: float) -> str:
    """Return ``seconds`` for people: ``210 ms``, ``17.6 s``, ``2 m 41 s``, ``1 h 05 m``."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} m {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} m"


def whole_minutes(seconds: float) -> str:
    """Return ``seconds`` as an option's value that is enough: 481 is ``9m``."""
    return f"{math.ceil(seconds / 60)}m"


def exact_duration(seconds: float) -> str:
    """Return ``seconds`` as an option's value that means just them: 900 is ``15m``."""
    for unit in ("h", "m"):
        if seconds % _SECONDS[unit] == 0:
            return f"{seconds / _SECONDS[unit]:.0f}{unit}"
    return f"{seconds:.15g}s"


def size(count: float) -> str:
    """Return ``count`` bytes for people, in binary units: ``1.4 MiB``."""
    value = float(count)
    for unit in _BINARY:
        if abs(value) < 1024 or unit == _BINARY[-1]:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def percent(fraction: float) -> str:
    """Return a signed percentage: 0.064 is ``+6.4%``."""
    return f"{fraction * 100:+.1f}%"


def exact_percent(fraction: float) -> str:
    """Return a percentage that is not rounded: 0.02 is ``2.0%`` and 0.0025 is ``0.25%``."""
    rounded = f"{fraction:.1%}"
    return rounded if abs(float(rounded[:-1]) / 100 - fraction) < 1e-9 else f"{fraction * 100:g}%"


def count_of(number: float, what: str) -> str:
    """Return a number of things: ``1 step``, ``2,000 steps``."""
    return f"{number:,.0f} {what}{'' if number == 1 else 's'}"


def listed(names: Sequence[str]) -> str:
    """Return some names in a sentence, and how many more there are."""
    first_names = ", ".join(names[:_MOST_LISTED])
    more = len(names) - _MOST_LISTED
    return f"{first_names} and {more} more" if more > 0 else first_names
