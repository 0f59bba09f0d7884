"""The effects as comma-separated values, one line for each subject, step and metric."""

from __future__ import annotations

import csv
import io

from dbhone.report.contract import EFFECT_KEYS, effects
from dbhone.report.formats.base import Format
from dbhone.report.page import Page
from dbhone.safe_text import spreadsheet_safe


class Csv(Format):
    """RFC 4180, UTF-8, with a header; the columns are the keys of JSON's ``effects``."""

    suffix = ".csv"
    is_text = False

    def render(self, page: Page) -> bytes:
        """Return the lines; what there is none of is empty."""
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, EFFECT_KEYS, lineterminator="\r\n")
        writer.writeheader()
        for effect in effects(page):
            in_sample = "true" if effect["in_sample"] else "false"
            names = {key: spreadsheet_safe(effect[key]) for key in ("subject", "step")}
            writer.writerow({**effect, **names, "in_sample": in_sample})
        return text.getvalue().encode("utf-8", "replace")


PLUGIN = Csv()
