"""A page in a format, by the format's name."""

from __future__ import annotations

from dbhone.registry import load, names
from dbhone.report.formats.base import Format
from dbhone.report.page import Page
from dbhone.safe_text import terminal_safe

_DRAWER = "dbhone.report.formats"


def formats() -> tuple[str, ...]:
    """Return the names of all formats."""
    return names(_DRAWER)


def find_format(name: str) -> Format:
    """Return the format of that name. Raises UnknownName, with the nearest, if there is none.

    Only the chosen format's file is imported, so that a table does not wait for charts.
    """
    return load(_DRAWER, name, Format, what="report format")


def render(page: Page, format: str) -> bytes:
    """Return the page in the format of that name."""
    chosen = find_format(format)
    content = chosen.render(page)
    return terminal_safe(content.decode()).encode() if chosen.is_text else content
