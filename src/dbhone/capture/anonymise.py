"""Replaces values by others of the same type and length, equal values by equal ones.

What replaces a value follows from a keyed hash of it (BLAKE2b, RFC 7693). The key is random, and
is not kept: the file does not reveal what a value was, except for its type and length.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from ipaddress import IPv6Interface

from dbhone.capture.sql import names_of, parameters_of_shape, places_of_shape

_KEPT_WORDS = frozenset(
    {
        *("", "null", "t", "f", "true", "false", "y", "n", "yes", "no", "on", "off"),
        *("nan", "infinity", "-infinity"),
    }
)
"""Values that tell nothing, and that no other value could stand for."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?![\d-])", re.ASCII)
_ZONE = r" ?(?:Z|UTC|GMT|[+-](?:0\d|1[0-5])(?::?[0-5]\d)?)"
_CLOCK_TIME = (
    r"(?:(?<=-\d\d)(?P<mark>T)|(?<![\d\\]))(?:[01]\d|2[0-3]):[0-5]\d"
    rf"(?P<seconds>:[0-5]\d(?P<fraction>\.\d+)?(?P<zone>{_ZONE})?)?(?!\d)"
)
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_ADDRESS = rf"(?<![\w.\\]){_OCTET}(?:\.{_OCTET}){{3}}(?P<prefix>/\d+)?(?!\w|\.\d)"
_NUMBER_WITHIN = r"(?<![\w.\\])\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w|\.\d)"
_OF_TYPE = re.compile(
    rf"(?P<date>{_DATE.pattern})|(?P<clock_time>{_CLOCK_TIME})|(?P<address>{_ADDRESS})"
    rf"|(?P<number>{_NUMBER_WITHIN})",
    re.ASCII,
)
"""What in a text would be invalid with any other characters."""
_HEX = re.compile(r"(?:\\x|0x)?[0-9a-fA-F-]+")
_HARDWARE_ADDRESS = re.compile(r"[0-9a-fA-F]{2}(?:([:-])[0-9a-fA-F]{2})(?:\1[0-9a-fA-F]{2}){4}")
"""Of IEEE 802, also called MAC address."""
_BITS = re.compile(r"0b[01]+")
_DIGITS_FOLLOW = re.compile(r"(?<![\w$])([bBxX])\Z")
"""What goes before the quote of binary or hexadecimal digits."""
_AMOUNT = r"[+-]?\d[\d.:]*"
_PART = (
    rf"{_AMOUNT} *(?:(?:micro|milli)?seconds?|minutes?|hours?|days?|weeks?|months?|mons?|years?"
    r"|secs?|mins?|hrs?|decades?|centur(?:y|ies)|millenni(?:um|a)|[smhdwy])"
)
_ISO_INTERVAL = r"P(?=.)(?:-?\d+[YMWD])*(?:T(?:-?\d+(?:\.\d+)?[HMS])+)?"
_INTERVAL = re.compile(
    rf"{_PART}(?: *{_PART})*(?: +{_AMOUNT})?(?: ago)?|{_ISO_INTERVAL}", re.IGNORECASE
)
_JSON_WORDS = re.compile(r"\b(?:true|false|null)\b")
_ESCAPE = re.compile(r"""(?P<before>\\{1,2}u)[0-9a-fA-F]{4}|\\\\[bfnrt]|\\[\\"'/bfnrt0Z%_]""")
"""What a backslash begins in SQL and in JSON; in MySQL's SQL the backslashes of JSON are double."""
_NO_TEXT = re.compile("[\ud800-\udfff]")
"""A byte that is no UTF-8, as logs are read."""
_KEPT_IN_BYTES = frozenset(" %_'\"\\")
"""What gives patterns and quotes their shape, also in a value of bytes."""
_NUMBER = re.compile(r"\d+\.?\d*(?:[eE][+-]?\d+)?")
_WHOLE = re.compile(r"\d+")
_MOST_REMEMBERED = 50_000
_LIMITS = {10: 1, 19: 8, 5: 2}
"""The largest first digit of integers with so many, so that they fit into the type's range."""
# The first character of a stretch of 64 letters with UTF-8 codes of 2, 3 and 4 bytes.
_LETTERS = ((0x800, 0x0430, 32), (0x10000, 0x4E00, 4096), (0x110000, 0x20000, 4096))


