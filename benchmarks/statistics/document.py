"""Where the tables go: between two comments in a document, of which the rest stays."""

from __future__ import annotations

import re


class DocumentError(Exception):
    """A document lacks the place for what belongs into it."""


def placed(document: str, name: str, text: str) -> str:
    """Return a document with a text between the comments of that name."""
    begin, end = _comments(name)
    pattern = re.compile(f"{re.escape(begin)}\n.*?{re.escape(end)}", re.DOTALL)
    if len(pattern.findall(document)) != 1:
        raise DocumentError(f"the document has not exactly one place '{begin}' to '{end}'")
    return pattern.sub(lambda _: f"{begin}\n\n{text}\n{end}", document)


def between(document: str, name: str) -> str:
    """Return what stands between the comments of that name."""
    begin, end = _comments(name)
    _, found, rest = document.partition(begin)
    text, closed, _ = rest.partition(end)
    if not found or not closed:
        raise DocumentError(f"the document has no place '{begin}' to '{end}'")
    return text.strip() + "\n"


def _comments(name: str) -> tuple[str, str]:
    return f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
