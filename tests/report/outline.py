"""The outline of a page's HTML: its elements in their order."""

from __future__ import annotations

from html.parser import HTMLParser

_VOID = {"meta", "link", "br", "img", "input", "hr", "path", "line", "rect"}


_OUTLINE = {"h1", "h2", "h3", "h4", "summary", "th", "caption", "figcaption", "dt", "li", "a"}


class Outline(HTMLParser):
    """Reads a page: its tags, attributes, texts, and whether all that is opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.lines: list[str] = []
        self.wrong: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)
        if tag in _OUTLINE:
            self.lines.append(f"{tag}: ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        if set(self.open) & _OUTLINE and self.lines and "svg" not in self.open:
            self.lines[-1] += " ".join(data.split()) + " "
