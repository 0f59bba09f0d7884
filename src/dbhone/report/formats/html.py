"""The report as one HTML file that needs no network and no script."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined

from dbhone.report.chart import step_picture, summary_picture
from dbhone.report.contract import report
from dbhone.report.courses import course_picture
from dbhone.report.curves import sweep_pictures
from dbhone.report.drawing import Picture
from dbhone.report.formats.base import Format
from dbhone.report.page import Page
from dbhone.report.table import MARKS
from dbhone.report.timeline import history_pictures
from dbhone.units import size

_PLAIN_BYTES = 500_000
"""Data larger than this is compressed, so that the file stays small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """The data as a link that holds it."""

    name: str
    kind: str
    size: str
    address: str


class Html(Format):
    """Self-contained HTML; whatever comes from outside is escaped."""

    name = "html"
    suffix = ".html"
    observes = True

    def render(self, page: Page) -> bytes:
        """Return the page with its pictures and, for download, its data."""
        environment = Environment(
            loader=PackageLoader("dbhone.report"),
            autoescape=True,
            undefined=StrictUndefined,
        )
        template = environment.get_template("page.html")
        style = resources.files("dbhone.report").joinpath("templates/page.css").read_text("utf-8")
        text = template.render(
            page=page,
            style=style,
            marks=MARKS,
            contents=_contents(page),
            summary_pictures=_summary_pictures(page),
            step_pictures=_step_pictures(page),
            sweep_pictures=[
                sweep_pictures(page, sweep, index=index) for index, sweep in enumerate(page.sweeps)
            ],
            history_pictures=history_pictures(page),
            course_pictures=[
                course_picture(page, each, index=index) for index, each in enumerate(page.meanwhile)
            ],
            download=_download(page),
        )
        return text.encode("utf-8", "replace")


def _contents(page: Page) -> list[tuple[str, str]]:
    sections = [
        ("summary", "Summary", True),
        ("history", "Changes", page.history is not None),
        ("seconds", "Seconds", page.seconds is not None),
        ("groups", "By group", bool(page.parts)),
        ("threads", "Threads", bool(page.sweeps)),
        ("operations", "Per operation", bool(page.operations_by_group)),
        ("metrics", "Other metrics", page.metrics is not None),
        ("beside", "Published", bool(page.beside)),
        ("steps", "Steps", bool(page.steps)),
        ("meanwhile", "Meanwhile", bool(page.meanwhile)),
        ("builds", "Build times", bool(page.builds)),
        ("subjects", "Subjects", True),
        ("notes", "Notes", bool(page.footnotes)),
        ("environment", "Environment", True),
        ("repeat", "How to repeat", True),
    ]
    return [(anchor, name) for anchor, name, there in sections if there]


def _summary_pictures(page: Page) -> list[tuple[str, Picture]]:
    pairs = [
        (part.title, summary_picture(page, in_sample=in_sample))
        for part, in_sample in zip(page.parts, page.in_sample, strict=True)
    ]
    return [(title, picture) for title, picture in pairs if picture is not None]


def _step_pictures(page: Page) -> dict[str, Picture]:
    pairs = [
        (part.title, step_picture(page, in_sample=in_sample))
        for part, in_sample in zip(page.steps, page.in_sample, strict=True)
    ]
    return {title: picture for title, picture in pairs if picture is not None}


def _download(page: Page) -> Download:
    data = json.dumps(report(page), ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    numbers = "-".join(str(each.run.id) for each in page.origins)
    name, kind, mime = f"dbhone-run-{numbers}.json", "JSON", "application/json"
    if len(data) > _PLAIN_BYTES:
        data = gzip.compress(data, mtime=0)
        name, kind, mime = f"{name}.gz", "JSON, compressed", "application/gzip"
    address = f"data:{mime};base64,{base64.b64encode(data).decode()}"
    return Download(name=name, kind=kind, size=size(len(data)), address=address)


PLUGIN = Html()
