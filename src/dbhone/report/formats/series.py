"""What was observed of servers while they were measured, as comma-separated values."""

from __future__ import annotations

import csv
import io

from dbhone.report.formats.base import Format
from dbhone.report.page import Page
from dbhone.safe_text import spreadsheet_safe

_KEYS = ("subject", "set", "block", "series", "unit", "kind", "second", "value")


class SeriesCsv(Format):
    """RFC 4180, UTF-8, with a header; a line for each value, in the order of measuring."""

    suffix = ".csv"
    is_text = False
    observes = True
    of_one_run = True

    def render(self, page: Page) -> bytes:
        """Return the lines; the header alone if nothing was observed."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow(_KEYS)
        for observation in page.observations:
            names = map(spreadsheet_safe, (observation.subject, observation.set))
            place = (*names, observation.block)
            for series in observation.series:
                quantity = series.quantity
                named = map(spreadsheet_safe, (quantity.name, quantity.unit))
                what = (*named, quantity.kind.value)
                for at, value in zip(series.at, series.values, strict=True):
                    writer.writerow((*place, *what, f"{at:.3f}", f"{value:.6g}"))
        return text.getvalue().encode("utf-8", "replace")


PLUGIN = SeriesCsv()
