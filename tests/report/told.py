"""What a page says, as tests read it."""

from __future__ import annotations

from dbhone.report.page import Page
from dbhone.report.sections import Section, sections
from dbhone.report.table import Table, plain


def rows_of(table: Table | None) -> dict[str, list[str]]:
    """Return the texts of a table, which must be there, by what names each row."""
    assert table is not None
    return {row.cells[0].text: [plain(cell) for cell in row.cells[1:]] for row in table.rows}


def section_of(page: Page, id: str) -> Section | None:
    """Return the section of a page with this id, None if there is none."""
    return next((section for section in sections(page) if section.id == id), None)


def tables_of(page: Page, id: str) -> tuple[Table, ...]:
    """Return the tables of a section, none if there is no such section."""
    section = section_of(page, id)
    return section.tables if section else ()


def every_table(page: Page, *, brief: bool = False) -> tuple[Table, ...]:
    """Return a page's tables in the order in which they are shown: all, or those in ``brief``."""
    return tuple(table for section in sections(page) for table in section.shown(brief=brief))


def titled(page: Page, title: str) -> Table | None:
    """Return the table of this title, None if there is none."""
    return next((table for table in every_table(page) if table.title == title), None)


def answers(page: Page) -> dict[str, str]:
    """Return what stands at the top of a page, by its question."""
    return {name: text.replace("\u00a0", " ") for name, text in page.overview}
