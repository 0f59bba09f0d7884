"""The report as Markdown (GitHub's tables), to paste into an issue or a wiki."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from dbhone.report.formats.base import Format
from dbhone.report.page import Page
from dbhone.report.sections import SUMMARY, sections
from dbhone.report.table import Table, plain

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&!])")


class Markdown(Format):
    """GitHub-flavoured Markdown; what comes from outside cannot become markup."""

    suffix = ".md"
    other_suffixes = (".markdown",)

    def render(self, page: Page) -> bytes:
        """Return the report: the answer first, then tables, notes, environment, repetition."""
        return ("\n".join(_lines(page)) + "\n").encode("utf-8", "replace")


def _lines(page: Page) -> Iterator[str]:
    yield from (f"# {_escape(page.title)}", "")
    for alert in page.alerts:
        yield from (f"> **Warning:** {_escape(alert.text)}", "")
    yield from (f"**{_escape(page.headline)}**", "")
    for name, text in page.overview:
        yield f"- **{_escape(name)}** {_escape(text)}"
    if page.overview:
        yield ""
    if page.winner is not None:
        yield from (f"{_escape(page.winner_title)}: {_code(page.winner.build_path)}", "")
    for section in sections(page):
        if section.tables and section.note:
            yield from (_escape(section.note), "")
        for table in section.tables:
            yield from _table(table)
        if section.id == SUMMARY:
            for note in (page.legend, page.control_note, page.method):
                yield from (_escape(note), "") if note else ()
    yield from _flags(page)
    yield from _notes(page.notes)
    yield from ("## Environment", "")
    yield from (f"- {_escape(name)}: {_escape(text)}" for name, text in page.environment)
    yield from _repeat(page)


def _table(table: Table) -> Iterator[str]:
    yield from (f"## {_escape(table.title)}", "", _escape(table.caption), "")
    yield _line(column.title for column in table.columns)
    yield _line(("---:" if column.numeric else "---" for column in table.columns), escape=False)
    for row in table.rows:
        if row.heading:
            first, *others = row.cells
            yield _line((f"**{_escape(plain(first))}**", *("" for _ in others)), escape=False)
        else:
            yield _line(plain(cell) for cell in row.cells)
    yield ""


def _line(cells: Iterable[str], *, escape: bool = True) -> str:
    return f"| {' | '.join(_escape(cell) if escape else cell for cell in cells)} |"


def _flags(page: Page) -> Iterator[str]:
    for subject in page.context.subjects:
        if subject.flags:
            words = " ".join((subject.compiler, *subject.flags))
            yield f"- {_escape(subject.name)}: {_code(words)}"
    if page.shared_settings:
        settings = ", ".join(f"{name}={value}" for name, value in page.shared_settings)
        yield f"- Settings of all servers: {_code(settings)}"
    yield ""


def _notes(notes: tuple[str, ...]) -> Iterator[str]:
    if notes:
        yield from ("## Notes", "")
        for number, note in enumerate(notes, start=1):
            yield f"{number}. {_escape(note)}"
        yield ""


def _repeat(page: Page) -> Iterator[str]:
    yield from ("", "## How to repeat")
    for item in page.repeat:
        fence = _fence(item.text)
        yield from ("", f"Save this as {_code(item.name)} and run {_code(item.command)}:", "")
        yield from (f"{fence}toml", item.text.rstrip("\n"), fence)


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    """Return a code span: fenced by more backticks than the text has in a row."""
    flat = " ".join(text.split())
    fence = "`" * (_longest_ticks(flat) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def _fence(text: str) -> str:
    return "`" * max(3, _longest_ticks(text) + 1)


def _longest_ticks(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


PLUGIN = Markdown()
