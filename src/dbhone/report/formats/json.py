"""The report as data, for programs. ``docs/reports.md`` documents the contract."""

from __future__ import annotations

import json

from dbhone.report.contract import report
from dbhone.report.formats.base import Format
from dbhone.report.page import Page


class Json(Format):
    """One JSON object, UTF-8, without NaN or infinity: what is not known is null."""

    name = "json"
    suffix = ".json"
    is_text = False

    def render(self, page: Page) -> bytes:
        """Return the object, indented."""
        text = json.dumps(report(page), indent=1, ensure_ascii=False, allow_nan=False)
        return f"{text}\n".encode("utf-8", "replace")


PLUGIN = Json()
