"""Pages of comparisons that have an answer, or none because a subject broke."""

from __future__ import annotations

from dbhone.measurement.record import Run
from dbhone.report.page import Page
from tests.report.sample_run import changed, without
from tests.report.sample_servers import Shape, a_server_run, server_page


def _run() -> Run:
    return without(a_server_run(), "lto+pgo")


def compared_page(ratio: float, *, control: float = 1.0, blocks: int = 10) -> Page:
    effects = {"lto": (ratio, ratio), "control": (control, control)}
    return server_page(_run(), Shape(effects=effects, blocks=blocks))


def broken_page(name: str) -> Page:
    return server_page(changed(_run(), name, broken="other results than the base"))
