"""Names of subjects that hone makes of other words."""

from __future__ import annotations

import re

from dbhone.files import digest_of

MOST_LETTERS = 40
"""The letters that a subject's name may have."""
_LEAST_HEAD = 12
"""The letters that a shortened name begins with at least."""
_DIGITS = 6
"""Of the digest that stands for what was taken out of a name."""
_FOREIGN = re.compile(r"[^A-Za-z0-9._+-]+")


def as_name(text: str) -> str:
    """Return a text with a hyphen for whatever no subject's name may have."""
    return _FOREIGN.sub("-", text)


def fitting_name(head: str, tail: str = "") -> str:
    """Return a subject's name of both parts.

    In a name that would be too long a digest stands for the middle.
    """
    whole, end = as_name(head + tail), as_name(tail)
    if len(whole) <= MOST_LETTERS:
        return whole
    room = MOST_LETTERS - _DIGITS - 1
    if room - len(end) < _LEAST_HEAD:
        end = ""
    digest = digest_of(head + tail)[:_DIGITS]
    return f"{whole[: room - len(end)].rstrip('-._+')}-{digest}{end}"
