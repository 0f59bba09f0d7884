"""Templates of pages: what comes from outside is escaped, and an unknown name is an error."""

from __future__ import annotations

from importlib import resources

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from dbhone.report.table import MARKS
from dbhone.report.terms import explained
from dbhone.report.whiskers import Whiskers

_OURS = "dbhone.report"


def templates(*packages: str) -> Environment:
    """Return the templates of packages, and those of reports."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in (*packages, _OURS)]),
        autoescape=True,
        undefined=StrictUndefined,
    )
    environment.filters["explained"] = explained
    environment.globals |= {"marks": MARKS, "whiskers_of": Whiskers}
    return environment


def page_style() -> str:
    """Return the style that all pages share."""
    return resources.files(_OURS).joinpath("templates/page.css").read_text("utf-8")
