"""The report as one HTML file that needs no network and no script."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbhone.report.contract import report
from dbhone.report.formats.base import Format
from dbhone.report.page import Page
from dbhone.report.sections import SUMMARY, Section, sections
from dbhone.report.sweep import sweeps
from dbhone.report.table import Table
from dbhone.report.templating import page_style, templates
from dbhone.units import count_of, size

if TYPE_CHECKING:
    from dbhone.report.drawing import Picture

MOST_BYTES = 2_900_000
"""Of a page that is larger, parts are left out (``_ROOMS``)."""
_PLAIN_BYTES = 500_000
"""Data larger than this is compressed, so that the file stays small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """The data as a link that holds it."""

    name: str
    kind: str
    size: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pictures:
    """The pictures of a section, one at least, and how they are read."""

    drawn: list[Picture]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Room:
    """What a page has room for: the tables of steps in other metrics, the pictures of sweeps and
    latencies, all ``rows`` of a table or this many, the data.
    """

    step_metrics: bool = True
    step_pictures: bool = True
    rows: int | None = None
    data: bool = True

    def shown(self, table: Table) -> Table:
        """Return a table with as many rows as there is room for."""
        more = 0 if self.rows is None else len(table.rows) - self.rows
        if more <= 0:
            return table
        caption = f"{table.caption} {count_of(more, 'more row')} would make this page too large."
        return replace(table, caption=caption, rows=table.rows[: self.rows])

    def fitted(self, section: Section) -> Section:
        """Return a section without the tables that there is no room for."""
        if self.step_metrics or not section.other_metrics:
            return section
        note = "The steps in other metrics are in the data: this page would be too large with them."
        return replace(section, other_metrics=(), note=note)

    def drawn(self, pictures: Mapping[str, _Pictures]) -> dict[str, _Pictures]:
        """Return the pictures that there is room for, by section."""
        left_out = () if self.step_pictures else ("threads", "latency")
        return {section: it for section, it in pictures.items() if section not in left_out}


_ROOMS = (
    _Room(),
    _Room(step_metrics=False),
    _Room(step_metrics=False, step_pictures=False),
    _Room(step_metrics=False, step_pictures=False, rows=300),
    _Room(step_metrics=False, step_pictures=False, rows=300, data=False),
)
"""From all that there is to the least that a page has."""


class Html(Format):
    """Self-contained HTML; whatever comes from outside is escaped."""

    suffix = ".html"
    other_suffixes = (".htm",)
    is_text = False
    observes = True

    def render(self, page: Page) -> bytes:
        """Return the page with its pictures and, for download, its data.

        Where it would be larger than ``MOST_BYTES``, some parts are left out, and the page says so.
        """
        template = templates().get_template("page.html")
        every, pictures, data = sections(page), _pictures(page), _download(page)
        for room in _ROOMS:
            text = template.render(
                page=page,
                style=page_style(),
                sections=[room.fitted(section) for section in every if section.id != SUMMARY],
                pictures=room.drawn(pictures),
                room=room,
                download=data if room.data else None,
            ).encode("utf-8", "replace")
            if len(text) <= MOST_BYTES:
                break
        return text


def _pictures(page: Page) -> dict[str, _Pictures]:
    """Return the pictures by section; of what there is nothing to draw, they are not there."""
    # The library for charts is slow to load, and other formats look here for the file's ending.
    from dbhone.report.curves import sweep_pictures  # noqa: PLC0415
    from dbhone.report.distributions import latency_picture  # noqa: PLC0415
    from dbhone.report.median_series import median_series_picture  # noqa: PLC0415
    from dbhone.report.timeline import history_pictures  # noqa: PLC0415

    context = page.context
    latencies = (latency_picture(page, portion) for portion in context.portions)
    every = {
        "history": _Pictures(
            drawn=history_pictures(page),
            note=f"Throughput relative to {context.base}, from the oldest version to the newest."
            " Bands are 95 % intervals.",
        ),
        "threads": _Pictures(
            drawn=[
                picture
                for index, sweep in enumerate(sweeps(context))
                for picture in sweep_pictures(page, sweep, index=index)
            ],
            note="Bands are 95 % intervals of the figures themselves.",
        ),
        "latency": _Pictures(drawn=[picture for picture in latencies if picture is not None]),
        "meanwhile": _Pictures(
            drawn=[
                median_series_picture(page, section, index=index)
                for index, section in enumerate(page.server_sections)
            ]
        ),
    }
    return {section: pictures for section, pictures in every.items() if pictures.drawn}


def _download(page: Page) -> Download:
    data = json.dumps(report(page), ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    numbers = page.numbers.replace(" ", "-")
    name, kind, mime = f"dbhone-run-{numbers}.json", "JSON", "application/json"
    if len(data) > _PLAIN_BYTES:
        data = gzip.compress(data, mtime=0)
        name, kind, mime = f"{name}.gz", "JSON, compressed", "application/gzip"
    address = f"data:{mime};base64,{base64.b64encode(data).decode()}"
    return Download(name=name, kind=kind, size=size(len(data)), address=address)


PLUGIN = Html()
