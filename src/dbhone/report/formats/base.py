"""What a report format is. To add one, add a file with a ``PLUGIN`` to this folder."""

from __future__ import annotations

from abc import ABC, abstractmethod

from dbhone import registry
from dbhone.report.page import Page
from dbhone.safe_text import terminal_safe

_DRAWER = "dbhone.report.formats"
_WHAT = "report format"


class Format(ABC):
    """Turns a page into bytes. It shows what the page holds and computes nothing."""

    suffix: str
    """What its files' names end with, with the dot."""
    other_suffixes: tuple[str, ...] = ()
    """Other usual endings of such files' names."""
    is_text: bool = True
    """Whether it is text for a terminal, from which all that drives one is taken out."""
    observes: bool = False
    """Whether it shows what was observed of servers: reading that of a long run takes a while."""

    of_one_run: bool = False
    """Whether it shows nothing but what was observed, of which several runs have none in common."""

    @abstractmethod
    def render(self, page: Page) -> bytes:
        """Return the whole report. The same page gives the same bytes."""


def formats() -> tuple[str, ...]:
    """Return the names of all formats."""
    return registry.names(_DRAWER)


def find_format(name: str) -> Format:
    """Return the format of that name. Raises UnknownName, with the nearest, if there is none.

    Only the chosen format's file is imported, so that a table does not wait for charts.
    """
    return registry.load(_DRAWER, name, Format, what=_WHAT)


def _every_format() -> dict[str, Format]:
    return registry.load_all(_DRAWER, Format, what=_WHAT)


def suffixes() -> tuple[str, ...]:
    """Return what the names of files end with by which a format is known."""
    return tuple(dict.fromkeys(plugin.suffix for plugin in _every_format().values()))


def format_of_file(file: str) -> str | None:
    """Return the name of the format that a file's name ends like, None if there is none."""
    fitting = {
        name: plugin.suffix
        for name, plugin in _every_format().items()
        if file.lower().endswith((plugin.suffix, *plugin.other_suffixes))
    }
    # Several formats are, for example, JSON: the one that has no more to its name is meant.
    return max(
        fitting,
        key=lambda name: (len(fitting[name]), fitting[name] == f".{name}"),
        default=None,
    )


def render(page: Page, format: str) -> bytes:
    """Return the page in the format of that name."""
    chosen = find_format(format)
    content = chosen.render(page)
    return terminal_safe(content.decode()).encode() if chosen.is_text else content
