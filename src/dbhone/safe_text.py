"""Makes text from outside fit for where it is shown: a terminal, a table, a spreadsheet.

A title, a server's last words or a name may hold escape sequences, which drive a terminal, or
characters that turn the direction of writing, which make a line read otherwise than it is.
"""

from __future__ import annotations

import unicodedata

_KEPT = frozenset("\n\t")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_SPACES = "Zs"
_FORMULA = ("=", "+", "-", "@", "\t")


def printable(text: str) -> str:
    """Return a text without control characters, newlines apart, and with plain spaces.

    They could drive the reader's terminal, and the library that draws pictures ends the whole
    process when it meets one.
    """
    return "".join(map(_printed, text))


def _printed(character: str) -> str:
    if character.isprintable() or character == "\n":
        return character
    return " " if unicodedata.category(character) == _SPACES else ""


def flat(text: str) -> str:
    """Return a text on one line, with single spaces, and without control characters."""
    return " ".join(printable(text).split())


def terminal_safe(text: str) -> str:
    """Return a text in which each character that could drive a terminal is a replacement mark.

    Newlines, tabs and all kinds of spaces stay. Controls, escape sequences' first characters, marks
    of direction, separators of lines and lone surrogates do not.
    """
    if text.isprintable():
        return text
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    harmless = character.isprintable() or character in _KEPT
    return character if harmless or unicodedata.category(character) == _SPACES else _REPLACEMENT


def spreadsheet_safe(text: str) -> str:
    """Return a safe text that no spreadsheet takes for a formula: an apostrophe goes before one."""
    safe = terminal_safe(text)
    return f"'{safe}" if safe.startswith(_FORMULA) else safe
