"""The report as data, for programs. ``docs/reports.md`` documents the contract."""

from __future__ import annotations

import json
import re

from dbhone.report.contract import report
from dbhone.report.formats.base import Format
from dbhone.report.page import Page
from dbhone.safe_text import terminal_safe

_NOT_ASCII = re.compile(r"[^\n -~]")


class Json(Format):
    """One JSON object, UTF-8, without NaN or infinity: what is not known is null.

    What could drive a terminal is written as JSON's own escapes, so it is not lost.
    """

    suffix = ".json"
    is_text = False

    def render(self, page: Page) -> bytes:
        """Return the object, indented."""
        text = json.dumps(report(page), indent=1, ensure_ascii=False, allow_nan=False)
        # A lone surrogate is no text, and strict readers refuse its escape, too.
        known = text.encode("utf-8", "replace").decode()
        return f"{_NOT_ASCII.sub(_escaped, known)}\n".encode()


def _escaped(match: re.Match[str]) -> str:
    """Return a character as it is if it is harmless, else its escape."""
    character = match[0]
    return character if terminal_safe(character) == character else json.dumps(character)[1:-1]


PLUGIN = Json()
