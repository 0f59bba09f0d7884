"""Lists as they are written on the command line: words with commas between them."""

from __future__ import annotations

from dbhone.errors import UsageError


def words(text: str | None) -> tuple[str, ...]:
    """Return the words of ``A,B``; none for None. Raises UsageError for a text without any."""
    found = _split(text)
    if text is not None and not found:
        raise UsageError(f"'{text}' names nothing", hint="write A,B, or leave the option out")
    return found


def numbers(text: str | None) -> tuple[int, ...]:
    """Return the numbers of clients of ``1,4,16``; none for None. Raises UsageError."""
    found = _split(text)
    if text is not None and not (found and all(word.isdecimal() for word in found)):
        raise UsageError(f"'{text}' is not numbers of clients", hint="write them as 1,4,16")
    return tuple(int(word) for word in found)


def _split(text: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())
