"""What a report format is. To add one, add a file with a ``PLUGIN`` to this folder."""

from __future__ import annotations

from abc import ABC, abstractmethod

from dbhone.report.page import Page


class Format(ABC):
    """Turns a page into bytes. It shows what the page holds and computes nothing."""

    name: str
    """The format's name, the same as its file's."""
    suffix: str
    """What its files' names end with, with the dot."""
    is_text: bool = True
    """Whether it is text for a terminal, from which all that drives one is taken out."""
    observes: bool = False
    """Whether it shows what was observed of servers: reading that of a long run takes a while."""

    @abstractmethod
    def render(self, page: Page) -> bytes:
        """Return the whole report. The same page gives the same bytes."""
