"""What the log of a server of MySQL's kind says of it."""

from __future__ import annotations

import re

_READY = re.compile(r": ready for connections")
_SIGNAL = re.compile(r"got (?:signal|exception) \d+|Assertion failure in file.*")
_ERROR = re.compile(r"\[(?:ERROR|FATAL)\]\s*(.*)|^(?:\S*: )?ERROR:? +(\d+ .*)")
_LABELS = re.compile(r"^(?:\[(?:MY-)?\d+\]\s*|\[\w+\]\s*)+|^\S*(?:mysqld|mariadbd): ")
_CONSEQUENCES = re.compile(
    r"^(?:Aborting|Plugin '.*' (?:init function returned error|registration as a .* failed)"
    r"|Unknown/unsupported storage engine|Failed to initialize|Data Dictionary init)"
)
"""Errors that follow from one that was told before."""


def is_ready(log: str) -> bool:
    """Return whether the server says that it lets clients in."""
    return bool(_READY.search(log))


def complaint(log: str) -> str | None:
    """Return the error that others follow from: the first, or that it crashed."""
    errors = [
        _LABELS.sub("", (match[1] or match[2]).strip())
        for line in log.splitlines()
        if (match := _ERROR.search(line))
    ]
    causes = [text for text in errors if text and not _CONSEQUENCES.match(text)]
    crash = _SIGNAL.search(log)
    if crash:
        return crash[0]
    return next(iter(causes or errors), None)
