"""Templates of pages: what comes from outside is escaped, and an unknown name is an error."""

from __future__ import annotations

from importlib import resources

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from dbhone.report.table import MARKS
from dbhone.report.terms import explained
from dbhone.report.whiskers import Whiskers
from dbhone.report.wording import capital
from dbhone.safe_text import terminal_safe

_OURS = "dbhone.report"


def templates(*packages: str) -> Environment:
    """Return the templates of packages, and those of reports."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in (*packages, _OURS)]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_safe,
    )
    environment.filters |= {"explained": _explained, "capital": capital}
    environment.globals |= {"marks": MARKS, "whiskers_of": Whiskers}
    return environment


def _safe(value: object) -> object:
    """Return a value for a page; text from outside drives no terminal that shows the page's source.

    Markup is the project's own.
    """
    return terminal_safe(value) if type(value) is str else value


def _explained(text: str) -> str:
    return explained(terminal_safe(text))


def page_style() -> str:
    """Return the style that all pages share."""
    return resources.files(_OURS).joinpath("templates/page.css").read_text("utf-8")