class Anonymiser:
    """Replaces values with a key of its own."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._known: dict[str, str] = {}

    def __call__(self, value: str) -> str:
        """Return what stands for a literal, as it is written."""
        quote = value[:1]
        if quote == "$" and value.endswith("$"):
            tag = value[: value.index("$", 1) + 1]
            return tag + self._content(value[len(tag) : -len(tag)]) + tag
        if quote in ("'", '"') and len(value) > 1 and value.endswith(quote):
            return quote + self._content(value[1:-1]) + quote
        return self._content(value)

    def literals(self, pieces: tuple[str, ...], literals: Sequence[str]) -> list[str]:
        """Return what stands for a statement's literals; names, and what shapes it, are kept.

        ``pieces`` are what stands between them.
        """
        names, _ = names_of(pieces)
        kept = places_of_shape(pieces)
        return [
            literal
            if at in names or (at in kept and literal.isdecimal())
            else self._after(pieces[at], literal)
            for at, literal in enumerate(literals)
        ]

    def parameters(self, pieces: tuple[str, ...], values: Sequence[str | None]) -> list[str | None]:
        """Return what stands for a statement's parameters; names, and what shapes it, are kept."""
        _, names = names_of(pieces)
        kept = parameters_of_shape(pieces)
        return [
            value
            if value is None or at in names or (at in kept and value.isdecimal())
            else self._content(value)
            for at, value in enumerate(values)
        ]

    def _after(self, piece: str, literal: str) -> str:
        """Return what stands for the literal behind a piece, which may tell the base of digits."""
        base = _DIGITS_FOLLOW.search(piece)
        if base is None or not literal.startswith("'"):
            return self(literal)
        return self._of_digits(literal, base[1].lower())

    def _of_digits(self, literal: str, base: str) -> str:
        """Return other digits in quotes, binary for the base ``b``, else hexadecimal."""
        content = literal[1:-1]
        if not content:
            return literal
        chance = self._chance(content)
        return f"'{_bits(content, chance) if base == 'b' else _hexadecimal(content, chance)}'"

    def _content(self, text: str) -> str:
        known = self._known.get(text)
        if known is None:
            known = self._other_content(text)
            if len(self._known) < _MOST_REMEMBERED:
                self._known[text] = known
        return known

    def _other_content(self, text: str) -> str:
        if text.lower() in _KEPT_WORDS:
            return text
        if text[0] in "+-" and text[1:2].isdigit():
            return text[0] + self._content(text[1:])
        return _like(text, self._chance(text))

    def _chance(self, text: str) -> Iterator[int]:
        """Yield bytes that follow from a text and the key."""
        data = text.encode("utf-8", "surrogatepass")
        number = 0
        while True:
            salt = number.to_bytes(8, "big")
            yield from hashlib.blake2b(data, key=self._key, salt=salt).digest()
            number += 1


def _like(text: str, chance: Iterator[int]) -> str:
    replaced = next((made for is_one, made in _FORMS if is_one(text)), _text)
    return replaced(text, chance)


def _is_hexadecimal(text: str) -> bool:
    """Return whether digits are of base 16, which only the letters among them tell."""
    if _HEX.fullmatch(text) is None or _DATE.match(text):
        return False
    return "x" in text or (len(text) >= 8 and any(map(str.isalpha, text)))


def _number_below(most: int, chance: Iterator[int]) -> int:
    return (next(chance) << 16 | next(chance) << 8 | next(chance)) % most


def _number(text: str, chance: Iterator[int]) -> str:
    """Return another number; one without a leading zero gets none: JSON allows none."""
    whole = _WHOLE.match(text)
    assert whole is not None, "a number begins with a digit"
    return _integer(whole[0], chance) + _digits(text[whole.end() :], chance)


def _integer(text: str, chance: Iterator[int]) -> str:
    if len(text) == 1 or text.startswith("0"):
        return _digits(text, chance)
    most = _LIMITS.get(len(text), 9)
    return str(1 + _number_below(most, chance)) + _digits(text[1:], chance)


def _digits(text: str, chance: Iterator[int]) -> str:
    return "".join(str(_number_below(10, chance)) if one.isdigit() else one for one in text)


def _bits(text: str, chance: Iterator[int]) -> str:
    return "".join("01"[_number_below(2, chance)] if one in "01" else one for one in text)


def _hexadecimal(text: str, chance: Iterator[int]) -> str:
    start = 2 if text[:2] in ("\\x", "0x") else 0
    letters = "0123456789ABCDEF" if any(one in "ABCDEF" for one in text) else "0123456789abcdef"
    rest = (one if one in "-:" else letters[_number_below(16, chance)] for one in text[start:])
    return text[:start] + "".join(rest)


def _text(text: str, chance: Iterator[int]) -> str:
    kept = [match.span() for match in _JSON_WORDS.finditer(text)] if text[:1] in "{[" else []
    made, end = [], 0
    for start, stop in kept:
        made += [_words(text[end:start], chance), text[start:stop]]
        end = stop
    return "".join([*made, _words(text[end:], chance)])


def _words(text: str, chance: Iterator[int]) -> str:
    made, end = [], 0
    for match in _OF_TYPE.finditer(text):
        made.append(_characters(text[end : match.start()], chance, _character))
        made.append(_REPLACED[match.lastgroup](match, chance))
        end = match.end()
    return "".join([*made, _characters(text[end:], chance, _character)])


