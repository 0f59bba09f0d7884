"""The report as plain text, as a terminal shows it."""

from __future__ import annotations

import io

from rich.console import Console

from dbhone.report.formats.base import Format
from dbhone.report.page import Page
from dbhone.report.terminal import show


class Text(Format):
    """Plain text without colour. ``width`` is the longest line, paths apart."""

    suffix = ".txt"

    def __init__(self, width: int = 100) -> None:
        self.width = width

    def render(self, page: Page) -> bytes:
        """Return everything, the single steps too, with lines that end where they end."""
        out = io.StringIO()
        console = Console(
            file=out, width=self.width, color_system=None, force_terminal=False, _environ={}
        )
        show(page, console, full=True)
        lines = [line.rstrip() for line in out.getvalue().splitlines()]
        return ("\n".join(lines) + "\n").encode("utf-8", "replace")


PLUGIN = Text()
