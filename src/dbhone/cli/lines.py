"""Lines with a head that stands out.

Our consoles take no markup: titles, paths and messages come from outside, and a bracket in them is
a bracket.
"""

from __future__ import annotations

from rich.text import Text

_HEAD = 9
"""The length of the longest head, ``calibrate``."""


def headed(head: str, text: str, style: str = "bold") -> Text:
    """Return a line with its head in a style."""
    return Text.assemble((head, style), "  ", text)


def told(head: str, text: str, style: str = "bold") -> Text:
    """Return one of the lines that tell how far hone is: their heads end below each other."""
    return headed(f"{head:>{_HEAD}}", text, style)