def _date(match: re.Match[str], chance: Iterator[int]) -> str:
    try:
        date(*map(int, match[0].split("-")))
    except ValueError:
        return _digits(match[0], chance)
    year, month = 1971 + _number_below(60, chance), 1 + _number_below(12, chance)
    return f"{year}-{month:02}-{1 + _number_below(28, chance):02}"


def _clock_time(match: re.Match[str], chance: Iterator[int]) -> str:
    """Return another time, in the same zone."""
    seconds = ""
    if match["seconds"]:
        fraction = _digits(match["fraction"] or "", chance)
        seconds = f":{_number_below(60, chance):02}{fraction}{match['zone'] or ''}"
    hour, minute = _number_below(24, chance), _number_below(60, chance)
    return f"{match['mark'] or ''}{hour:02}:{minute:02}{seconds}"


def _address(match: re.Match[str], chance: Iterator[int]) -> str:
    """Return another address of the Internet. Its zeros stay: those of a network must."""
    prefix = match["prefix"] or ""
    octets = match[0].removesuffix(prefix).split(".")
    return ".".join(_octet(octet, chance) for octet in octets) + prefix


def _is_address_of_version_6(text: str) -> bool:
    if ":" not in text or "%" in text:
        return False
    try:
        IPv6Interface(text)
    except ValueError:
        return False
    return True


def _address_of_version_6(text: str, chance: Iterator[int]) -> str:
    """Return another address of the Internet's version 6. Its zeros stay, too."""
    address, slash, prefix = text.partition("/")
    groups = address.split(":")
    of_version_4 = _words(groups.pop(), chance) if "." in address else None
    made = ["".join(_other_digit(one, chance) for one in group) for group in groups]
    return ":".join(made if of_version_4 is None else [*made, of_version_4]) + slash + prefix


def _other_digit(one: str, chance: Iterator[int]) -> str:
    return one if one == "0" else f"{1 + _number_below(15, chance):x}"


def _octet(text: str, chance: Iterator[int]) -> str:
    first, count = {1: (1, 9), 2: (10, 90), 3: (100, 156)}[len(text)]
    return text if text == "0" else str(first + _number_below(count, chance))


_REPLACED: Mapping[str | None, Callable[[re.Match[str], Iterator[int]], str]] = {
    "date": _date,
    "clock_time": _clock_time,
    "address": _address,
    "number": lambda match, chance: _number(match[0], chance),
}
"""What replaces what ``_OF_TYPE`` finds, by its group."""


def _characters(
    text: str, chance: Iterator[int], replaced: Callable[[str, Iterator[int]], str]
) -> str:
    """Return what ``replaced`` makes of each character; escapes stay escapes."""
    made: list[str] = []
    end = 0
    for match in _ESCAPE.finditer(text):
        made += (replaced(one, chance) for one in text[end : match.start()])
        end = match.end()
        made.append(_escape(match, chance))
    return "".join([*made, *(replaced(one, chance) for one in text[end:])])


def _escape(match: re.Match[str], chance: Iterator[int]) -> str:
    """Return an escape as it is; one that has the code of a character gets another letter's."""
    if match["before"] is None:
        return match[0]
    _, first, count = _LETTERS[1]
    return f"{match['before']}{first + _number_below(count, chance):04x}"


def _byte(one: str, chance: Iterator[int]) -> str:
    """Return another character of a value that has bytes: there, signs are values, too."""
    is_sign = one.isascii() and not one.isalnum() and one not in _KEPT_IN_BYTES
    if is_sign or _NO_TEXT.match(one):
        return chr(0xDC80 + _number_below(128, chance))
    return _character(one, chance)


def _character(one: str, chance: Iterator[int]) -> str:
    if one.isascii():
        if one.isdigit():
            return str(_number_below(10, chance))
        if one.isalpha():
            return chr((97 if one.islower() else 65) + _number_below(26, chance))
        return one
    _, first, count = next(row for row in _LETTERS if ord(one) < row[0])
    return chr(first + _number_below(count, chance))


_FORMS: Sequence[tuple[Callable[[str], object], Callable[[str, Iterator[int]], str]]] = (
    (_NO_TEXT.search, lambda text, chance: _characters(text, chance, _byte)),
    (_BITS.fullmatch, lambda text, chance: text[:2] + _bits(text[2:], chance)),
    (_NUMBER.fullmatch, _number),
    (_HARDWARE_ADDRESS.fullmatch, _hexadecimal),
    (_is_address_of_version_6, _address_of_version_6),
    (_is_hexadecimal, _hexadecimal),
    (_INTERVAL.fullmatch, _digits),
)
"""What a whole value can be, and what replaces it then; the first that fits counts."""
