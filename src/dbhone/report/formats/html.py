"""The report as one HTML file that needs no network and no script."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass, replace

from jinja2 import Template

from dbhone.report.contract import report
from dbhone.report.curves import sweep_pictures
from dbhone.report.distributions import latency_picture
from dbhone.report.drawing import Picture
from dbhone.report.formats.base import Format
from dbhone.report.median_series import median_series_picture
from dbhone.report.page import Page
from dbhone.report.table import Table
from dbhone.report.templating import page_style, templates
from dbhone.report.timeline import history_pictures
from dbhone.units import count_of, size

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


_ROOMS = (
    _Room(),
    _Room(step_metrics=False),
    _Room(step_metrics=False, step_pictures=False),
    _Room(step_metrics=False, step_pictures=False, rows=300),
    _Room(step_metrics=False, step_pictures=False, rows=300, data=False),
)
"""From all that there is to the least that a page has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pictures:
    """All pictures of a page: of what there is nothing to draw, they are not there.

    Those of sweeps are by the workload, those of latencies by whether they are in-sample.
    """

    history: list[Picture]
    sweeps: dict[str, list[Picture]]
    latencies: dict[bool, Picture]
    median_series: list[Picture]

    def in_room(self, room: _Room) -> _Pictures:
        """Return those that there is room for."""
        return self if room.step_pictures else replace(self, sweeps={}, latencies={})


class Html(Format):
    """Self-contained HTML; whatever comes from outside is escaped."""

    name = "html"
    suffix = ".html"
    other_suffixes = (".htm",)
    is_text = False
    observes = True

    def render(self, page: Page) -> bytes:
        """Return the page with its pictures and, for download, its data.

        Where it would be larger than ``MOST_BYTES``, some parts are left out, and the page says so.
        """
        template = templates().get_template("page.html")
        pictures, data = _pictures(page), _download(page)
        for room in _ROOMS:
            text = _filled(template, page, pictures.in_room(room), data, room)
            if len(text) <= MOST_BYTES:
                break
        return text


def _filled(
    template: Template, page: Page, pictures: _Pictures, data: Download, room: _Room
) -> bytes:
    text = template.render(
        page=page,
        style=page_style(),
        pictures=pictures,
        room=room,
        download=data if room.data else None,
    )
    return text.encode("utf-8", "replace")


def _pictures(page: Page) -> _Pictures:
    return _Pictures(
        history=history_pictures(page),
        sweeps={
            sweep.workload: sweep_pictures(page, sweep, index=index)
            for index, sweep in enumerate(page.sweeps)
        },
        latencies={
            part: picture
            for part in page.latencies
            if (picture := latency_picture(page, in_sample=part)) is not None
        },
        median_series=[
            median_series_picture(page, section, index=index)
            for index, section in enumerate(page.server_sections)
        ],
    )


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
