"""Lists as they are written on the command line: words with commas between them."""

from __future__ import annotations

from dbhone.errors import UsageError


def words(text: str | None) -> tuple[str, ...]:
    """Return the words of ``A,B``; none for None."""
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def numbers(text: str | None) -> tuple[int, ...]:
    """Return the numbers of clients of ``1,4,16``. Raises UsageError."""
    found = words(text)
    if not all(word.isdecimal() for word in found):
        raise UsageError(f"'{text}' is not numbers of clients", hint="write them as 1,4,16")
    return tuple(int(word) for word in found)
