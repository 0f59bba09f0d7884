"""What a page says, as tests read it."""

from __future__ import annotations

from dbhone.report.page import Page
from dbhone.report.table import Table, plain


def rows_of(table: Table | None) -> dict[str, list[str]]:
    """Return the texts of a table, which must be there, by what names each row."""
    assert table is not None
    return {row.cells[0].text: [plain(cell) for cell in row.cells[1:]] for row in table.rows}


def answers(page: Page) -> dict[str, str]:
    """Return what stands at the top of a page, by its question."""
    return {name: text.replace("\u00a0", " ") for name, text in page.overview}
